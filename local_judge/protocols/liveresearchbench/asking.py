"""Asking a judge about requirements that a report meets or not.

Invariants: every prompt opens with the report as all protocols show it; each requirement is answered once, by its id;
a call that leaves too little room for its reply is halved, and what does not fit alone is a failure; a quotation is
kept only where the report has it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import date
from typing import Annotated, NamedTuple, cast

from pydantic import BaseModel, ConfigDict, Field

from local_judge.claims.quotes import QuoteFinder, find_labelled
from local_judge.claims.report import shared_report
from local_judge.documents.model import Document
from local_judge.errors import ConfigError
from local_judge.judge.failures import Failure, FailureKind
from local_judge.judge.judge import Answer, Judge
from local_judge.judge.layout import Prompt, fence
from local_judge.protocols.base import Case
from local_judge.protocols.liveresearchbench.items import Item
from local_judge.tasks.model import Task
from serving.errors import EngineError

MIN_REPLY_TOKENS = 100
"""A prompt fits if it leaves at least this much room for each requirement asked."""
REPLY_TOKENS = 300
"""Limit of a reply, for each requirement asked: 800 characters and the JSON around them."""


class Ruling(BaseModel):
    """A judge's answer to one requirement."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    quote: Annotated[str, Field(max_length=400)]
    rationale: Annotated[str, Field(max_length=400)]
    met: Annotated[bool, Field(strict=True)]


class Requirement(NamedTuple):
    """One thing to be decided."""

    id: str
    text: str

    @property
    def line(self) -> str:
        """As it is listed to the judge."""
        return f"[{self.id}] {' '.join(self.text.split())}"


Wording = Callable[[Sequence[Requirement]], str]
"""All that a prompt says after the report, for some of the requirements."""


def task_of(case: Case) -> Task:
    """The task of a report that a metric cannot be judged without.

    Raises:
        ConfigError: there is none.
    """
    if case.task is None:
        raise ConfigError(f"liveresearchbench: report {case.id!r} has no task; give --tasks")
    return case.task


def evaluated_on(today: date | None) -> str:
    """What a prompt says of the day of the evaluation; empty where the run was told none."""
    return f" Today is {today.isoformat()}." if today else ""


def report_prompt(document: Document, own: Sequence[str]) -> Prompt:
    """A prompt that opens as all prompts about the report do."""
    opening = shared_report(document)
    return Prompt(shared=opening.shared, own="\n\n".join(own), prefix_key=opening.prefix_key)


def listed_references(document: Document) -> str | None:
    """The reference sections as the report has them, fenced; None where it has none."""
    blocks = [block for block in document.blocks if block.role == "references"]
    if not blocks:
        return None
    text = "\n".join(document.text[block.span.start : block.span.end] for block in blocks)
    return fence(text, "The report's references:")


async def room_for(judge: Judge, prompt: Prompt, wanted: int) -> Failure | None:
    """Why a prompt cannot be asked: it leaves less than `wanted` tokens for the reply, or the engine is silent."""
    try:
        room = await judge.room(prompt)
    except EngineError as error:
        return Failure(kind=cast("FailureKind", error.kind), detail=str(error))
    if room >= wanted:
        return None
    return Failure(
        kind="report_too_long",
        detail=f"the report leaves {room} tokens of the judge's context for an answer of {wanted}",
    )


async def rule(
    document: Document, judge: Judge, wording: Wording, asked: Sequence[Requirement], per_call: int
) -> list[Item]:
    """What the judge says of each requirement, in their order."""
    finder = QuoteFinder(document.text)
    calls = [asked[start : start + per_call] for start in range(0, len(asked), per_call)]
    answers = await asyncio.gather(*(_answers(document, judge, wording, call) for call in calls))
    told = [answer for some in answers for answer in some]
    return [_item(one, answer, finder) for one, answer in zip(asked, told, strict=True)]


async def _answers(
    document: Document, judge: Judge, wording: Wording, asked: Sequence[Requirement]
) -> list[Answer[Ruling] | Failure]:
    def prompt_for(indices: Sequence[int]) -> Prompt:
        return report_prompt(document, [wording([asked[index] for index in indices])])

    lacking = await room_for(judge, prompt_for(range(len(asked))), MIN_REPLY_TOKENS * len(asked))
    if lacking is not None and lacking.kind == "report_too_long" and len(asked) > 1:
        middle = len(asked) // 2
        halves = await asyncio.gather(
            *(_answers(document, judge, wording, half) for half in (asked[:middle], asked[middle:]))
        )
        return [answer for half in halves for answer in half]
    if lacking is not None:
        return [lacking] * len(asked)
    return await judge.ask_items(
        prompt_for,
        Ruling,
        len(asked),
        names=[one.id for one in asked],
        max_tokens=REPLY_TOKENS * len(asked),
    )


def _item(asked: Requirement, told: Answer[Ruling] | Failure, finder: QuoteFinder) -> Item:
    if isinstance(told, Failure):
        return Item(id=asked.id, text=asked.text, status="failed", failure=told)
    answer = told.value
    quote = find_labelled(finder, answer.quote)
    return Item(
        id=asked.id,
        text=asked.text,
        status="met" if answer.met else "unmet",
        rationale=answer.rationale,
        quote=quote,
        quote_rejected=answer.quote if answer.quote.strip() and quote is None else None,
        replies=told.replies,
    )
