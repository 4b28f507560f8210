"""Terminal tables of a judged rubric, and the answers that cost a report most.

Invariants: the words of judges and reports reach the terminal as plain text, and each answer is shown with its reasons:
the score before guidance capped it, and the quoted passage, found or not. A cost is the exact difference that one
answer makes by the paper's profile: if it were 10 and all else the same, the dimension and the overall score would be
higher by that much. A mean weighs its defined parts alike, so a cost is the missing points divided by the number of
defined parts at each level above.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from local_judge.base.model import Frozen
from local_judge.base.output import NONE, Table, count, shorten
from local_judge.protocols.deer.names import INTEGRITY, OVERALL, RECENCY
from local_judge.protocols.deer.rubric.model import HIGHEST, Grade, Path, RubricFindings, kind_of, on_scale
from local_judge.scoring.node import ScoreNode


class Cost(Frozen):
    """Points that one answer below the top takes from the scores above it."""

    path: Path
    """Path of the answer in the findings."""
    dimension: float
    """Points that its dimension would gain."""
    overall: float
    """Points that the overall score would gain."""


def costs(roots: Sequence[ScoreNode], rubric: RubricFindings) -> tuple[Cost, ...]:
    """Return the cost of each answer, the highest first, equal costs in the rubric's order.

    Args:
        roots: the scores of `overall.score` by the profile `paper`.
        rubric: the findings that they were computed from.

    Recency costs nothing: the paper does not count it. A report judged as a whole has no parts that could cost. An
    answer whose criterion, sub-dimension or dimension has no value could add nothing.
    """
    if rubric.mode == "vanilla":
        return ()
    by_id = {root.id: root for root in roots}
    n_dimensions = _count_defined([root for root in roots if root.id not in (OVERALL, RECENCY)])
    found: list[Cost] = []
    for grade in rubric.grades:
        if grade.score is None or grade.score == rubric.scale or grade.path[0] == INTEGRITY:
            continue
        n_parts = _parts_above(by_id[grade.path[0]], grade.path)
        if n_parts:
            missing = HIGHEST - on_scale(grade.score, rubric.scale)
            overall = missing / (n_parts * n_dimensions)
            found.append(Cost(path=grade.path, dimension=missing / n_parts, overall=overall))
    return tuple(sorted(found, key=lambda cost: -cost.overall))


def _parts_above(root: ScoreNode, path: Path) -> int:
    """Return the number of answers like this one that a dimension rests on; 0 if it does not rest on this one."""
    n_parts, node = int(root.score.value is not None), root
    for step in (*path[1:3], kind_of(path[3]), path[3]) if len(path) > 1 else ():
        n_parts *= _count_defined(node.children)
        node = node.find(step)
        if node.score.value is None:
            return 0
    return n_parts


def _count_defined(nodes: Sequence[ScoreNode]) -> int:
    return sum(node.score.value is not None for node in nodes)


COSTLIEST = 10
"""Answers listed by what they cost."""

SHORT = 160
"""Characters of a rationale in that list."""


def rubric_line(findings: RubricFindings) -> str:
    """Summarise in one line how many answers there are, their quotations, and the effect of the guidance."""
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
    """Return the answers that cost the report most, by the paper's profile."""
    table = Table(
        "what cost most (points that 10 would add, paper profile)",
        ("item", "rationale"),
        ("score", "overall", "dimension"),
    )
    by_path = {grade.path: grade for grade in findings.grades}
    for cost in costs[:COSTLIEST]:
        grade = by_path[cost.path]
        table.add_row(
            place(cost.path),
            shorten(grade.rationale, SHORT),
            _score(grade),
            f"{cost.overall:.3f}",
            f"{cost.dimension:.2f}",
        )
    return table


def place(path: Sequence[str]) -> str:
    """`request_fulfillment.completeness.1.C1-1`; the whole report where there is no path."""
    return ".".join(path) or "whole report"


def _score(grade: Grade) -> str:
    """Return the score, with the judge's own score if guidance capped it."""
    if grade.status == "failed":
        return f"failed: {grade.failure.kind}" if grade.failure else "failed"
    if grade.score is None:
        return "N/A" if grade.status == "not_applicable" else NONE
    return f"{grade.score} (capped from {grade.judged})" if grade.capped else str(grade.score)
