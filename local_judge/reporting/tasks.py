"""Guidance, and what all drafts have in common, for the terminal.

Invariant: everything that came from a task, a page, a judge or a guidance file is printed as plain text (rich markup
escaped, control characters removed), line by line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.console import Group, RenderableType
from rich.table import Table

from local_judge.reporting.numbers import NONE, count
from local_judge.reporting.tables import safe
from local_judge.tasks.guidance import GuidanceRow, Point
from local_judge.tasks.review import D, DraftRow


def guidance_table(rows: Sequence[GuidanceRow]) -> Table:
    """One line a task: where its guidance comes from, and how many of its points lean on a page."""

    def cells(row: GuidanceRow) -> list[str]:
        sourced = sum(point.source is not None for point in row.points)
        rejected = sum(point.quote_rejected is not None for point in row.points)
        counts = [str(len(row.points)), str(sourced)] if row.points else [NONE, NONE]
        return [*counts, str(rejected or "")]

    return draft_table(rows, cells, ["points", "with source", "rejected quotations"])


def guidance_view(row: GuidanceRow) -> RenderableType:
    """All of one task's guidance: the request, the points with their sources, and the text where it is another."""
    parts = opening(row, row.task)
    if row.points:
        parts.append(f"[dim]{count(len(row.points), 'point')} as drafted[/dim]")
        for number, point in enumerate(row.points, 1):
            parts += _point(number, point)
    if not row.points or row.text_before is not None:
        parts += ["[dim]text[/dim]", *lines(row.text)]
    return Group(*parts)


def _point(number: int, point: Point) -> list[str]:
    lines = [f"{number}. {safe(point.statement)} [dim]({point.bears_on})[/dim]"]
    if point.source is not None:
        quote = point.source.quote
        place = f"{'title ' if quote.in_title else ''}{quote.start}-{quote.end}"
        lines.append(f'   [dim]source:[/dim] "{safe(quote.text)}" {safe(point.source.url)} ({place})')
    if point.quote_rejected is not None:
        lines.append(f'   [dim]quotation in no passage:[/dim] "{safe(point.quote_rejected)}"')
    return lines


def draft_table(
    rows: Sequence[D], cells: Callable[[D], Sequence[str]], numbers: Sequence[str], texts: Sequence[str] = ()
) -> Table:
    """One line a task: where its row comes from, what is in it, and who decided.

    Args:
        rows: of one kind.
        cells: what is in a row.
        numbers: names of the columns of cells, those of numbers first.
        texts: likewise.
    """
    table = Table(show_edge=False, pad_edge=False)
    table.add_column("task", overflow="fold")
    table.add_column("status")
    for name in numbers:
        table.add_column(name, justify="right")
    for name in (*texts, "judge", "reviewer"):
        table.add_column(name, overflow="fold")
    for row in rows:
        judge = safe(row.judge.model) if row.judge else NONE
        reviewer = safe(row.reviewer) if row.reviewer else NONE
        table.add_row(safe(row.key, 40), row.status, *cells(row), judge, reviewer)
    return table


def opening(row: DraftRow, request: str | None) -> list[RenderableType]:
    """Which task, where its row comes from, who decided, and the request."""
    judge = f"; drafted by {safe(row.judge.model)}" if row.judge else ""
    by = f" by {safe(row.reviewer)}" if row.reviewer else ""
    asked = ["[dim]request[/dim]", *lines(request)] if request else []
    return [f"[bold]task {safe(row.key)}[/bold]: {row.status}{by}{judge}", *asked]


def lines(text: str) -> list[str]:
    """Untrusted text line by line."""
    return [safe(line) for line in text.splitlines()]
