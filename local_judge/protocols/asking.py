"""Asking a judge about a report, item by item: whether requirements are met, or anything else that has ids.

Invariants: every prompt opens with the report as all protocols show it; each item is answered once, by its id; a call
that leaves too little room for its reply is halved, and what does not fit alone is a failure; a quotation is kept only
where the report has it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import date
from typing import Annotated, NamedTuple, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field

from local_judge.claims.quotes import QuoteFinder, find_labelled
from local_judge.claims.report import shared_report
from local_judge.documents.model import Document
from local_judge.errors import ConfigError
from local_judge.judge.failures import Failure, FailureKind
from local_judge.judge.judge import Answer, Judge
from local_judge.judge.layout import Prompt, fence
from local_judge.protocols.base import Case
from local_judge.protocols.items import Item
from local_judge.tasks.model import Task
from serving.errors import EngineError

T = TypeVar("T")

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


def task_of(case: Case, protocol: str) -> Task:
    """The task of a report that a metric of `protocol` cannot be judged without.

    Raises:
        ConfigError: there is none.
    """
    if case.task is None:
        raise ConfigError(f"{protocol}: report {case.id!r} has no task; give --tasks")
    return case.task


def evaluated_on(today: date | None) -> str:
    """What a prompt says of the day of the evaluation; empty where the run was told none."""
    return f" Today is {today.isoformat()}." if today else ""


def report_prompt(document: Document, own: Sequence[str]) -> Prompt:
    """A prompt that opens as all prompts about the report do."""
    opening = shared_report(document)
    return Prompt(shared=opening.shared, own="\n\n".join(own), prefix_key=opening.prefix_key)


def requested(task: Task | None) -> list[str]:
    """The request as a block of a prompt, fenced; no block where the report has no task."""
    return [] if task is None else [fence(task.prompt, "Request:")]


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


async def ask_each(
    document: Document,
    judge: Judge,
    wording: Wording,
    asked: Sequence[Requirement],
    answer: type[T],
    *,
    per_call: int,
    reply_tokens: int,
    min_reply_tokens: int,
) -> list[Answer[T] | Failure]:
    """What the judge answers to each item, in their order.

    Args:
        document: the report.
        judge: who is asked.
        wording: what a prompt says after the report, for the items of one call.
        asked: all items; their ids are the keys of the replies.
        answer: type of one answer.
        per_call: at most this many items in one call.
        reply_tokens: limit of a reply, for each item in it.
        min_reply_tokens: a call that leaves less room than this for each of its items is halved.
    """

    async def put(some: Sequence[Requirement]) -> list[Answer[T] | Failure]:
        def prompt_for(indices: Sequence[int]) -> Prompt:
            return report_prompt(document, [wording([some[index] for index in indices])])

        lacking = await room_for(judge, prompt_for(range(len(some))), min_reply_tokens * len(some))
        if lacking is not None and lacking.kind == "report_too_long" and len(some) > 1:
            middle = len(some) // 2
            halves = await asyncio.gather(*(put(half) for half in (some[:middle], some[middle:])))
            return [told for half in halves for told in half]
        if lacking is not None:
            return [lacking] * len(some)
        return await judge.ask_items(
            prompt_for,
            answer,
            len(some),
            names=[one.id for one in some],
            max_tokens=reply_tokens * len(some),
        )

    calls = [asked[start : start + per_call] for start in range(0, len(asked), per_call)]
    answers = await asyncio.gather(*(put(call) for call in calls))
    return [told for some in answers for told in some]


async def rule(
    document: Document, judge: Judge, wording: Wording, asked: Sequence[Requirement], per_call: int
) -> list[Item]:
    """Whether each requirement is met, as the judge says, in their order."""
    finder = QuoteFinder(document.text)
    told = await ask_each(
        document,
        judge,
        wording,
        asked,
        Ruling,
        per_call=per_call,
        reply_tokens=REPLY_TOKENS,
        min_reply_tokens=MIN_REPLY_TOKENS,
    )
    return [_item(one, answer, finder) for one, answer in zip(asked, told, strict=True)]


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
