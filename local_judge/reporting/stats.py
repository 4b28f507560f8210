"""Statistics for the terminal.

Invariant: a number that does not exist is a dash with the reason in its row; an interval stands beside its number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.table import Table

from local_judge.reporting.numbers import NONE, count
from local_judge.reporting.tables import safe
from local_judge.stats.length import Correlation, Estimate, LengthBias, Relation


class LengthRow(NamedTuple):
    """One score with its length bias and what is missing in it."""

    score: str
    bias: LengthBias
    n_reports: int
    n_null: int
    n_unscored: int
    n_unmeasured: int


def length_table(rows: Sequence[LengthRow], title: str, unit: str, *, by_task: bool) -> Table:
    """Correlations of scores and length: overall, within tasks, and each task by itself if `by_task`."""
    table = Table(title=title, title_justify="left", show_edge=False, pad_edge=False)
    for column in ("score", "reports"):
        table.add_column(column, overflow="fold")
    table.add_column("n", justify="right")
    for column in ("Pearson", "Spearman", "Kendall", f"points per 1,000 {unit}"):
        table.add_column(column, justify="right")
    table.add_column("", overflow="fold")
    for row in rows:
        table.add_section()
        table.add_row(row.score, "overall", *_cells(row.bias.overall))
        table.add_row("", f"within {count(row.bias.within.n_tasks, 'task')}", *_cells(row.bias.within))
        if by_task:
            for task in row.bias.tasks:
                table.add_row("", f"task {safe(task.task, 40)}", *_cells(task.relation))
    return table


def left_out(row: LengthRow) -> str:
    """What of the reports is in none of the numbers, in words; '' where all are in them."""
    counts = (
        (row.n_unscored, "not evaluated"),
        (row.n_null, "without this score"),
        (row.n_unmeasured, "without a recorded length"),
    )
    said = ", ".join(f"{number} {what}" for number, what in counts if number)
    return f"{row.score}: left out of {count(row.n_reports, 'report')}: {said}" if said else ""


def _cells(relation: Relation) -> tuple[str, ...]:
    return (
        str(relation.n),
        _correlation(relation.pearson),
        _correlation(relation.spearman),
        _correlation(relation.kendall),
        _estimate(relation.slope),
        relation.reason or (f"df {relation.degrees}" if relation.degrees is not None else ""),
    )


def _correlation(found: Correlation) -> str:
    if found.p_value is None:
        return _estimate(found)
    return _estimate(found, "p<0.001" if found.p_value < 0.001 else f"p={found.p_value:.3f}")


def _estimate(found: Estimate, beside: str = "") -> str:
    """The value, and its interval on a line of its own."""
    if found.value is None:
        return NONE
    shown = f"{found.value:+.2f} {beside}".strip()
    if found.low is None or found.high is None:
        return shown
    return f"{shown}\n[dim]{found.low:+.2f} to {found.high:+.2f}[/dim]"
