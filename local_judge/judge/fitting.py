"""Splitting of questions so that every prompt fits into the judge's context.

Invariant: every prompt leaves enough room for its reply; every question is in exactly one part, in the given order; a
question that does not fit alone has a failure with the available room.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

from local_judge.base.failures import Failure
from local_judge.judge.errors import failure_of
from local_judge.judge.judge import Judge
from local_judge.prompts import Prompt
from serving.errors import EngineError

T = TypeVar("T")


class Part(NamedTuple, Generic[T]):
    """Questions for one call, with a failure if they cannot be asked."""

    items: Sequence[T]
    failure: Failure | None = None


async def room_for(judge: Judge, prompt: Prompt, wanted: int, what: str = "the report") -> Failure | None:
    """Return a failure if a prompt leaves less than `wanted` tokens for the reply, or the engine does not answer.

    `what` names the content of the prompt in the failure's detail.
    """
    try:
        room = await judge.room(prompt)
    except EngineError as error:
        return failure_of(error, "measuring a prompt")
    if room >= wanted:
        return None
    detail = f"{what} leaves {room} tokens of the judge's context for an answer of {wanted}"
    return Failure(kind="report_too_long", detail=detail)


async def fitting_parts(
    judge: Judge,
    items: Sequence[T],
    prompt_for: Callable[[Sequence[T]], Prompt],
    wanted: Callable[[Sequence[T]], int],
    what: str = "the report",
) -> list[Part[T]]:
    """Halve the items until every call fits.

    Args:
        judge: Judge that will be asked.
        items: Items to ask in one call, if they fit.
        prompt_for: Function that returns the prompt for some of the items.
        wanted: Function that returns the minimum reply tokens for some of the items.
        what: See `room_for`.
    """
    lacking = await room_for(judge, prompt_for(items), wanted(items), what)
    if lacking is None or lacking.kind != "report_too_long" or len(items) < 2:
        return [Part(items, lacking)]
    middle = len(items) // 2
    halves = await asyncio.gather(
        *(fitting_parts(judge, half, prompt_for, wanted, what) for half in (items[:middle], items[middle:]))
    )
    return [part for half in halves for part in half]
