"""Terminal tables of length bias and of the stability of judges.

Invariant: a number that does not exist is a dash with the reason in its row; intervals are printed with their numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from local_judge.base.output import NONE, Table, count, shorten
from local_judge.reporting.agreement import measure_json
from local_judge.reporting.summary import estimate_text, unknown_lines
from local_judge.scoring.coverage import Coverage
from local_judge.scoring.text import coverage_line
from local_judge.stats.agreement.stability import Stability
from local_judge.stats.length import Correlation, LengthBias, Relation
from local_judge.terminal import safe


class LengthRow(NamedTuple):
    """One score with its length bias and its missing reports."""

    score: str
    bias: LengthBias
    coverage: Coverage
    n_reports: int
    n_null: int
    n_unscored: int
    n_unmeasured: int


def length_table(rows: Sequence[LengthRow], title: str, unit: str, *, by_task: bool) -> Table:
    """Return the correlations of scores and length: overall, within tasks, and for each task if `by_task`."""
    measures = ("n", "Pearson", "Spearman", "Kendall", f"points per 1,000 {unit}")
    table = Table(title, ("score", "reports"), measures)
    table.add_column("", number=False)
    for row in rows:
        table.add_section()
        table.add_row(row.score, "overall", *_cells(row.bias.overall))
        table.add_row("", f"within {count(row.bias.within.n_tasks, 'task')}", *_cells(row.bias.within))
        if by_task:
            for task in row.bias.tasks:
                table.add_row("", f"task {shorten(task.task, 40)}", *_cells(task.relation))
    return table


def length_notes(row: LengthRow) -> Iterator[str]:
    """Yield the reports that are left out, and the coverage of the scores."""
    counts = (
        (row.n_unscored, "not evaluated"),
        (row.n_null, "without this score"),
        (row.n_unmeasured, "without a recorded length"),
    )
    said = ", ".join(f"{number} {what}" for number, what in counts if number)
    if said:
        yield f"{row.score}: left out of {count(row.n_reports, 'report')}: {said}"
    if row.coverage.n_in_part:
        yield f"{row.score}: {coverage_line(row.coverage)}"


def _cells(relation: Relation) -> tuple[str, ...]:
    return (
        str(relation.n),
        _correlation(relation.pearson),
        _correlation(relation.spearman),
        _correlation(relation.kendall),
        estimate_text(relation.slope, 2, "+", below=True),
        relation.reason or (f"df {relation.degrees}" if relation.degrees is not None else ""),
    )


def _correlation(found: Correlation) -> str:
    p_value = found.p_value
    beside = "" if p_value is None else "p<0.001" if p_value < 0.001 else f"p={p_value:.3f}"
    return estimate_text(found, 2, "+", beside, below=True)


class StabilityRow(NamedTuple):
    """One score and the agreement of the judges by it."""

    score: str
    stability: Stability
    n_reports: int
    """Reports of the runs, scored or not."""
    coverage: Coverage
    """Coverage of the scores of all judges."""


def stability_table(rows: Sequence[StabilityRow], title: str) -> Table:
    """Return the measures of each score, with intervals below the values."""
    labels = (measure.label for measure in rows[0].stability.measures)
    table = Table(title, ("score",), ("reports", *labels))
    for row in rows:
        cells = [estimate_text(measure.estimate, below=True) for measure in row.stability.measures]
        table.add_row(row.score, str(row.stability.n_reports), *cells)
    return table


def pairs_table(row: StabilityRow) -> Table:
    """Return the correlations of each two judges by one score."""
    table = Table(f"{row.score}: judges two by two", ("",), ("Spearman", "tau-b"))
    for pair in row.stability.pairs:
        names = f"{shorten(pair.first, 30)}, {shorten(pair.second, 30)}"
        table.add_row(
            names, *(NONE if value is None else f"{value:.3f}" for value in (pair.spearman, pair.tau))
        )
    return table


def stability_notes(row: StabilityRow) -> Iterator[str]:
    """Yield the reports that are left out, and the reason for each missing measure."""
    found = row.stability
    if found.n_reports < row.n_reports:
        missing = ", ".join(f"{safe(judge, 30)} {n}" for judge, n in found.n_missing.items() if n)
        yield (
            f"{row.score}: {found.n_reports} of {count(row.n_reports, 'report')} scored by all judges; "
            f"without a score: {missing}"
        )
    if row.coverage.n_in_part:
        yield f"{row.score}: {coverage_line(row.coverage)}"
    for line in unknown_lines((measure.label, measure.estimate) for measure in found.measures):
        yield f"{row.score}: {line}"


def stability_json(row: StabilityRow) -> dict[str, Any]:
    """Return all results of one score as plain data."""
    found = row.stability
    return {
        "score": row.score,
        "n_reports": row.n_reports,
        "n_scored_by_all": found.n_reports,
        "n_tasks": found.n_tasks,
        "n_missing": dict(found.n_missing),
        "coverage": row.coverage._asdict(),
        "measures": [measure_json(one) for one in found.measures],
        "pairs": [pair._asdict() for pair in found.pairs],
    }
