"""Who rated which report how, and what a method says of it.

Invariant: ratings and scores are fractions here; a rating that is missing is absent, and is no number.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from statistics import mean
from typing import NamedTuple

from local_judge.stats.estimate import Estimate


class RatedReport(NamedTuple):
    """One report."""

    id: str
    """Unique in its task; orders the reports."""
    ratings: Mapping[str, Fraction]
    """By annotator; at least one."""
    system: str | None = None
    """The agent that wrote it, where that is known."""
    score: Fraction | None = None
    """The method's; None where it has none."""

    @property
    def mean(self) -> Fraction:
        """The mean of its ratings."""
        return mean(self.ratings.values())

    @property
    def by_annotator(self) -> list[Fraction]:
        """Its ratings, annotators in the order of their names."""
        return [self.ratings[annotator] for annotator in sorted(self.ratings)]


class RatedTask(NamedTuple):
    """The rated reports of one task."""

    id: str
    reports: tuple[RatedReport, ...]

    @property
    def annotators(self) -> list[str]:
        """Who rated at least one of its reports."""
        return sorted({annotator for report in self.reports for annotator in report.ratings})

    @property
    def n_missing(self) -> int:
        """Ratings that would make its table of annotators and reports complete."""
        return len(self.annotators) * len(self.reports) - sum(len(report.ratings) for report in self.reports)


class Measure(NamedTuple):
    """One measure with its name."""

    id: str
    label: str
    """For people."""
    unit: str
    """What `estimate.n` counts."""
    estimate: Estimate


def ordered(tasks: Mapping[str, Mapping[str, RatedReport]]) -> tuple[RatedTask, ...]:
    """Tasks by id with their reports by id."""
    return tuple(
        RatedTask(task, tuple(reports[id] for id in sorted(reports)))
        for task, reports in sorted(tasks.items())
    )
