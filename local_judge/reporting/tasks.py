"""Guidance, and what all drafts have in common, for the terminal.

Invariant: everything that came from a task, a page, a judge or a guidance file is printed as plain text (rich markup
escaped, control characters removed), line by line.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table

from local_judge.reporting.numbers import NONE, count
from local_judge.reporting.tables import safe
from local_judge.tasks.guidance import GuidanceRow, Point
from local_judge.tasks.review import DraftRow


def guidance_table(rows: Sequence[GuidanceRow]) -> Table:
    """One line a task: where its guidance comes from, and how many of its points lean on a page."""
    table = Table(show_edge=False, pad_edge=False)
    table.add_column("task", overflow="fold")
    table.add_column("status")
    table.add_column("points", justify="right")
    table.add_column("with source", justify="right")
    table.add_column("rejected quotations", justify="right")
    table.add_column("judge", overflow="fold")
    table.add_column("reviewer", overflow="fold")
    for row in rows:
        sourced = sum(point.source is not None for point in row.points)
        rejected = sum(point.quote_rejected is not None for point in row.points)
        table.add_row(
            safe(row.task_id, 40),
            row.status,
            str(len(row.points)) if row.points else NONE,
            str(sourced) if row.points else NONE,
            str(rejected or ""),
            safe(row.judge.model) if row.judge else NONE,
            safe(row.reviewer) if row.reviewer else NONE,
        )
    return table


def guidance_view(row: GuidanceRow) -> RenderableType:
    """All of one task's guidance: the request, the points with their sources, and the text where it is another."""
    parts: list[RenderableType] = [heading(row)]
    if row.task:
        parts += ["[dim]request[/dim]", *lines(row.task)]
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


def heading(row: DraftRow) -> str:
    """Which task, where its row comes from, and who decided."""
    judge = f"; drafted by {safe(row.judge.model)}" if row.judge else ""
    by = f" by {safe(row.reviewer)}" if row.reviewer else ""
    return f"[bold]task {safe(row.key)}[/bold]: {row.status}{by}{judge}"


def lines(text: str) -> list[str]:
    """Untrusted text line by line."""
    return [safe(line) for line in text.splitlines()]
