"""Statements on one URL that repeat another.

Invariant: every statement is answered for exactly once, by naming an earlier one or none, so that no reply can lose a
statement or merge two into a third; of those that say the same the first is kept. One without answer is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, create_model

from local_judge.judge.failures import Failure
from local_judge.judge.judge import Judge
from local_judge.judge.layout import Prompt, fence, fill, load_prompt

template = partial(load_prompt, "local_judge.protocols.fact")

REPLY_TOKENS_PER_STATEMENT = 24


class ReadRepeat(BaseModel):
    """The number of the earlier statement that says the same, or 0; `answer_type` bounds it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    repeats: int


@cache
def answer_type(position: int) -> type[ReadRepeat]:
    """The type of the answer for the statement at this 0-based position."""
    number: Any = Annotated[int, Field(ge=0, le=position)]
    return create_model("Repeats", __base__=ReadRepeat, repeats=(number, ...))


class Same(NamedTuple):
    """The result for one statement."""

    first: int
    """Position of the statement that it repeats; its own if it is the first to say so."""
    failure: Failure | None = None
    replies: tuple[str, ...] = ()


def repeats_prompt(statements: Sequence[str], positions: Sequence[int]) -> Prompt:
    """All statements, and the numbers of those to answer for."""
    listed = "\n".join(f"{number}. {' '.join(text.split())}" for number, text in enumerate(statements, 1))
    values = {
        "statements": fence(listed, "Statements:"),
        "numbers": ", ".join(str(position + 1) for position in positions),
    }
    return Prompt(shared="", own=fill(template("repeats"), values), prefix_key="fact:repeats")


async def find_repeats(statements: Sequence[str], judge: Judge) -> list[Same]:
    """For each statement on one URL, which one it repeats. Nobody is asked about a single one."""
    found = [Same(0)] if statements else []
    if len(statements) < 2:
        return found
    later = range(1, len(statements))
    answers = await judge.ask_items(
        lambda indices: repeats_prompt(statements, [index + 1 for index in indices]),
        [answer_type(position) for position in later],
        len(later),
        names=[str(position + 1) for position in later],
        max_tokens=REPLY_TOKENS_PER_STATEMENT * len(later),
    )
    for position, answer in zip(later, answers, strict=True):
        if isinstance(answer, Failure):
            found.append(Same(position, answer))
        else:
            named = answer.value.repeats
            found.append(Same(found[named - 1].first if named else position, None, answer.replies))
    return found
