"""Asking a judge about a report, item by item: whether requirements are met, or anything else that has ids.

Invariants: every prompt opens with the report as all protocols show it; each item is answered once, by its id; a call
that leaves too little room for its reply is halved, and what does not fit alone is a failure; a quotation is kept only
where the report has it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import date
from functools import cache
from typing import Annotated, Any, NamedTuple, Protocol, TypeVar

from pydantic import BaseModel, Field, create_model

from local_judge.base.failures import Failure
from local_judge.base.model import Frozen
from local_judge.claims.quotes import QuoteFinder
from local_judge.documents.model import Document
from local_judge.judge.judge import Answer, Judge
from local_judge.prompts import fence
from local_judge.protocols.base import Case
from local_judge.protocols.checklist import Item, Status
from local_judge.rubric.answers import Rating
from local_judge.rubric.asking import (
    MIN_REPLY_TOKENS,
    REPLY_TOKENS,
    Reasoned,
    ask_groups,
    reasons_of,
    report_prompt,
)
from local_judge.tasks.model import Task

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)


class Rated(Reasoned, Protocol):
    """An answer by a number."""

    @property
    def score(self) -> float:
        """The number."""
        ...


N = TypeVar("N", bound=Rated)


class Ruling(Frozen):
    """A judge's answer to one requirement."""

    quote: Annotated[str, Field(max_length=400)]
    rationale: Annotated[str, Field(max_length=400)]
    met: Annotated[bool, Field(strict=True)]


class Requirement(NamedTuple):
    """One thing to be decided."""

    id: str
    text: str

    @property
    def line(self) -> str:
        """The line that lists it in a prompt."""
        return f"[{self.id}] {' '.join(self.text.split())}"


Wording = Callable[[Sequence[Requirement]], str]
"""All that a prompt says after the report, for some of the requirements."""


def require_input(value: T | None) -> T:
    """Return an input whose absence `missing_inputs` has named before anything was asked."""
    if value is None:
        raise RuntimeError("an input is missing that the metric's missing_inputs did not name")
    return value


def task_of(case: Case) -> Task:
    """Return the task of a report that is judged only where it has one."""
    return require_input(case.task)


def no_boolean(value: object) -> object:
    """Refuse JSON's `true` and `false` as numbers, which Python accepts as 1 and 0."""
    if isinstance(value, bool):
        raise ValueError("true and false are not scores")
    return value


def evaluated_on(today: date | None) -> str:
    """Name the day of the evaluation in a prompt; empty if the run has none."""
    return f" Today is {today.isoformat()}." if today else ""


def at_most(answer: type[M], **limits: int) -> type[M]:
    """Return an answer type whose lists, named by `limits`, have at most so many entries."""
    return _bound_answer(answer, tuple(limits.items()))


@cache
def _bound_answer(answer: type[Any], limits: tuple[tuple[str, int], ...]) -> type[Any]:
    fields: dict[str, Any] = {
        name: (Annotated[answer.model_fields[name].annotation, Field(max_length=limit)], ...)
        for name, limit in limits
    }
    return create_model(answer.__name__, __base__=answer, **fields)


def request_blocks(task: Task | None) -> list[str]:
    """Return the request as a block of a prompt, fenced; no block where the report has no task."""
    return [] if task is None else [fence(task.prompt, "Request:")]


def listed_references(document: Document) -> str | None:
    """Return the reference sections as the report has them, fenced; None where it has none."""
    blocks = [block for block in document.blocks if block.role == "references"]
    if not blocks:
        return None
    text = "\n".join(document.text[block.span.start : block.span.end] for block in blocks)
    return fence(text, "The report's references:")


async def ask_each(
    document: Document,
    judge: Judge,
    wording: Wording,
    calls: Sequence[Sequence[Requirement]],
    answer: type[T],
    *,
    reply_tokens: int = REPLY_TOKENS,
    min_reply_tokens: int = MIN_REPLY_TOKENS,
) -> list[Answer[T] | Failure]:
    """Ask for an answer to each item; answers and failures come in the order of the items.

    Args:
        document: the report.
        judge: the judge that answers.
        wording: what a prompt says after the report, for the items of one call.
        calls: the items of each call; their ids are the keys of the replies.
        answer: type of one answer.
        reply_tokens: limit of a reply, for each item in it.
        min_reply_tokens: a call that leaves less room than this for each of its items is halved.
    """
    answers = await asyncio.gather(
        *(
            ask_groups(
                judge,
                lambda some: report_prompt(document, [wording(some)]),
                [[one] for one in call],
                lambda _: answer,
                reply_tokens=reply_tokens,
                min_reply_tokens=min_reply_tokens,
            )
            for call in calls
        )
    )
    return [reply for some in answers for reply in some]


async def rule(
    document: Document, judge: Judge, wording: Wording, asked: Sequence[Requirement], per_call: int
) -> list[Item]:
    """Ask whether each requirement is met; the items come in the order of the requirements."""
    finder = QuoteFinder(document.text)
    calls = [asked[start : start + per_call] for start in range(0, len(asked), per_call)]
    answers = await ask_each(document, judge, wording, calls, Ruling)
    return [_item(one, answer, finder) for one, answer in zip(asked, answers, strict=True)]


def _item(asked: Requirement, reply: Answer[Ruling] | Failure, finder: QuoteFinder) -> Item:
    status: Status = "failed"
    if not isinstance(reply, Failure):
        status = "met" if reply.value.met else "unmet"
    return Item(id=asked.id, text=asked.text, status=status, **reasons_of(reply, finder))


async def rate(
    document: Document,
    judge: Judge,
    wording: Wording,
    calls: Sequence[Sequence[Requirement]],
    answer: type[N],
    *,
    reply_tokens: int = REPLY_TOKENS,
) -> tuple[Rating, ...]:
    """Ask for a number on each item; the ratings come in the order of the items. See `ask_each`."""
    finder = QuoteFinder(document.text)
    replies = await ask_each(document, judge, wording, calls, answer, reply_tokens=reply_tokens)
    items = [one for call in calls for one in call]
    return tuple(
        Rating(
            id=one.id,
            score=None if isinstance(reply, Failure) else reply.value.score,
            **reasons_of(reply, finder),
        )
        for one, reply in zip(items, replies, strict=True)
    )
