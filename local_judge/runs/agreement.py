"""Ratings and the scores of runs, joined.

Invariants: a rated report is joined with the scored report of the same id, or of the same task and system, and with no
other; whatever finds no partner is named. How people agree with each other does not depend on the runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

from local_judge.errors import InputError, RunError
from local_judge.runs.ratings import Rating, Ratings
from local_judge.runs.scored import ScoredReport
from local_judge.scoring.coverage import Coverage, coverage_of
from local_judge.stats.agreement.ratings import RatedReport, RatedTask, ordered
from local_judge.stats.numeric import exact

Unit = tuple[str, ...]
"""What was rated: (report,) or (task, system)."""


class JoinedRun(NamedTuple):
    """The rated reports with the scores of one run."""

    run: Path
    tasks: tuple[RatedTask, ...]
    n_joined: int
    """Reports that have ratings and a score."""
    coverage: Coverage
    """Of their scores."""
    absent: tuple[str, ...]
    """Rated reports that the run has not."""
    unscored: tuple[str, ...]
    """Rated reports of the run that have no score."""
    unrated: tuple[str, ...]
    """Reports of the run that nobody has rated."""


class Joined(NamedTuple):
    """All ratings, and each run's scores beside them."""

    tasks: tuple[RatedTask, ...]
    """Without scores."""
    taskless: tuple[str, ...]
    """Rated reports of which neither the ratings nor a run say the task: they are in no number."""
    runs: tuple[JoinedRun, ...]


class _Ratings(NamedTuple):
    """The ratings of one report."""

    first: Rating
    task: str | None
    system: str | None
    ratings: dict[str, Fraction]


def join(ratings: Ratings, runs: Sequence[tuple[Path, Sequence[ScoredReport]]]) -> Joined:
    """Ratings with the scores of `runs`.

    Raises:
        InputError: rows of one report, or a row and a run, name different tasks or systems.
        RunError: a run has several reports of a system on a task and the ratings do not say which, or no report that is
            rated and has a score.
    """
    by_unit = [(run, _by_unit(run, reports, ratings)) for run, reports in runs]
    rated = _rated(ratings)
    for run, reports in by_unit:
        rated = {
            unit: _completed(report, reports[unit], f"in {run}") if unit in reports else report
            for unit, report in rated.items()
        }
    taskless = tuple(_name(unit) for unit, report in rated.items() if report.task is None)
    if len(taskless) == len(rated):
        raise InputError(
            f"{ratings.rows[0].place}: neither the ratings nor the runs say which task a report is of"
        )
    known = {unit: report for unit, report in rated.items() if report.task is not None}
    return Joined(
        _tasks(known, {}), taskless, tuple(_joined(run, reports, rated, known) for run, reports in by_unit)
    )


def _rated(ratings: Ratings) -> dict[Unit, _Ratings]:
    rated: dict[Unit, _Ratings] = {}
    for row in ratings.rows:
        before = rated.setdefault(row.unit, _Ratings(row, row.task, row.system, {}))
        before.ratings[row.annotator] = row.score
        rated[row.unit] = before._replace(
            task=_agreed(before.task, row.task, "task", row, f"in {before.first.place}"),
            system=_agreed(before.system, row.system, "system", row, f"in {before.first.place}"),
        )
    return rated


def _completed(rated: _Ratings, scored: ScoredReport, place: str) -> _Ratings:
    return rated._replace(
        task=_agreed(rated.task, scored.task, "task", rated.first, place),
        system=_agreed(rated.system, scored.system, "system", rated.first, place),
    )


def _agreed(one: str | None, other: str | None, what: str, row: Rating, place: str) -> str | None:
    if one is not None and other is not None and one != other:
        raise InputError(
            f"{row.place}: {what} of {_name(row.unit)!r} is {row.task if what == 'task' else row.system!r} here, "
            f"and {other!r} {place}"
        )
    return other if one is None else one


def _by_unit(run: Path, reports: Sequence[ScoredReport], ratings: Ratings) -> dict[Unit, ScoredReport]:
    if ratings.by_report:
        return {(report.case,): report for report in reports}
    rated = {row.unit for row in ratings.rows}
    found: dict[Unit, ScoredReport] = {}
    for report in reports:
        # A report without task or system cannot be meant by ratings that name both.
        unit = (report.task, report.system) if report.task and report.system else (report.case,)
        before = found.setdefault(unit, report)
        if before is not report and unit in rated:
            raise RunError(
                f"{run}: {before.case!r} and {report.case!r} are both by {report.system!r} on {report.task!r}; "
                "ratings of them have to name the `report`"
            )
    return found


def _joined(
    run: Path, reports: dict[Unit, ScoredReport], rated: dict[Unit, _Ratings], known: dict[Unit, _Ratings]
) -> JoinedRun:
    both = {unit: reports[unit] for unit in known if unit in reports}
    scores = {unit: exact(report.value) for unit, report in both.items() if report.value is not None}
    if not scores:
        if both:
            raise RunError(f"{run}: none of its {len(both)} rated reports has a score")
        shown = next(iter(reports.values()), None)
        example = (
            "is empty"
            if shown is None
            else f"has {shown.case!r} (task {shown.task!r}, system {shown.system!r})"
        )
        raise RunError(
            f"{run}: none of its reports is rated: it {example}, the ratings {_name(next(iter(rated)))!r}"
        )
    return JoinedRun(
        run,
        _tasks(known, scores),
        len(scores),
        coverage_of(report.score for report in both.values() if report.score is not None),
        tuple(_name(unit) for unit in rated if unit not in reports),
        tuple(_name(unit) for unit in both if unit not in scores),
        tuple(report.case for unit, report in reports.items() if unit not in rated),
    )


def _tasks(rated: dict[Unit, _Ratings], scores: dict[Unit, Fraction]) -> tuple[RatedTask, ...]:
    tasks: dict[str, dict[str, RatedReport]] = {}
    for unit, report in rated.items():
        one = RatedReport(unit[-1], report.ratings, report.system, scores.get(unit))
        tasks.setdefault(report.task or "", {})[unit[-1]] = one
    return ordered(tasks)


def _name(unit: Unit) -> str:
    return " by ".join(unit)
