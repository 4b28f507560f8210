"""Ratings by people from a file, joined with the scores of runs.

Invariants: every cell is data, whatever it looks like; no one rates a report twice; a rating without a score is counted
as missing and enters no number. A rated report is joined with the scored report of the same id, or of the same task and
system; reports without a partner are listed. Agreement between people does not depend on the runs.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

from local_judge.base.errors import InputError, RunError
from local_judge.base.rows import Cells, read_cells
from local_judge.runs.results.joining import Method, join_runs
from local_judge.runs.results.scored import ScoredReport, method_reports
from local_judge.scoring.coverage import Coverage, coverage_of
from local_judge.scoring.node import Profile
from local_judge.stats.agreement.ratings import RatedReport, RatedTask, ordered
from local_judge.stats.numeric import exact

COLUMNS = ("task", "system", "report", "annotator", "score")
"""Columns that are read; a file may have others, in any order."""

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
"""A number as people write it."""

Unit = tuple[str, ...]
"""Identity of a rated report: (report,) or (task, system)."""


class Rating(NamedTuple):
    """One person's rating of one report, identified by its id, or by its task and system."""

    report: str | None
    task: str | None
    system: str | None
    annotator: str
    score: Fraction
    place: str
    """File and line, for messages."""

    @property
    def unit(self) -> Unit:
        """Identity of the rated report."""
        return (self.report,) if self.report is not None else (self.task or "", self.system or "")


class Ratings(NamedTuple):
    """Ratings of a file, in its order."""

    rows: tuple[Rating, ...]
    n_empty: int
    """Rows without a score."""
    by_report: bool
    """True if reports are identified by their ids."""


def load_ratings(path: Path) -> Ratings:
    """Read ratings from a CSV file (`.csv`) or a JSONL file (any other name).

    Each row has `annotator`, `score`, and `report` (the report's id) or `task` and `system`; rows with `report` may
    also have `task` and `system`. A score is a number such as `7`, `7.5` or `1e-2`, or empty (JSON: null).

    Raises:
        InputError: the file cannot be read, or a row is invalid.
    """
    rows: list[Rating] = []
    seen: dict[tuple[Unit, str], str] = {}
    n_empty = 0
    by_report: bool | None = None
    cells = read_cells(path, COLUMNS, ("score",))
    if cells.is_table and cells.names:
        _check_header(cells)
    for place, row in cells.rows:
        rating = _rating(row, place)
        if by_report is None:
            by_report = rating.report is not None
        if by_report is not (rating.report is not None):
            raise InputError(f"{place}: some rows name a report, others a task and a system; name all alike")
        before = seen.setdefault((rating.unit, rating.annotator), place)
        if before != place:
            unit = " by ".join(map(repr, rating.unit))
            raise InputError(f"{place}: {rating.annotator!r} has already rated {unit}, in {before}")
        if not row.get("score"):
            n_empty += 1
        else:
            rows.append(rating)
    if not rows:
        raise InputError(f"{path}: no ratings in it")
    return Ratings(tuple(rows), n_empty, bool(by_report))


def ratings_of_run(run: Path, protocol: str | None, profile: Profile, score: str) -> Ratings:
    """Return a score of a run's reports as ratings, whose annotators are the run's judges.

    Raises:
        RunError: there is no finished run, or no such protocol, profile or score.
        InputError: no report has the score.
    """
    found = [
        (method.name, report)
        for method in join_runs([run]).methods
        if not method.ensemble
        for report in method_reports(method, protocol, profile, score)
    ]
    by_report = any(report.task is None or report.system is None for _, report in found)
    rows = tuple(
        Rating(
            report.case if by_report else None,
            report.task,
            report.system,
            name,
            exact(report.value),
            f"{run}: {report.case}",
        )
        for name, report in found
        if report.value is not None
    )
    if not rows:
        raise InputError(f"{run}: no report has a score {score!r}")
    return Ratings(rows, len(found) - len(rows), by_report)


def _rating(row: Mapping[str, str], place: str) -> Rating:
    report, task, system, annotator = (
        row.get(key) or None for key in ("report", "task", "system", "annotator")
    )
    if annotator is None:
        raise InputError(f"{place}: a rating needs `annotator`")
    if report is None and (task is None or system is None):
        raise InputError(f"{place}: a rating needs `report`, or `task` and `system`")
    return Rating(report, task, system, annotator, _score(row.get("score", ""), place), place)


def _score(text: str, place: str) -> Fraction:
    """Parse a score; 0 for an empty cell, whose row is not kept."""
    if not text:
        return Fraction(0)
    if len(text) > 40 or not NUMBER.fullmatch(text) or not math.isfinite(float(text)):
        raise InputError(f"{place}: score {text[:40]!r} is not a number such as 7 or 7.5")
    return exact(float(text))


def _check_header(cells: Cells) -> None:
    names = {*cells.names}
    if not {"annotator", "score"} <= names or not ("report" in names or {"task", "system"} <= names):
        listed = ", ".join(map(repr, cells.names[:10]))
        raise InputError(
            f"{cells.place}: needs columns annotator, score, and report or task and system; has {listed}"
        )


class JoinedScores(NamedTuple):
    """Rated reports with the scores of one judge, from one run or several."""

    method: Method
    tasks: tuple[RatedTask, ...]
    n_joined: int
    """Reports with ratings and a score."""
    coverage: Coverage
    """Coverage of their scores."""
    absent: tuple[str, ...]
    """Rated reports that are not in the runs."""
    unscored: tuple[str, ...]
    """Rated reports of the runs without a score."""
    unrated: tuple[str, ...]
    """Reports of the runs without a rating."""


class Joined(NamedTuple):
    """All ratings, and the scores of each judge joined to them."""

    tasks: tuple[RatedTask, ...]
    """Ratings by task, without scores."""
    taskless: tuple[str, ...]
    """Rated reports whose task is unknown; they are left out of every number."""
    methods: tuple[JoinedScores, ...]


class _Rated(NamedTuple):
    """Ratings of one report."""

    first: Rating
    task: str | None
    system: str | None
    ratings: dict[str, Fraction]

    def with_source(self, task: str | None, system: str | None, row: Rating, place: str) -> _Rated:
        """Add the task and system that `place` names. Raises InputError: they differ from those of `row`."""
        known = {"task": (self.task, task), "system": (self.system, system)}
        for what, (one, other) in known.items():
            if None not in (one, other) and one != other:
                raise InputError(
                    f"{row.place}: {what} of {_name(row.unit)!r} is {getattr(row, what)!r} here, and {other!r} {place}"
                )
        return self._replace(task=self.task or task, system=self.system or system)


def join(ratings: Ratings, methods: Sequence[tuple[Method, Sequence[ScoredReport]]]) -> Joined:
    """Join ratings with the scores of judges.

    Raises:
        InputError: rows of one report, or a row and a run, name different tasks or systems.
        RunError: a judge scored several reports of a system on a task, or several reports of one id, and the ratings do
            not say which one is meant, or no report with a rating and a score.
    """
    by_unit = [(method, _by_unit(method, reports, ratings)) for method, reports in methods]
    rated: dict[Unit, _Rated] = {}
    for row in ratings.rows:
        before = rated.setdefault(row.unit, _Rated(row, row.task, row.system, {}))
        before.ratings[row.annotator] = row.score
        rated[row.unit] = before.with_source(row.task, row.system, row, f"in {before.first.place}")
    for method, reports in by_unit:
        for unit in [unit for unit in rated if unit in reports]:
            scored, one = reports[unit], rated[unit]
            rated[unit] = one.with_source(scored.task, scored.system, one.first, f"in {method.place}")
    taskless = tuple(_name(unit) for unit, report in rated.items() if report.task is None)
    if len(taskless) == len(rated):
        raise InputError(
            f"{ratings.rows[0].place}: neither the ratings nor the runs name the task of a report"
        )
    known = {unit: report for unit, report in rated.items() if report.task is not None}
    return Joined(
        _tasks(known, {}),
        taskless,
        tuple(_joined(method, reports, rated, known) for method, reports in by_unit),
    )


def _by_unit(method: Method, reports: Sequence[ScoredReport], ratings: Ratings) -> dict[Unit, ScoredReport]:
    rated = {row.unit for row in ratings.rows}
    found: dict[Unit, ScoredReport] = {}
    for report in reports:
        # Ratings that name a task and a system cannot mean a report without them.
        whole = not ratings.by_report and report.task and report.system
        unit = (report.task or "", report.system or "") if whole else (report.case,)
        before = found.setdefault(unit, report)
        if before is not report and unit in rated:
            if ratings.by_report:
                raise RunError(
                    f"{method.place}: {report.case!r} is the id of a report by {before.system!r} and of one by "
                    f"{report.system!r}; name `task` and `system` in the ratings"
                )
            raise RunError(
                f"{method.place}: {before.case!r} and {report.case!r} are both by {report.system!r} on "
                f"{report.task!r}; name the `report` in their ratings"
            )
    return found


def _joined(
    method: Method,
    reports: dict[Unit, ScoredReport],
    rated: dict[Unit, _Rated],
    known: dict[Unit, _Rated],
) -> JoinedScores:
    both = {unit: reports[unit] for unit in known if unit in reports}
    scores = {unit: exact(report.value) for unit, report in both.items() if report.value is not None}
    if not scores:
        if both:
            raise RunError(f"{method.place}: none of its {len(both)} rated reports has a score")
        shown = next(iter(reports.values()), None)
        example = (
            "is empty"
            if shown is None
            else f"has {shown.case!r} (task {shown.task!r}, system {shown.system!r})"
        )
        raise RunError(
            f"{method.place}: none of its reports is rated: it {example}, the ratings {_name(next(iter(rated)))!r}"
        )
    return JoinedScores(
        method,
        _tasks(known, scores),
        len(scores),
        coverage_of(report.score for report in both.values() if report.score is not None),
        tuple(_name(unit) for unit in rated if unit not in reports),
        tuple(_name(unit) for unit in both if unit not in scores),
        tuple(report.case for unit, report in reports.items() if unit not in rated),
    )


def _tasks(rated: dict[Unit, _Rated], scores: dict[Unit, Fraction]) -> tuple[RatedTask, ...]:
    tasks: dict[str, dict[str, RatedReport]] = {}
    for unit, report in rated.items():
        one = RatedReport(unit[-1], report.ratings, report.system, scores.get(unit))
        tasks.setdefault(report.task or "", {})[unit[-1]] = one
    return ordered(tasks)


def _name(unit: Unit) -> str:
    return " by ".join(unit)
