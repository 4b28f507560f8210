"""The question of reasoning quality, and what a judge must answer.

Invariant: all questions about one report open with the same bytes, up to the end of the report; lists and texts are
bounded by the schema, so that no report makes an endless reply; what comes of a plan or a report stands in a fence.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from functools import cache, partial
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from local_judge.claims.report import shared_report
from local_judge.documents.model import Document
from local_judge.judge.layout import Prompt, fence, fill, load_prompt
from local_judge.protocols.asking import evaluated_on, report_prompt
from local_judge.tasks.model import ReasoningQuestion

template = partial(load_prompt, "local_judge.protocols.dream")

EXTRACTS = 3
"""Passages of the report that a judge may give as what it assessed."""

Severity = Literal["minor", "major", "critical"]
"""`minor`: the answer stands, a step is loose. `major`: a part of the answer does not follow. `critical`: the answer
falls with it."""

Kind = Literal["gap", "unsupported_inference", "ignored_counter_evidence", "contradicted_premise"]
"""The first three are the paper's."""

Words = Annotated[str, Field(max_length=300)]


class FromPages(BaseModel):
    """A deduction of an agent, which may name a page. Evidence comes before what follows from it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    quote: Words
    kind: Kind
    reason: Words
    url: Annotated[str, Field(max_length=500)]
    page_quote: Words
    severity: Severity


class FromReport(BaseModel):
    """A deduction of a judge that has the report alone."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    quote: Words
    kind: Kind
    reason: Words
    severity: Severity


class Assessment(BaseModel):
    """What an agent answers, of whatever length."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    extracted: Sequence[Words]
    deductions: Sequence[FromPages]


class AssessmentAlone(BaseModel):
    """What a judge without tools answers, of whatever length."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    extracted: Sequence[Words]
    deductions: Sequence[FromReport]


@cache
def answer_type(limit: int) -> type[Assessment]:
    """An agent's answer with at most `limit` deductions."""
    return create_model("Assessment", __base__=Assessment, **_bounded(FromPages, limit))


@cache
def answer_type_alone(limit: int) -> type[AssessmentAlone]:
    """A judge's answer with at most `limit` deductions."""
    return create_model("AssessmentAlone", __base__=AssessmentAlone, **_bounded(FromReport, limit))


def _bounded(deduction: Any, limit: int) -> dict[str, Any]:
    extracted: Any = Annotated[list[Words], Field(max_length=EXTRACTS)]
    deductions: Any = Annotated[list[deduction], Field(max_length=limit)]
    return {"extracted": (extracted, ...), "deductions": (deductions, ...)}


def agent_task(today: date | None, limit: int) -> str:
    """What all agents are told."""
    return _instructions(today, limit, template("reasoning_search"), template("reasoning_page") + "\n")


def agent_material(document: Document, question: ReasoningQuestion) -> str:
    """The report, then the question with its plan."""
    return f"{shared_report(document).shared}\n\n{_planned(question)}"


def prompt_alone(document: Document, question: ReasoningQuestion, today: date | None, limit: int) -> Prompt:
    """The question for a judge without tools."""
    instructions = _instructions(today, limit, template("reasoning_alone"), "")
    return report_prompt(document, [instructions, template("reasoning_answer"), _planned(question)])


def _instructions(today: date | None, limit: int, verify: str, page: str) -> str:
    values = {
        "today": evaluated_on(today),
        "verify": verify,
        "page": page,
        "extracts": str(EXTRACTS),
        "limit": str(limit),
    }
    return fill(template("reasoning"), values)


def _planned(question: ReasoningQuestion) -> str:
    lines = [
        f"question: {_line(question.question)}",
        f"extract: {_line(question.extract)}",
        f"verify: {_line(question.verify)}",
        f"compare: {_line(question.compare)}",
    ]
    return fence("\n".join(lines), "Question and plan:")


def _line(text: str) -> str:
    return " ".join(text.split())
