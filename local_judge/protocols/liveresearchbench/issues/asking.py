"""The questions for issues, and what the judge must answer.

Invariant: the list is bounded by the schema, so that no report makes an endless reply.
"""

from __future__ import annotations

from datetime import date
from functools import cache
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, create_model

from local_judge.documents.model import Document
from local_judge.judge.layout import Prompt, fill
from local_judge.protocols.asking import evaluated_on, report_prompt
from local_judge.protocols.liveresearchbench.issues.findings import Metric
from local_judge.protocols.liveresearchbench.prompts import template

Words = Annotated[str, Field(max_length=400)]


class Contradiction(BaseModel):
    """Two places that disagree, or one that disagrees with itself."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    quote: Words
    other: Words
    reason: Words

    @property
    def quoted(self) -> tuple[str, ...]:
        """Its quotations."""
        return (self.quote, self.other) if self.other.strip() else (self.quote,)


class Uncited(BaseModel):
    """A statement without a source."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    quote: Words
    reason: Words

    @property
    def quoted(self) -> tuple[str, ...]:
        """Its quotation."""
        return (self.quote,)


class Contradictions(BaseModel):
    """A judge's answer on consistency."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    issues: list[Contradiction]


class Gaps(BaseModel):
    """A judge's answer on citation association."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    issues: list[Uncited]


@cache
def answer_type(metric: Metric, limit: int) -> type[Contradictions] | type[Gaps]:
    """The type of a list of at most `limit` issues."""
    if metric == "consistency":
        contradictions: Any = Annotated[list[Contradiction], Field(max_length=limit)]
        return create_model("Contradictions", __base__=Contradictions, issues=(contradictions, ...))
    gaps: Any = Annotated[list[Uncited], Field(max_length=limit)]
    return create_model("Gaps", __base__=Gaps, issues=(gaps, ...))


def issues_prompt(metric: Metric, document: Document, today: date | None, limit: int) -> Prompt:
    """The question for all issues of a report."""
    values = {"today": evaluated_on(today), "limit": str(limit)}
    return report_prompt(document, [fill(template(metric), values)])
