"""Dimensions of quality for the terminal.

Invariant: everything that came from a task or a judge is printed as plain text (rich markup escaped, control characters
removed), line by line.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table

from local_judge.reporting.tables import safe
from local_judge.reporting.tasks import draft_table, lines, opening
from local_judge.tasks.dimensions import GENERAL, DimensionEntry, DimensionsRow


def dimensions_table(rows: Sequence[DimensionsRow]) -> Table:
    """One line a task: where its dimensions come from, and the weight and number of criteria of each."""

    def cells(row: DimensionsRow) -> list[str]:
        by_id = {entry.id: entry for entry in row.dimensions}
        specific = [entry for entry in row.dimensions if entry.kind == "specific"]
        return [
            *(_weight(by_id[name]) for name in GENERAL),
            "\n".join(f"{safe(entry.name)} {_weight(entry)}" for entry in specific),
        ]

    return draft_table(rows, cells, [name.casefold() for name, _ in GENERAL.values()], ["specific"])


def dimensions_view(row: DimensionsRow) -> RenderableType:
    """All of one task's dimensions with their criteria, and which of them a reviewer changed."""
    parts = opening(row, row.task)
    before = {entry.id: entry for entry in row.before.dimensions} if row.before else None
    for entry in row.dimensions:
        changed = ", changed" if before is not None and before.get(entry.id) != entry else ""
        parts.append(f"[bold]{safe(entry.name)}[/bold] ({entry.kind}, {entry.weight:.2f}{changed})")
        parts += lines(entry.definition)
        for number, one in enumerate(entry.criteria, 1):
            parts.append(f"{number}. {safe(one.criterion)} [dim]({one.weight:g})[/dim]")
            parts += [f"   {line}" for line in lines(one.explanation)]
    return Group(*parts)


def _weight(entry: DimensionEntry) -> str:
    return f"{entry.weight:.2f} ({len(entry.criteria)})"
