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
from local_judge.claims.evidence import shared_report
from local_judge.claims.quotes import QuoteFinder, find_labelled
from local_judge.documents.model import Document
from local_judge.judge.fitting import Part, fitting_parts
from local_judge.judge.judge import Answer, Judge
from local_judge.prompts import Prompt, fence
from local_judge.protocols.base import Case
from local_judge.protocols.checklist import Item, Status
from local_judge.protocols.items import Rating
from local_judge.tasks.model import Task

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)


class Asked(Protocol):
    """A question with the key that its answer has in a reply."""

    @property
    def id(self) -> str:
        """Unique among the questions of a call."""
        ...


class Reasoned(Protocol):
    """An answer with its reasons."""

    @property
    def quote(self) -> str:
        """Quotation of the report."""
        ...

    @property
    def rationale(self) -> str:
        """Reason for the answer."""
        ...


class Rated(Reasoned, Protocol):
    """An answer by a number."""

    @property
    def score(self) -> float:
        """The number."""
        ...


Q = TypeVar("Q", bound=Asked)
A = TypeVar("A", bound=Reasoned)
N = TypeVar("N", bound=Rated)

MIN_REPLY_TOKENS = 100
"""A prompt fits if it leaves at least this much room for each requirement asked."""
REPLY_TOKENS = 300
"""Limit of a reply, for each requirement asked: 800 characters and the JSON around them."""


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


def report_prompt(document: Document, own: Sequence[str]) -> Prompt:
    """Return a prompt that opens as all prompts about the report do."""
    opening = shared_report(document)
    return Prompt(shared=opening.shared, own="\n\n".join(own), prefix_key=opening.prefix_key)


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


async def ask_groups(
    judge: Judge,
    prompt_for: Callable[[Sequence[Q]], Prompt],
    groups: Sequence[Sequence[Q]],
    answer: Callable[[Q], type[T]],
    *,
    reply_tokens: int,
    min_reply_tokens: int,
    draw: int = 0,
    shown: str = "the report",
) -> list[Answer[T] | Failure]:
    """Ask some questions in one call, which is halved between groups where it leaves too little room for its reply.

    Args:
        judge: the judge that answers.
        prompt_for: the prompt that asks some of the questions.
        groups: all questions; those of a group stay in one call.
        answer: type of the answer to a question.
        reply_tokens: limit of a reply, for each question in it.
        min_reply_tokens: a call that leaves less room than this for each of its questions is halved.
        draw: number of the draw, for a judge that samples.
        shown: name of what takes the room of the reply, for the failure's detail.
    """

    def flat(some: Sequence[Sequence[Q]]) -> list[Q]:
        return [one for group in some for one in group]

    async def ask_part(part: Part[Sequence[Q]]) -> list[Answer[T] | Failure]:
        asked = flat(part.items)
        if part.failure is not None:
            return [part.failure] * len(asked)
        return await judge.ask_items(
            lambda indices: prompt_for([asked[index] for index in indices]),
            [answer(one) for one in asked],
            len(asked),
            names=[one.id for one in asked],
            draw=draw,
            max_tokens=reply_tokens * len(asked),
        )

    parts = await fitting_parts(
        judge,
        groups,
        lambda some: prompt_for(flat(some)),
        lambda some: min_reply_tokens * len(flat(some)),
        shown,
    )
    return [reply for replies in await asyncio.gather(*map(ask_part, parts)) for reply in replies]


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


def reasons_of(reply: Answer[A] | Failure, finder: QuoteFinder) -> dict[str, Any]:
    """Return the fields of a `JudgedItem` that say why it has its value, or why it has none."""
    if isinstance(reply, Failure):
        return {"failure": reply}
    words = reply.value.quote
    quote = find_labelled(finder, words)
    return {
        "rationale": reply.value.rationale,
        "quote": quote,
        "quote_rejected": words if words.strip() and quote is None else None,
        "replies": reply.replies,
    }
