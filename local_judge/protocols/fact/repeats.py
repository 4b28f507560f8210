"""Statements that repeat another on the same URL: equal words are found by code, equal facts by the judge.

Invariants: every statement is answered for exactly once, by naming an earlier one or none, so that no reply can lose or
merge statements; of those that say the same, the first in reading order stays, and the others are kept apart. No
verdict decides what repeats what, so that all judges of one claim set share the pairs.

The paper keeps one representative of the statements on a URL that "describe the same fact" (DeepResearch Bench,
section 3.2.1).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, NamedTuple, TypeVar

from pydantic import Field, create_model

from local_judge.base.failures import Failure
from local_judge.base.model import Frozen
from local_judge.judge.judge import Judge
from local_judge.prompts import Prompt, fence, fill, load_prompt
from local_judge.protocols.fact.findings import Cited, Repeat

REPLY_TOKENS_PER_STATEMENT = 24

Key = tuple[str, str]
"""A statement without what makes no difference, and its URL."""

C = TypeVar("C", bound=Cited)


def key_of(one: Cited) -> Key:
    """Return what equal statements on one URL share: the words without letter case and white space, and the URL."""
    return " ".join(one.statement.split()).casefold(), one.url


class Same(NamedTuple):
    """The answer for one statement."""

    first: Key
    """The statement that it repeats; its own key if it is the first to say so."""
    failure: Failure | None = None
    replies: tuple[str, ...] = ()


class ReadRepeat(Frozen):
    """The number of the earlier statement that says the same, or 0; `repeat_type` bounds it."""

    repeats: int


@cache
def repeat_type(position: int) -> type[ReadRepeat]:
    """Return the type of the answer for the statement at this 0-based position."""
    number: Any = Annotated[int, Field(ge=0, le=position)]
    return create_model("Repeats", __base__=ReadRepeat, repeats=(number, ...))


def repeats_prompt(statements: Sequence[str], positions: Sequence[int]) -> Prompt:
    """Return all statements, and the numbers of those to answer for."""
    listed = "\n".join(f"{number}. {' '.join(text.split())}" for number, text in enumerate(statements, 1))
    values = {
        "statements": fence(listed, "Statements:"),
        "numbers": ", ".join(str(position + 1) for position in positions),
    }
    text = fill(load_prompt("local_judge.protocols.fact", "repeats"), values)
    return Prompt(shared="", own=text, prefix_key="fact:repeats")


async def find_repeats(cited: Iterable[Cited], judge: Judge) -> dict[Key, Same]:
    """Return, for each statement and URL, which one it repeats. A URL with a single statement needs no call."""
    by_url: dict[str, dict[Key, str]] = {}
    for one in cited:
        by_url.setdefault(one.url, {}).setdefault(key_of(one), one.statement)
    found = await asyncio.gather(*(_on_url(statements, judge) for statements in by_url.values()))
    return {key: same for part in found for key, same in part.items()}


async def _on_url(statements: Mapping[Key, str], judge: Judge) -> dict[Key, Same]:
    first, *later = statements
    found = {first: Same(first)}
    if not later:
        return found
    texts, keys = list(statements.values()), list(statements)
    answers = await judge.ask_items(
        lambda indices: repeats_prompt(texts, [index + 1 for index in indices]),
        [repeat_type(position) for position in range(1, len(texts))],
        len(later),
        names=[str(position + 1) for position in range(1, len(texts))],
        max_tokens=REPLY_TOKENS_PER_STATEMENT * len(later),
    )
    for key, answer in zip(later, answers, strict=True):
        if isinstance(answer, Failure):
            found[key] = Same(key, answer)
        else:
            named = answer.value.repeats
            found[key] = Same(found[keys[named - 1]].first if named else key, None, answer.replies)
    return found


def failures_in(same: Mapping[Key, Same]) -> tuple[Failure, ...]:
    """Return the failures to say whether a statement repeats another."""
    return tuple(one.failure for one in same.values() if one.failure is not None)


def group_repeats(cited: Iterable[C], same: Mapping[Key, Same]) -> dict[Key, list[C]]:
    """Return the statements that say the same together, in order. Those without an answer are known by their words."""
    groups: dict[Key, list[C]] = {}
    for one in cited:
        groups.setdefault(_same(one, same).first, []).append(one)
    return groups


def repeats_in(
    cited: Iterable[C], groups: Mapping[Key, Sequence[C]], same: Mapping[Key, Same]
) -> Iterator[Repeat]:
    """Yield all statements but the first of each group, in order."""
    firsts = {id(group[0]) for group in groups.values()}
    for one in cited:
        if id(one) in firsts:
            continue
        found = _same(one, same)
        yield Repeat(
            statement=one.statement,
            url=one.url,
            sentence=one.sentence,
            key=one.key,
            of=groups[found.first][0].statement,
            replies=() if found.first == key_of(one) else found.replies,
        )


def _same(one: Cited, same: Mapping[Key, Same]) -> Same:
    key = key_of(one)
    return same.get(key, Same(key))
