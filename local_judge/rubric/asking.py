"""Calls that ask a judge for answers to several questions about a report.

Invariants: a prompt about a report opens as all protocols show it; each question is answered once, by its id; a call
that leaves too little room for its reply is halved, and what does not fit alone is a failure; a quotation is kept only
where the report has it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from local_judge.base.failures import Failure
from local_judge.claims.evidence import shared_report
from local_judge.claims.quotes import QuoteFinder, find_labelled
from local_judge.documents.model import Document
from local_judge.judge.fitting import Part, fitting_parts
from local_judge.judge.judge import Answer, Judge
from local_judge.prompts import Prompt

MIN_REPLY_TOKENS = 100
"""A prompt fits if it leaves at least this much room for each requirement asked."""
REPLY_TOKENS = 300
"""Limit of a reply, for each requirement asked: 800 characters and the JSON around them."""


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


T = TypeVar("T")
Q = TypeVar("Q", bound=Asked)
A = TypeVar("A", bound=Reasoned)


def report_prompt(document: Document, own: Sequence[str]) -> Prompt:
    """Return a prompt that opens as all prompts about the report do."""
    opening = shared_report(document)
    return Prompt(shared=opening.shared, own="\n\n".join(own), prefix_key=opening.prefix_key)


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
