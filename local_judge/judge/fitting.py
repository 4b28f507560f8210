"""Fitting questions into a judge's context.

Invariant: nothing is sent that leaves too little room for its reply; every question is in exactly one part, in the
given order; what does not fit by itself carries a failure that says how much room there was.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

from local_judge.judge.failures import Failure, failure_of
from local_judge.judge.judge import Judge
from local_judge.judge.layout import Prompt
from serving.errors import EngineError

T = TypeVar("T")


class Part(NamedTuple, Generic[T]):
    """Questions for one call, or the reason why they cannot be asked."""

    items: Sequence[T]
    failure: Failure | None = None


async def room_for(judge: Judge, prompt: Prompt, wanted: int, what: str = "the report") -> Failure | None:
    """Why a prompt cannot be asked: it leaves less than `wanted` tokens for the reply, or the engine is silent.

    `what` names in the failure's detail what takes the room.
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
    """The items in as few halvings as make every call fit.

    Args:
        judge: who will be asked.
        items: what one call should ask, if it fits.
        prompt_for: the prompt for some of them.
        wanted: tokens that the reply about some of them needs at least.
        what: see `room_for`.
    """
    lacking = await room_for(judge, prompt_for(items), wanted(items), what)
    if lacking is None or lacking.kind != "report_too_long" or len(items) < 2:
        return [Part(items, lacking)]
    middle = len(items) // 2
    halves = await asyncio.gather(
        *(fitting_parts(judge, half, prompt_for, wanted, what) for half in (items[:middle], items[middle:]))
    )
    return [part for half in halves for part in half]
