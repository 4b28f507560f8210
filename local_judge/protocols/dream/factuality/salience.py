"""Choice of the claims to check: those that are most salient for the request.

DREAM extracts the N most salient claims with respect to the question, with the day in the prompt (DREAM, appendix C.2).
Here the claims exist already, so that a judge chooses among them, with the request and the day; the report is not shown
again. A report with at most N claims, or without a task, needs no question.

Invariants: the claims that were asked for are chosen once each, in reading order. A number that a judge repeats is
asked for again among the claims that are left; what is still missing after that is a failure of as many claims.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import date
from functools import cache
from typing import Annotated, Any, NamedTuple

from pydantic import BeforeValidator, Field, create_model

from local_judge.base.failures import Failure
from local_judge.base.model import Frozen
from local_judge.claims.model import Claim
from local_judge.judge.fitting import fitting_parts
from local_judge.judge.judge import Judge
from local_judge.prompts import Prompt, fence, fill, load_prompt
from local_judge.protocols.asking import evaluated_on, no_boolean, request_blocks
from local_judge.protocols.dream.claims import most_salient
from local_judge.tasks.model import Task

ROUNDS = 3
"""Questions for the claims of one prompt."""
TOKENS_PER_NUMBER = 8


class Choice(NamedTuple):
    """Claims of a report to check."""

    claims: tuple[Claim, ...]
    """Claims in reading order."""
    missing: tuple[Claim, ...] = ()
    """Claims in the place of those that a judge did not choose; see `failure`."""
    failure: Failure | None = None
    replies: tuple[str, ...] = ()
    """Ledger keys."""


async def choose(
    claims: Sequence[Claim], n: int, task: Task | None, judge: Judge, today: date | None
) -> Choice:
    """Return at most `n` claims; without a task those that the extraction calls salient come first."""
    if len(claims) <= n or task is None:
        return Choice(tuple(most_salient(claims, n)))
    parts = await fitting_parts(
        judge,
        claims,
        lambda some: salience_prompt(some, n, task, today),
        lambda _: TOKENS_PER_NUMBER * n,
        "the list of claims",
    )
    ends = [sum(len(part.items) for part in parts[: place + 1]) for place in range(len(parts))]
    shares = [
        n * end // len(claims) - n * (end - len(part.items)) // len(claims)
        for part, end in zip(parts, ends, strict=True)
    ]
    found = await asyncio.gather(
        *(
            _chosen(part.items, share, part.failure, task, judge, today)
            for part, share in zip(parts, shares, strict=True)
        )
    )
    return Choice(
        claims=tuple(claim for one in found for claim in one.claims),
        missing=tuple(claim for one in found for claim in one.missing),
        failure=next((one.failure for one in found if one.failure is not None), None),
        replies=tuple(key for one in found for key in one.replies),
    )


async def _chosen(
    claims: Sequence[Claim],
    n: int,
    failure: Failure | None,
    task: Task,
    judge: Judge,
    today: date | None,
) -> Choice:
    chosen: set[str] = set()
    replies: list[str] = []
    for round in range(ROUNDS):
        left = [claim for claim in claims if claim.id not in chosen]
        wanted = n - len(chosen)
        if failure is not None or not wanted:
            break
        answer = await judge.ask(
            salience_prompt(left, wanted, task, today),
            _answer(wanted, len(left)),
            draw=round,
            max_tokens=TOKENS_PER_NUMBER * wanted + 40,
        )
        if isinstance(answer, Failure):
            failure = answer
        else:
            replies += answer.replies
            chosen |= {left[number - 1].id for number in answer.value.claims}
    left = [claim for claim in claims if claim.id not in chosen]
    missing = tuple(most_salient(left, n - len(chosen)))
    if missing and failure is None:
        detail = f"{len(chosen)} of {n} claims chosen"
        failure = Failure(kind="incomplete", detail=detail, attempts=len(replies))
    return Choice(tuple(claim for claim in claims if claim.id in chosen), missing, failure, tuple(replies))


def salience_prompt(claims: Sequence[Claim], n: int, task: Task, today: date | None) -> Prompt:
    """Return the prompt that asks for the `n` most salient claims; the part that is the same for all comes first."""
    listed = "\n".join(f"{number}. {claim.text}" for number, claim in enumerate(claims, 1))
    own = [*request_blocks(task), fence(listed, "Claims:"), f"Choose {n} of these {len(claims)} claims."]
    shared = fill(load_prompt("local_judge.protocols.dream", "salience"), {"today": evaluated_on(today)})
    return Prompt(shared=shared, own="\n\n".join(own), prefix_key=f"dream:salience:{today}")


class _Numbers(Frozen):
    """Numbers of claims."""

    claims: list[int]


@cache
def _answer(n: int, most: int) -> type[_Numbers]:
    """Return the type of an answer with `n` numbers from 1 to `most`."""
    number = Annotated[int, Field(ge=1, le=most), BeforeValidator(no_boolean)]
    field: Any = (Annotated[list[number], Field(min_length=n, max_length=n)], ...)
    return create_model("Numbers", __base__=_Numbers, claims=field)
