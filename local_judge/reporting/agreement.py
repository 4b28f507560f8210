"""Agreement with human ratings, as terminal tables and as JSON.

Invariants: every measure is printed with its unit, its interval, its n and the number of undefined cases. A measure
without a value in any column has no row, and the reason for each dash and each missing row is printed below the table.
Names from files are printed as plain text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from local_judge.base.output import NONE, Table, count, shorten
from local_judge.reporting.summary import estimate_text, listed, unknown_lines
from local_judge.runs.results.ratings import Joined, JoinedScores
from local_judge.scoring.text import coverage_line
from local_judge.stats.agreement.method import Difference, MethodAgreement
from local_judge.stats.agreement.ratings import Measure, OverJudges, RatedTask
from local_judge.stats.estimate import LEVEL
from local_judge.terminal import safe

_BLANK = ("", "", "")
OVER_JUDGES = (
    "over judges: mean and population standard deviation of each judge's own measure; no ensemble is in it"
)


class Compared(NamedTuple):
    """Comparison of two judges."""

    first: JoinedScores
    second: JoinedScores
    difference: Difference


class Agreement(NamedTuple):
    """Results of a comparison with human ratings."""

    joined: Joined
    n_empty: int
    """Number of rating rows without a score."""
    people: tuple[Measure, ...]
    methods: tuple[MethodAgreement, ...]
    """One for each judge or ensemble of `joined`."""
    over_judges: tuple[OverJudges, ...]
    """Each measure over all judges, without ensembles; none for fewer than two."""
    compared: tuple[Compared, ...]
    """One for each two judges, and each two ensembles, of `joined`."""
    reason: str
    """Reason why several runs are one judge or several; empty for one run."""
    ties: str
    filtered: bool
    """True if correlations within tasks use only the tasks that the ICC filter keeps."""
    seed: int
    draws: int


def agreement_table(found: Agreement, title: str) -> Table:
    """Return all measures of a score: of each judge, and of the annotators among themselves."""
    columns = [
        (_title(one), method.measures)
        for one, method in zip(found.joined.methods, found.methods, strict=True)
    ]
    return measures_table(title, found.people, columns)


def measures_table(
    title: str, people: Sequence[Measure], columns: Sequence[tuple[str, Sequence[Measure]]]
) -> Table:
    """Return measures of the annotators among themselves, then those of each judge."""
    people = [measure for measure in people if measure.estimate.value is not None]
    table = Table(title, ["", "unit"])
    for name in (*(["annotators"] if people else []), *(name for name, _ in columns)):
        for heading in (name, "n", "undef."):
            table.add_column(heading)
    for measure in people:
        table.add_row(measure.label, measure.unit, *_cells(measure))
    table.add_section()
    for first in columns[0][1]:
        own = [next((one for one in measures if one.id == first.id), None) for _, measures in columns]
        if _any_value([one for one in own if one is not None]):
            cells = [cell for one in own for cell in (_cells(one) if one is not None else _BLANK)]
            table.add_row(first.label, first.unit, *(_BLANK if people else ()), *cells)
    return table


def judges_table(measures: Sequence[OverJudges], n: int) -> Table:
    """Return the mean and the standard deviation of each measure over `n` judges; no rows for one judge."""
    table = Table(f"over {n} judges", ["", "unit"], ["mean", "std", "judges"])
    for one in measures if n > 1 else ():
        if one.mean is not None:
            std = NONE if one.std is None else f"{one.std:.3f}"
            table.add_row(one.label, one.unit, f"{one.mean:.3f}", std, str(one.n))
    return table


def difference_table(found: Agreement) -> Table:
    """Return each measure of one judge minus that of another, for each two judges or ensembles."""
    table = Table("differences between judges")
    table.add_column("", number=False)
    for one in found.compared:
        table.add_column(f"{_title(one.first)} - {_title(one.second)}")
        table.add_column("undef.")
    for measures in zip(*(one.difference.measures for one in found.compared), strict=True):
        if not _any_value(measures):
            continue
        cells = [
            cell
            for measure in measures
            for cell in (estimate_text(measure.estimate, sign="+"), str(measure.estimate.n_undefined or ""))
        ]
        table.add_row(measures[0].label, *cells)
    return table


def _any_value(measures: Sequence[Measure]) -> bool:
    return any(measure.estimate.value is not None for measure in measures)


def _title(one: JoinedScores) -> str:
    return shorten(one.method.name, 30)


def agreement_notes(found: Agreement) -> Iterator[str]:
    """Yield the notes below the table, one line each, without control characters."""
    yield f"{LEVEL}% bootstrap intervals over tasks of {found.draws:,} draws, seed {found.seed}; ties: {found.ties}"
    yield _table_of_ratings(found.joined.tasks, found.n_empty)
    if found.reason:
        yield found.reason
    if n_judges(found) > 1:
        yield OVER_JUDGES
    for method, run in zip(found.methods, found.joined.methods, strict=True):
        yield f"{safe(_title(run))}: {count(run.n_joined, 'report')} joined; {_tasks(method, found.filtered)}"
        if run.coverage.n_in_part:
            yield f"  {coverage_line(run.coverage)}"
        yield from _failed_joins(run)
    for one in found.compared:
        yield _paired(one)
    if found.joined.taskless:
        named = safe(listed(found.joined.taskless))
        yield f"left out because their task is unknown: {len(found.joined.taskless)} ({named})"
    ratings_of_two = any(len(report.ratings) > 1 for task in found.joined.tasks for report in task.reports)
    if not ratings_of_two:
        yield "annotators: no report has two ratings, so their agreement is unknown"
    for name, measures in (("", found.people if ratings_of_two else ()), *_named(found)):
        for line in unknown_lines((measure.label, measure.estimate) for measure in measures):
            yield f"{name}{line}"


def _tasks(method: MethodAgreement, filtered: bool) -> str:
    """Return the number of tasks that the filter kept and removed."""
    verdicts = [task.filter for task in method.tasks]
    if not filtered:
        return f"correlations within all {count(len(verdicts), 'task')}, not filtered by ICC(1,1)"
    said = (
        f"ICC(1,1) filter of {count(len(verdicts), 'task')}: {verdicts.count('kept')} kept, "
        f"{verdicts.count('removed')} removed (negative), {verdicts.count('undefined')} undefined"
    )
    return said if "kept" in verdicts else f"{said}; --unfiltered uses all tasks"


def _named(found: Agreement) -> Iterator[tuple[str, Sequence[Measure]]]:
    """Yield measures with the name of their judge, or of their two judges."""
    for method, run in zip(found.methods, found.joined.methods, strict=True):
        yield f"{safe(_title(run))}: ", method.measures
    for one in found.compared:
        yield safe(f"{_title(one.first)} - {_title(one.second)}: "), one.difference.measures


def _paired(one: Compared) -> str:
    """Return the reports and tasks behind a difference."""
    of = one.difference
    tasks = max(measure.estimate.n for measure in of.measures)
    left = ((of.n_first, one.first), (of.n_second, one.second))
    alone = "".join(f"; {count(n, 'report')} of {_title(run)} alone left out" for n, run in left if n)
    return safe(
        f"{_title(one.first)} - {_title(one.second)}: {count(of.n_reports, 'report')} on {count(tasks, 'task')} that "
        f"both scored, with the same tasks in each bootstrap draw{alone}"
    )


def _failed_joins(run: JoinedScores) -> Iterator[str]:
    for reports, what in (
        (run.absent, "rated, but not in the run"),
        (run.unscored, "rated, but without a score"),
        (run.unrated, "in the run, but not rated"),
    ):
        if reports:
            yield f"  {what}: {len(reports)} ({safe(listed(reports))})"


def _table_of_ratings(tasks: Sequence[RatedTask], n_empty: int) -> str:
    annotators = {annotator for task in tasks for annotator in task.annotators}
    n_ratings = sum(len(report.ratings) for task in tasks for report in task.reports)
    missing = sum(task.n_missing for task in tasks)
    return (
        f"{count(n_ratings, 'rating')} by {count(len(annotators), 'annotator')} of "
        f"{count(sum(len(task.reports) for task in tasks), 'report')} on {count(len(tasks), 'task')}; "
        f"{missing} missing" + (f", {count(n_empty, 'row')} without score" if n_empty else "")
    )


def _cells(measure: Measure) -> tuple[str, str, str]:
    found = measure.estimate
    return (
        estimate_text(found),
        f"{_number(found.hits)}/{found.n}" if found.hits is not None else str(found.n),
        (str(found.n_undefined or "")),
    )


def _number(value: float) -> str:
    return f"{value:.0f}" if value.is_integer() else f"{value:.1f}"


def agreement_json(found: Agreement) -> dict[str, Any]:
    """Return all results as plain data."""
    tasks = found.joined.tasks
    return {
        "ties": found.ties,
        "filtered": found.filtered,
        "seed": found.seed,
        "resamples": found.draws,
        "people": {
            "n_tasks": len(tasks),
            "n_reports": sum(len(task.reports) for task in tasks),
            "n_annotators": len({annotator for task in tasks for annotator in task.annotators}),
            "n_ratings": sum(len(report.ratings) for task in tasks for report in task.reports),
            "n_missing": sum(task.n_missing for task in tasks),
            "n_empty": found.n_empty,
            "task_unknown": list(found.joined.taskless),
            "measures": [measure_json(measure) for measure in found.people],
        },
        "runs": [
            {
                "name": run.method.name,
                "ensemble": run.method.ensemble,
                "runs": [str(source.run) for source in run.method.sources],
                "n_joined": run.n_joined,
                "coverage": run.coverage._asdict(),
                "not_in_run": list(run.absent),
                "without_score": list(run.unscored),
                "not_rated": list(run.unrated),
                "measures": [measure_json(measure) for measure in method.measures],
                "tasks": [
                    {
                        "task": task.task,
                        "n": task.n,
                        "icc_1_1": task.icc.value,
                        "filter": task.filter,
                        "pearson": task.pearson.value,
                        "spearman": task.spearman.value,
                        "tau_b": task.tau.value,
                    }
                    for task in method.tasks
                ],
            }
            for run, method in zip(found.joined.methods, found.methods, strict=True)
        ],
        "joined": found.reason,
        "over_judges": over_judges_json(found.over_judges, n_judges(found)),
        "differences": [
            {
                "first": one.first.method.name,
                "second": one.second.method.name,
                "n_reports": one.difference.n_reports,
                "only_first": one.difference.n_first,
                "only_second": one.difference.n_second,
                "measures": [measure_json(measure) for measure in one.difference.measures],
            }
            for one in found.compared
        ],
    }


def n_judges(found: Agreement) -> int:
    """Return the number of judges, without ensembles."""
    return sum(not one.method.ensemble for one in found.joined.methods)


def over_judges_json(measures: Sequence[OverJudges], n: int) -> dict[str, Any]:
    """Return measures over `n` judges as plain data."""
    return {"n_judges": n, "measures": [one._asdict() for one in measures]}


def measure_json(measure: Measure) -> dict[str, Any]:
    """Return a measure as plain data."""
    return {
        "id": measure.id,
        "label": measure.label,
        "unit": measure.unit,
        **asdict(measure.estimate),
    }
