"""Terminal tables of what DREAM finds by a task's plan: key information, deductions, and the agents' steps.

Invariant: as in `reporting.tables`; a quotation that the report or a page does not have is shown as such, and so is
each deduction that does not count, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table

from local_judge.agents.citations import CheckedCitation
from local_judge.agents.transcript import render_transcript
from local_judge.protocols.dream import DreamFindings
from local_judge.protocols.dream.key_information.findings import KeyInformationFindings
from local_judge.protocols.dream.reasoning.findings import (
    FATES,
    Deduction,
    QuestionFindings,
    ReasoningFindings,
)
from local_judge.protocols.items import Item
from local_judge.reporting.numbers import NONE, count
from local_judge.reporting.tables import safe
from local_judge.reporting.tasks import lines
from local_judge.tasks.model import KeySource

_SAID = {"met": "yes", "unmet": "no", "failed": "failed"}
_EVIDENCE = {
    "found": "",
    "not_in_page": " (the page does not have it)",
    "not_shown": " (not a page that was read)",
}


def plan_lines(findings: DreamFindings) -> Iterator[str]:
    """What was found by each of the two metrics, one line each."""
    if findings.key_information is not None:
        yield _key_line(findings.key_information)
    if findings.reasoning is not None:
        yield _reasoning_line(findings.reasoning)


def plan_tables(findings: DreamFindings) -> Iterator[RenderableType]:
    """All that the two scores rest on, the agents' steps last."""
    if findings.key_information is not None and findings.key_information.items:
        yield _key_table(findings.key_information)
    if findings.reasoning is not None and findings.reasoning.questions:
        yield _reasoning_table(findings.reasoning)
        for question in findings.reasoning.questions:
            if question.run is not None:
                yield _transcript(question)


def _key_line(found: KeyInformationFindings) -> str:
    answers = [_SAID[item.status] for item in found.items]
    parts = [f"{answers.count(said)} {said}" for said in dict.fromkeys(answers)]
    rejected = sum(item.quote_rejected is not None for item in found.items)
    dated = sum(source is not None and source.published is not None for source in found.sources)
    notes = [f"key information: {', '.join(parts) or 'none in the plan'}"]
    notes += [f"{count(rejected, 'quotation')} not in the report"] if rejected else []
    notes += [f"{dated} of {count(len(found.items), 'item')} on a page with a date"] if found.items else []
    day = f" as on {found.as_of}" if found.as_of else ""
    return "; ".join([*notes, f"plan {found.status}{day}, joined by {found.joined}"])


def _reasoning_line(found: ReasoningFindings) -> str:
    statuses = [one.status for one in found.questions]
    parts = [f"{statuses.count(status)} {status}" for status in dict.fromkeys(statuses)]
    fates = [f"{n} {fate}" for fate in FATES if (n := sum(one.count(fate) for one in found.questions))]
    how = "by agents" if found.searched else "without tools"
    given = sum(len(one.deductions) for one in found.questions)
    line = f"reasoning: {', '.join(parts) or 'no question in the plan'}, {how}; {count(given, 'deduction')}"
    line += f" ({', '.join(fates)})" if fates else ""
    missed = len(found.wishes)
    return line + (f"; {count(missed, 'thing')} asked for that the snapshot does not have" if missed else "")


def _table(*columns: str) -> Table:
    table = Table(show_edge=False, pad_edge=False, show_lines=True)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _key_table(found: KeyInformationFindings) -> Table:
    table = _table("id", "key information", "said", "why")
    for item, source in zip(found.items, found.sources, strict=True):
        asked = safe(item.text) if source is None else f"{safe(item.text)}\n{_source(source)}"
        table.add_row(item.id, asked, _SAID[item.status], _why(item))
    return table


def _source(source: KeySource) -> str:
    words = f' "{safe(source.quote)}"' if source.quote else ""
    return f"[dim]{safe(source.published or 'no date')}, {safe(source.url)}:{words}[/dim]"


def _why(item: Item) -> str:
    if item.failure is not None:
        return f"failed: {item.failure.kind}"
    said = [safe(item.rationale)] if item.rationale else []
    said += [f'"{safe(item.quote.text)}"'] if item.quote is not None else []
    said += [f'not in the report: "{safe(item.quote_rejected)}"'] if item.quote_rejected is not None else []
    return "\n".join(said)


def _reasoning_table(found: ReasoningFindings) -> Table:
    table = _table("id", "question", "points", "deductions")
    for one in found.questions:
        points = NONE if one.points is None else f"{one.points:g} of 10"
        table.add_row(one.question.id, safe(one.question.question), points, _deductions(one))
    return table


def _deductions(one: QuestionFindings) -> str:
    shown: list[str] = []
    if one.failure is not None:
        shown.append(f"failed: {one.failure.kind}: {safe(one.failure.detail)}")
    if one.status == "unanswered":
        shown.append("the report says nothing on it")
    for extract in one.extracted:
        words = safe(extract.quoted if extract.quote is None else extract.quote.text)
        shown.append(f'extracted: "{words}"' + ("" if extract.quote else " (not in the report)"))
    shown += [_deduction(deduction) for deduction in one.deductions]
    return "\n".join(shown) or NONE


def _deduction(one: Deduction) -> str:
    taken = f"-{one.points:g}" if one.fate == "counted" else one.fate
    again = f" (as {one.of + 1})" if one.of is not None else ""
    kind = one.kind.replace("_", " ")
    words = safe(one.quoted if one.quote is None else one.quote.text)
    said = f'{taken}{again}: {one.severity} {kind}: {safe(one.reason)} "{words}"'
    said += "" if one.quote is not None else " (not in the report)"
    return said + ("" if one.evidence is None else f"\n   {_evidence(one.evidence)}")


def _evidence(evidence: CheckedCitation) -> str:
    return f'page: "{safe(evidence.quote)}" {safe(evidence.url)}{_EVIDENCE[evidence.status]}'


def _transcript(question: QuestionFindings) -> Group:
    assert question.run is not None
    steps = lines(render_transcript(question.run, opening=False, texts=False))
    return Group(f"[bold]{question.question.id}: what the agent did[/bold]", *steps)
