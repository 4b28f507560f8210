"""The questions about issues: their prompts, and the lists that judges answer with.

Invariants: the names, docstrings and fields of the answers are part of what is asked. A list is at most as long as the
settings allow.
"""

from __future__ import annotations

from datetime import date
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from local_judge.judge.layout import Prompt, fill, load_prompt
from local_judge.protocols.asking import evaluated_on, listed_references, report_prompt, requested
from local_judge.protocols.base import Case

Kind = Literal["consistency", "citation"]

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


class Unlinked(BaseModel):
    """A statement without a citation, or with one whose source is about something else."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    quote: Words
    citation: Words
    """The misplaced citation; empty where there is none."""
    reason: Words

    @property
    def quoted(self) -> tuple[str, ...]:
        """Its quotation."""
        return (self.quote,)


class Contradictions(BaseModel):
    """A judge's answer on consistency."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    issues: list[Contradiction]


class UnlinkedStatements(BaseModel):
    """A judge's answer on citation association."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    issues: list[Unlinked]


@cache
def answer_type(metric: Kind, limit: int) -> type[Contradictions] | type[UnlinkedStatements]:
    """The type of a list of at most `limit` issues."""
    if metric == "consistency":
        contradictions: Any = Annotated[list[Contradiction], Field(max_length=limit)]
        return create_model("Contradictions", __base__=Contradictions, issues=(contradictions, ...))
    statements: Any = Annotated[list[Unlinked], Field(max_length=limit)]
    return create_model("UnlinkedStatements", __base__=UnlinkedStatements, issues=(statements, ...))


def issues_prompt(metric: Kind, case: Case, today: date | None, limit: int) -> Prompt:
    """The question for all issues of a report, behind its request; of citations, behind its references too."""
    references = listed_references(case.report) if metric == "citation" else None
    shown = [*([] if references is None else [references]), *requested(case.task)]
    values = {"today": evaluated_on(today), "limit": str(limit)}
    return report_prompt(
        case.report, [*shown, fill(load_prompt("local_judge.protocols.liveresearchbench", metric), values)]
    )
