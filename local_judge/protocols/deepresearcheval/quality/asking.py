"""What a prompt about quality says after the report, and what the judge must answer.

Invariant: all prompts about one report have the request and the instructions byte for byte, and the criteria last.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from functools import partial
from typing import Annotated, NamedTuple

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from local_judge.judge.layout import fence, fill, load_prompt
from local_judge.protocols.asking import evaluated_on
from local_judge.protocols.deepresearcheval.quality.findings import TOP
from local_judge.tasks.model import Criterion, QualityDimension

template = partial(load_prompt, "local_judge.protocols.deepresearcheval")

DECIMALS = 2


def _rounded(value: float) -> float:
    return round(value, DECIMALS)


Points = Annotated[
    float,
    Field(ge=0, le=TOP, strict=True, allow_inf_nan=False),
    AfterValidator(_rounded),
]


class Scored(BaseModel):
    """A judge's answer to one criterion."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    quote: Annotated[str, Field(max_length=400)]
    analysis: Annotated[str, Field(max_length=500)]
    score: Points


class Question(NamedTuple):
    """What all prompts about one report have in common, behind it."""

    request: str
    language: str
    """In which the judge writes, by name."""
    today: date | None


class Asked(NamedTuple):
    """A criterion with its dimension."""

    dimension: QualityDimension
    criterion: Criterion


def quality_wording(question: Question, asked: Sequence[Asked]) -> str:
    """The question for some criteria, under their dimensions. Weights are not shown, as in the published code."""
    values = {
        "today": evaluated_on(question.today),
        "request": fence(question.request, "Request:"),
        "language": question.language,
        "criteria": fence(_listed(asked), "Criteria, each with its id in brackets:"),
    }
    return fill(template("quality"), values)


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
