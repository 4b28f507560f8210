"""The prompt of adaptive quality, and what the judge must answer.

Invariants: every prompt opens with the report as all protocols show it; all prompts about one report have the request
and the instructions behind it byte for byte, and the criteria last.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Annotated, NamedTuple

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from local_judge.claims.report import shared_report
from local_judge.documents.model import Document
from local_judge.judge.layout import Prompt, fence, fill
from local_judge.protocols.deepresearcheval.prompts import template
from local_judge.protocols.deepresearcheval.quality.findings import TOP
from local_judge.tasks.model import Criterion, QualityDimension

DECIMALS = 2


def _number(value: object) -> object:
    """JSON's `true` is no 1, though Python's is."""
    if isinstance(value, bool):
        raise ValueError("true and false are no scores")
    return value


def _rounded(value: float) -> float:
    return round(value, DECIMALS)


Points = Annotated[
    float,
    Field(ge=0, le=TOP, allow_inf_nan=False),
    BeforeValidator(_number),
    AfterValidator(_rounded),
]


class Scored(BaseModel):
    """A judge's answer to one criterion."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    quote: Annotated[str, Field(max_length=400)]
    analysis: Annotated[str, Field(max_length=500)]
    score: Points


class Question(NamedTuple):
    """What all prompts about one report have in common."""

    report: Document
    request: str
    language: str
    """In which the judge writes, by name."""
    today: date | None


class Asked(NamedTuple):
    """A criterion with its dimension."""

    dimension: QualityDimension
    criterion: Criterion


def quality_prompt(question: Question, asked: Sequence[Asked]) -> Prompt:
    """The prompt that asks for some criteria, under their dimensions. Weights are not shown, as in the paper."""
    opening = shared_report(question.report)
    values = {
        "today": f" Today is {question.today.isoformat()}." if question.today else "",
        "request": fence(question.request, "Request:"),
        "language": question.language,
        "criteria": fence(_listed(asked), "Criteria, each with its id in brackets:"),
    }
    return Prompt(shared=opening.shared, own=fill(template("quality"), values), prefix_key=opening.prefix_key)


def _listed(asked: Sequence[Asked]) -> str:
    lines: list[str] = []
    above: str | None = None
    for dimension, criterion in asked:
        if dimension.id != above:
            lines.append(f"## {_said(dimension.name, dimension.definition)}")
            above = dimension.id
        lines.append(f"[{criterion.id}] {_said(criterion.criterion, criterion.explanation)}")
    return "\n".join(lines)


def _said(name: str, text: str) -> str:
    """A name, and what it stands for where that is said, in one line."""
    words = " ".join(text.split())
    return " ".join(name.split()) + (f": {words}" if words else "")
