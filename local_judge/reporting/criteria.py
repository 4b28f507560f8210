"""Criteria for the terminal.

Invariant: everything that came from a task or a judge is printed as plain text (rich markup escaped, control characters
removed), line by line.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table

from local_judge.reporting.tables import safe
from local_judge.reporting.tasks import draft_table, lines, opening
from local_judge.tasks.criteria import DIMENSIONS, CriteriaRow


def criteria_table(rows: Sequence[CriteriaRow]) -> Table:
    """One line a task: where its criteria come from, and the weight and number of those of each dimension."""

    def cells(row: CriteriaRow) -> list[str]:
        return [f"{row.dimension_weight[name]:.2f} ({len(row.criterions[name])})" for name in DIMENSIONS]

    return draft_table(rows, cells, [name.replace("_", " ") for name in DIMENSIONS])


def criteria_view(row: CriteriaRow) -> RenderableType:
    """All of one task's criteria with their weights, and the drafted weights where a reviewer changed something."""
    parts = opening(row, row.prompt)
    for dimension, criteria in row.criterions.items():
        weight = f"{row.dimension_weight[dimension]:.2f}"
        if (
            row.before is not None
            and row.before.dimension_weight[dimension] != row.dimension_weight[dimension]
        ):
            weight += f", drafted {row.before.dimension_weight[dimension]:.2f}"
        parts.append(f"[bold]{dimension.replace('_', ' ')}[/bold] ({weight})")
        for number, one in enumerate(criteria, 1):
            parts.append(f"{number}. {safe(one.criterion)} [dim]({one.weight:g})[/dim]")
            parts += [f"   {line}" for line in lines(one.explanation)]
    return Group(*parts)
