"""Terminal tables of a judged rubric.

Invariant: what a judge said and what a report says reach the terminal as plain text, and each answer stands with what
it rests on: who gave it, what it was before guidance capped it, and the passage that was quoted, found or not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.table import Table

from local_judge.protocols.deer.rubric.cost import Cost
from local_judge.protocols.deer.rubric.findings import Grade, RubricFindings
from local_judge.terminal import NONE, count, item_table, safe

COSTLIEST = 10
"""Answers listed by what they cost."""

SHORT = 160
"""Characters of a rationale in that list."""


def rubric_line(findings: RubricFindings) -> str:
    """How many answers there are, what became of their quotations, and what the guidance did, in one line."""
    grades = findings.grades
    statuses = Counter(grade.status for grade in grades)
    parts = [f"{statuses['scored']} scored"]
    parts += [f"{statuses['not_applicable']} not applicable"] if statuses["not_applicable"] else []
    parts += [f"{statuses['failed']} failed"] if statuses["failed"] else []
    found = sum(grade.quote is not None for grade in grades)
    rejected = sum(grade.quote_rejected is not None for grade in grades)
    unit = "item" if findings.mode == "items" else "answer"
    return (
        f"rubric: {count(len(grades), unit)} ({', '.join(parts)}); quotations: {found} found in the report, "
        f"{rejected} rejected; {_guidance(findings)}"
    )


def _guidance(findings: RubricFindings) -> str:
    if findings.guidance is None:
        return "no guidance"
    capped = sum(grade.capped for grade in findings.grades)
    shown = count(len(findings.guided), "dimension") if findings.guided else "the whole report"
    return f"guidance {findings.guidance.status}, shown for {shown}: {count(capped, 'item')} capped by it"


def cost_table(costs: Sequence[Cost], findings: RubricFindings) -> Table:
    """The answers that cost the report most, by the paper's profile."""
    table = Table(
        title="what cost most (points that 10 would add, paper profile)",
        title_justify="left",
        show_edge=False,
        pad_edge=False,
    )
    table.add_column("item", overflow="fold")
    for heading in ("score", "overall", "dimension"):
        table.add_column(heading, justify="right")
    table.add_column("rationale", overflow="fold", ratio=1)
    by_path = {grade.path: grade for grade in findings.grades}
    for cost in costs[:COSTLIEST]:
        grade = by_path[cost.path]
        table.add_row(
            place(cost.path),
            _score(grade),
            f"{cost.overall:.3f}",
            f"{cost.dimension:.2f}",
            safe(grade.rationale, SHORT),
        )
    return table


def grade_table(findings: RubricFindings) -> Table:
    """Every answer with its score, why, and the passage that it rests on."""
    table = item_table("item", "score", "rationale", "quotation")
    for grade in findings.grades:
        item = f"{place(grade.path)}\n[dim]{safe(grade.text)}[/dim]" if grade.text else place(grade.path)
        table.add_row(item, _score(grade), safe(grade.rationale), _quotation(grade))
    return table


def place(path: Sequence[str]) -> str:
    """`request_fulfillment.completeness.1.C1-1`; the whole report where there is no path."""
    return safe(".".join(path)) or "whole report"


def _score(grade: Grade) -> str:
    """The score, with what the judge had said where guidance capped it."""
    if grade.status == "failed":
        return f"failed: {grade.failure.kind}" if grade.failure else "failed"
    if grade.score is None:
        return "N/A" if grade.status == "not_applicable" else NONE
    return f"{grade.score} (capped from {grade.judged})" if grade.capped else str(grade.score)


def _quotation(grade: Grade) -> str:
    if grade.quote is not None:
        return f"{safe(grade.quote.text)} ({grade.quote.start}-{grade.quote.end})"
    return f"rejected: {safe(grade.quote_rejected)}" if grade.quote_rejected is not None else ""
