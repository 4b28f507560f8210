"""Terminal output for checklists and the rules that they break.

Invariant: everything that came from a task, a judge or a checklist file is printed as plain text (rich markup escaped,
control characters removed).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table

from local_judge.errors import plain
from local_judge.reporting.drafts import draft_table, opening
from local_judge.tasks.checklist_lint import Finding, Linted, lint
from local_judge.tasks.checklists import ChecklistRow
from local_judge.tasks.model import Checklist
from local_judge.terminal import count, safe


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
