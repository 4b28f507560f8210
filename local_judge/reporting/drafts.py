"""Terminal output for drafts of tasks: guidance, criteria and dimensions.

Invariant: everything that came from a task, a page, a judge or a guidance file is printed as plain text (rich markup
escaped, control characters removed), line by line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType

from local_judge.base.errors import plain
from local_judge.base.output import NONE, Table, count, shorten
from local_judge.tasks.checklist_lint import Finding, Linted, lint
from local_judge.tasks.checklists import ChecklistRow
from local_judge.tasks.criteria import DIMENSIONS, CriteriaRow
from local_judge.tasks.dimensions import GENERAL, DimensionEntry, DimensionsRow
from local_judge.tasks.guidance import GuidanceRow, Point
from local_judge.tasks.model import Checklist
from local_judge.tasks.review import D, DraftRow
from local_judge.terminal import safe


def draft_table(
    rows: Sequence[D], cells: Callable[[D], Sequence[str]], numbers: Sequence[str], texts: Sequence[str] = ()
) -> Table:
    """Return one row for each task: the status of its draft, its content, the judge and the reviewer.

    Args:
        rows: of one kind.
        cells: what is in a row.
        numbers: names of the columns of cells, those of numbers first.
        texts: likewise.
    """
    table = Table("", ("task", "status"), numbers)
    for name in (*texts, "judge", "reviewer"):
        table.add_column(name, number=False)
    for row in rows:
        judge = row.judge.model if row.judge else NONE
        reviewer = row.reviewer or NONE
        table.add_row(shorten(row.key, 40), row.status, *cells(row), judge, reviewer)
    return table


def opening(row: DraftRow[Any], request: str | None) -> list[RenderableType]:
    """Return the task, the status of its row, the judge, the reviewer, and the request."""
    judge = f"; drafted by {safe(row.judge.model)}" if row.judge else ""
    by = f" by {safe(row.reviewer)}" if row.reviewer else ""
    asked = ["[dim]request[/dim]", *lines(request)] if request else []
    return [f"[bold]task {safe(row.key)}[/bold]: {row.status}{by}{judge}", *asked]


def lines(text: str) -> list[str]:
    """Return the lines of untrusted text, safe to print."""
    return [safe(line) for line in text.splitlines()]


def guidance_table(rows: Sequence[GuidanceRow]) -> Table:
    """Return one row for each task: the status of its guidance, and how many points quote a page."""

    def cells(row: GuidanceRow) -> list[str]:
        sourced = sum(point.source is not None for point in row.points)
        rejected = sum(point.quote_rejected is not None for point in row.points)
        counts = [str(len(row.points)), str(sourced)] if row.points else [NONE, NONE]
        return [*counts, str(rejected or "")]

    return draft_table(rows, cells, ["points", "with source", "rejected quotations"])


def guidance_view(row: GuidanceRow) -> RenderableType:
    """Return one task's guidance: the request, the points with their sources, and the text if it was edited."""
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


def criteria_table(rows: Sequence[CriteriaRow]) -> Table:
    """Return one row for each task: the status of its criteria, and weight and number of criteria per dimension."""

    def cells(row: CriteriaRow) -> list[str]:
        return [f"{row.dimension_weight[name]:.2f} ({len(row.criterions[name])})" for name in DIMENSIONS]

    return draft_table(rows, cells, [name.replace("_", " ") for name in DIMENSIONS])


def criteria_view(row: CriteriaRow) -> RenderableType:
    """Return one task's criteria with their weights, and the drafted weights that a reviewer changed."""
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


def dimensions_table(rows: Sequence[DimensionsRow]) -> Table:
    """Return one row for each task: the status of its dimensions, and weight and number of criteria of each."""

    def cells(row: DimensionsRow) -> list[str]:
        by_id = {entry.id: entry for entry in row.dimensions}
        specific = [entry for entry in row.dimensions if entry.kind == "specific"]
        return [
            *(_weight(by_id[name]) for name in GENERAL),
            "\n".join(f"{entry.name} {_weight(entry)}" for entry in specific),
        ]

    return draft_table(rows, cells, [name.casefold() for name, _ in GENERAL.values()], ["specific"])


def dimensions_view(row: DimensionsRow) -> RenderableType:
    """Return one task's dimensions with their criteria; those that a reviewer changed are marked."""
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


def checklist_table(rows: Sequence[ChecklistRow]) -> Table:
    """Return one row for each task: the status of its checklist, and how many items break rules."""

    def cells(row: ChecklistRow) -> list[str]:
        findings = _linted(row).findings
        hard, soft = (len({one.item for one in findings if one.hard is which}) for which in (True, False))
        return [str(len(row.items)), str(hard or ""), str(soft or "")]

    return draft_table(rows, cells, ["items", "break hard rules", "break soft rules"])


def checklist_view(row: ChecklistRow) -> RenderableType:
    """Return one task's checklist: the request, the items with the rules that they break, and the drafted items."""
    parts = opening(row, row.task)
    linted = _linted(row)
    parts.append(f"[dim]{count(len(row.items), 'item')}[/dim]")
    for item in Checklist.of(row.items).items:
        parts.append(f"{item.id}. {safe(item.text)}")
        parts += [f"   [dim]{one.rule}:[/dim] {safe(one.reason)}" for one in linted.of(item.id)]
    parts += [f"[dim]{one.rule}:[/dim] {safe(one.reason)}" for one in linted.findings if one.item is None]
    if row.items_before is not None:
        parts += ["[dim]as drafted[/dim]", *(safe(item) for item in row.items_before)]
    return Group(*parts)


def finding_line(task: str, finding: Finding) -> str:
    """Return one finding as `mill q3: yes-or-no: asks 'what', which neither yes nor no answers`."""
    item = f" {finding.item}" if finding.item else ""
    return plain(f"{task}{item}: {finding.rule}: {finding.reason}")


def unchecked_lines(unchecked: Mapping[str, Mapping[Any, str]], what: str) -> list[str]:
    """Return a line for each reason why rules were not checked, with the rules and the number of checklists or plans.

    Args:
        unchecked: by task, the rules that could not be applied, with the reason.
        what: one of the things that were checked, in a word.
    """
    tasks: dict[str, int] = {}
    rules: dict[str, dict[str, None]] = {}
    for own in unchecked.values():
        for reason in dict.fromkeys(own.values()):
            tasks[reason] = tasks.get(reason, 0) + 1
        for rule, reason in own.items():
            rules.setdefault(reason, {})[rule] = None
    return [
        f"not checked in {count(number, what)}, since {reason}: {', '.join(rules[reason])}"
        for reason, number in tasks.items()
    ]


def _linted(row: ChecklistRow) -> Linted:
    return lint(Checklist.of(row.items), row.task)
