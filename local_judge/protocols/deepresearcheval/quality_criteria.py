"""Scores of a report by the criteria of its task's dimensions.

Invariants: each criterion of all dimensions has exactly one score, in their order, or a failure. Without dimensions
there is the failure of drafting them, and no score. All prompts about one report share the request and the
instructions, with the criteria last; weights are not shown, as in the published code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Annotated, NamedTuple

from pydantic import AfterValidator, Field

from indexes.text.language import detect_language
from local_judge.base.model import Frozen
from local_judge.documents.model import Document
from local_judge.judge.judge import Judge
from local_judge.prompts import fence, fill, load_prompt
from local_judge.protocols.asking import Requirement, evaluated_on, rate
from local_judge.protocols.deepresearcheval.findings import TOP, Calls
from local_judge.rubric.answers import Rating
from local_judge.tasks.drafting import language_name
from local_judge.tasks.model import Criterion, QualityDimension, QualityDimensions

REPLY_TOKENS = 320
"""Limit of a reply, for each criterion: 900 characters and the JSON around them."""
DECIMALS = 2


class Scored(Frozen):
    """Answer of a judge to one criterion."""

    quote: Annotated[str, Field(max_length=400)]
    analysis: Annotated[str, Field(max_length=500)]
    score: Annotated[
        float,
        Field(ge=0, le=TOP, strict=True, allow_inf_nan=False),
        AfterValidator(lambda value: round(value, DECIMALS)),
    ]

    @property
    def rationale(self) -> str:
        """The analysis."""
        return self.analysis


class DimensionCriterion(NamedTuple):
    """Criterion with its dimension."""

    dimension: QualityDimension
    criterion: Criterion


async def score_criteria(
    document: Document,
    request: str,
    dimensions: QualityDimensions,
    judge: Judge,
    calls: Calls,
    today: date | None,
) -> tuple[Rating, ...]:
    """Return the judge's answer to each criterion of all dimensions, in their order."""
    asked = {
        criterion.id: DimensionCriterion(dimension, criterion)
        for dimension in dimensions.dimensions
        for criterion in dimension.criteria
    }
    shared = {
        "today": evaluated_on(today),
        "request": fence(request, "Request:"),
        "language": language_name(detect_language(request)),
    }

    def wording(some: Sequence[Requirement]) -> str:
        return _wording(shared, [asked[one.id] for one in some])

    batches = [list(asked)]
    if calls == "dimension":
        batches = [[one.id for one in dimension.criteria] for dimension in dimensions.dimensions]
    parts = [[Requirement(id, asked[id].criterion.criterion) for id in batch] for batch in batches]
    return await rate(document, judge, wording, parts, Scored, reply_tokens=REPLY_TOKENS)


def _wording(shared: Mapping[str, str], asked: Sequence[DimensionCriterion]) -> str:
    """Return the question for some criteria, under their dimensions."""
    lines: list[str] = []
    above: str | None = None
    for dimension, criterion in asked:
        if dimension.id != above:
            lines.append(f"## {_line(dimension.name, dimension.definition)}")
            above = dimension.id
        lines.append(f"[{criterion.id}] {_line(criterion.criterion, criterion.explanation)}")
    criteria = fence("\n".join(lines), "Criteria, each with its id in brackets:")
    return fill(
        load_prompt("local_judge.protocols.deepresearcheval", "quality"), {**shared, "criteria": criteria}
    )


def _line(name: str, text: str) -> str:
    """Return a name and its definition, if given, in one line."""
    words = " ".join(text.split())
    return " ".join(name.split()) + (f": {words}" if words else "")
