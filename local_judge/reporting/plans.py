"""Terminal output for plans and the rules that they break.

Invariant: everything that came from a task, a page, a judge or a file of plans is printed as plain text (rich markup
escaped, control characters removed).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Group, RenderableType

from local_judge.agents.result import Tally
from local_judge.base.errors import plain
from local_judge.base.output import NONE, Table, count
from local_judge.reporting.drafts import draft_table, opening
from local_judge.tasks.checklist_lint import Linted
from local_judge.tasks.model import KeyInformation, Plan, ReasoningQuestion
from local_judge.tasks.plan_lint import lint
from local_judge.tasks.plans import AgentEnd, LeftOut, PlanRow
from local_judge.terminal import safe

_WHY = {
    "not_in_page": "not in the page",
    "not_shown": "not a page that was read",
    "double": "repeats another item",
    "surplus": "over the limit",
}


def plan_table(rows: Sequence[PlanRow]) -> Table:
    """Return one row for each task: the status of its plan, its size, and how many items break rules."""

    def cells(row: PlanRow) -> list[str]:
        dated = sum(
            one.source is not None and one.source.published is not None for one in row.key_information
        )
        hard = len({one.item for one in _linted(row).findings if one.hard})
        return [
            str(len(row.key_information)),
            str(dated or ""),
            str(len(row.left_out) or ""),
            str(len(row.reasoning)),
            str(hard or ""),
            row.agent.outcome if row.agent else NONE,
        ]

    numbers = ["key information", "dated", "left out", "questions", "break hard rules"]
    return draft_table(rows, cells, numbers, ["agent"])


def plan_view(row: PlanRow, transcript: Path | None = None) -> RenderableType:
    """Return one task's plan: the request, items and questions with the rules that they break, and items left out."""
    parts = opening(row, row.task)
    linted = _linted(row)
    plan = _plan(row)
    parts.append(f"[dim]{count(len(plan.key_information), 'item')} of key information[/dim]")
    for item in plan.key_information:
        parts += [*_item(item), *_faults(linted, item.id)]
    parts.append(f"[dim]{count(len(plan.reasoning), 'reasoning question')}[/dim]")
    for question in plan.reasoning:
        parts += [*_question(question), *_faults(linted, question.id)]
    parts += [f"[dim]{one.rule}:[/dim] {safe(one.reason)}" for one in linted.findings if one.item is None]
    if row.left_out:
        parts.append("[dim]left out[/dim]")
        parts += [_left_out(one) for one in row.left_out]
    if row.agent is not None:
        parts.append(_agent(row.agent, row.n_pages))
    if transcript is not None:
        parts.append(f"[dim]transcript:[/dim] {safe(str(transcript))}")
    if row.before is not None:
        parts.append("[dim]questions as drafted[/dim]")
        parts += [safe(one.question) for one in (*row.before.key_information, *row.before.reasoning)]
    return Group(*parts)


def stand_line(rows: Sequence[PlanRow]) -> str:
    """Return the number of items of key information in drafts, and of those left out by reason."""
    standing = sum(len(row.key_information) for row in rows)
    whys = [one.why for row in rows for one in row.left_out]
    counts = ", ".join(f"{n} {said}" for why, said in _WHY.items() if (n := whys.count(why)))
    return f"{count(standing, 'item')} of key information, {len(whys)} left out" + (
        f": {counts}" if counts else ""
    )


def coverage_lines(coverage: dict[str, Tally]) -> list[str]:
    """Return a line for each kind of agent request: how many there were and how many the snapshot could answer."""
    return [
        plain(f"asked by {kind}: {tally.asked}, of which the snapshot could answer {tally.answered}")
        for kind, tally in coverage.items()
    ]


def _item(item: KeyInformation) -> list[str]:
    shown = [f"{item.id}. {safe(item.question)}"]
    source = item.source
    if source is not None:
        place = ""
        if source.start is not None:
            place = f" ({'title ' if source.in_title else ''}{source.start}-{source.end})"
        dated = source.published or "no date"
        shown.append(f'   [dim]source, {safe(dated)}:[/dim] "{safe(source.quote)}" {safe(source.url)}{place}')
    return shown


def _question(question: ReasoningQuestion) -> list[str]:
    steps = (("extract", question.extract), ("verify", question.verify), ("compare", question.compare))
    return [
        f"{question.id}. {safe(question.question)}",
        *(f"   [dim]{name}:[/dim] {safe(text)}" for name, text in steps),
    ]


def _faults(linted: Linted, item: str) -> list[str]:
    return [f"   [dim]{one.rule}:[/dim] {safe(one.reason)}" for one in linted.of(item)]


def _left_out(one: LeftOut) -> str:
    return f'{_WHY[one.why]}: {safe(one.question)} "{safe(one.quote)}" {safe(one.url)}'


def _agent(run: AgentEnd, n_pages: int) -> str:
    asked = "; ".join(f"{kind} {tally.answered}/{tally.asked}" for kind, tally in run.coverage.items())
    answered = f"; answered by the snapshot: {asked}" if asked else ""
    spent = f"{count(run.turns, 'turn')}, {count(run.calls, 'call')}, {run.tokens:,} tokens"
    alone = f"; {count(n_pages, 'page')} asked about alone" if n_pages else ""
    return f"[dim]agent:[/dim] {run.outcome}: {spent}{answered}{alone}"


def _plan(row: PlanRow) -> Plan:
    """Return the plan of a row, even if it was rejected."""
    plan = row.model_copy(update={"status": "drafted"}).content
    assert plan is not None
    return plan


def _linted(row: PlanRow) -> Linted:
    return lint(_plan(row), row.task)
