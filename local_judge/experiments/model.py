"""What an experiment is: reports under conditions, and how scores should answer to the conditions.

Invariants: the conditions stand in the order in which they are printed and plotted; every report is of one condition
and one unit; what a score should do is said before any judge is asked, with the place of the paper's figures.
"""

from __future__ import annotations

from datetime import date
from typing import Any, Literal, NamedTuple

from local_judge.runs.inputs import RawReport
from serving.types import Frozen

Name = Literal["corruption", "temporal", "reasoning"]
Shape = Literal["falls", "rises", "flat"]


class Condition(Frozen):
    """What was done to a report."""

    id: str
    label: str
    """As a column's head."""
    x: float
    """Its place on the horizontal axis."""


class Trial(Frozen):
    """One report of an experiment."""

    report: str
    """Its id."""
    condition: str
    unit: str
    """Reports of one unit differ in their condition alone."""
    planted: tuple[str, ...] = ()
    """Ids of what was altered in it."""


class Expectation(Frozen):
    """What one score should do."""

    protocol: str
    path: str
    """Of the score, `a/b/c`."""
    shape: Shape
    ideal: tuple[float, ...] = ()
    """For each condition, from 0 to 1: what a perfect judge gives, divided by `scale`; empty where that is not known
    and only the direction in each pair counts."""
    scale: float = 1.0
    """The most that the score can be."""
    paper: tuple[float | None, ...] = ()
    """For each condition, from 0 to 1: the published figure; None where none is printed; empty if none is."""
    approximate: bool = False
    """Whether the paper says them in words or draws them, and prints no figures."""
    source: str = ""
    """Where the published figures stand."""


class Design(Frozen):
    """An experiment as it is kept beside its reports."""

    experiment: Name
    seed: int | None
    """Of the choice of what is altered; None where nothing is chosen."""
    conditions: tuple[Condition, ...]
    trials: tuple[Trial, ...]
    expectations: tuple[Expectation, ...]

    def where(self, condition: str) -> tuple[Trial, ...]:
        """The reports under one condition."""
        return tuple(trial for trial in self.trials if trial.condition == condition)


class PlainPage(Frozen):
    """A page of an experiment's web."""

    url: str
    title: str
    text: str
    published: date | None = None
    """Since when it is there."""


class Experiment(NamedTuple):
    """An experiment before a judge is chosen."""

    design: Design
    reports: tuple[RawReport, ...]
    """In the order of the trials."""
    pages: tuple[PlainPage, ...]
    protocols: tuple[str, ...]
    """Run where nothing else is said."""
    settings: dict[str, dict[str, Any]]
    """Of the protocols, where nothing else is said: the parts that the experiment is about."""
    today: date
    """The day of the evaluation, where nothing else is said."""
