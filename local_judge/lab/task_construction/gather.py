"""As many different items as are asked for: what a reply lacks is asked for again.

Invariants: no more than `n` items, no two with the same text but for case and white space; the items of earlier replies
stay in their places; where there are fewer than `n`, there is a failure that says so. The same ledger gives the same
items.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Annotated, Any, Generic, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, Field, create_model

from local_judge.judge.failures import Failure
from local_judge.judge.judge import Judge
from local_judge.judge.layout import Prompt, fence, fill, load_prompt
from local_judge.tasks.drafting import UNREADABLE

template = partial(load_prompt, "local_judge.lab.task_construction")


class Reply(BaseModel):
    """What a judge writes."""

    model_config = ConfigDict(frozen=True, extra="forbid")


T = TypeVar("T", bound=Reply)


class Kind(NamedTuple, Generic[T]):
    """What is gathered."""

    key: str
    """Of the list in the reply."""
    item: type[T]
    text: Callable[[T], str]
    """What no two share."""
    tokens: int
    """Of one item in a reply, at most."""


class Gathered(NamedTuple, Generic[T]):
    """What came of it."""

    items: tuple[T, ...]
    replies: tuple[tuple[str, ...], ...]
    """Ledger keys, for each item of the replies up to the one that holds it."""
    failure: Failure | None
    """Where there are fewer items than were asked for."""


async def gather(
    judge: Judge, kind: Kind[T], n: int, prompt: Callable[[Sequence[T], int], Prompt]
) -> Gathered[T]:
    """Ask for `n` items, then for those that are missing, until all are there or asking has stopped to help.

    It stops after `reasks` replies that brought nothing new, and at a failure of the engine.

    Args:
        judge: who is asked.
        kind: what for.
        n: how many.
        prompt: the question, by the items that stand and how many are wanted beside them.

    Raises:
        LedgerError: a reply could not be stored.
    """
    items: list[T] = []
    keys: list[str] = []
    replies: list[tuple[str, ...]] = []
    failure: Failure | None = None
    draw = idle = 0
    alone = False
    while len(items) < n and idle <= judge.settings.reasks:
        # What cannot be read may have been too much at once.
        wanted = 1 if alone else n - len(items)
        answer = await judge.ask(
            prompt(items, wanted), _list_of(kind, wanted), draw=draw, max_tokens=wanted * kind.tokens
        )
        draw += 1
        if isinstance(answer, Failure):
            failure, alone = answer, True
            if answer.kind not in UNREADABLE:
                break
            idle += 1
            continue
        failure = None  # what was said of an earlier reply is not why items are missing
        keys += answer.replies
        fresh = _fresh(kind, items, getattr(answer.value, kind.key))
        items += fresh[:wanted]
        replies += [tuple(keys)] * len(fresh[:wanted])
        idle = 0 if fresh else idle + 1
    if len(items) == n:
        return Gathered(tuple(items), tuple(replies), None)
    if failure is None:
        detail = f"reply {keys[-1][:12]}: {len(items)} different {kind.key} of {n}"
        failure = Failure(kind="incomplete", detail=detail, attempts=draw)
    return Gathered(tuple(items), tuple(replies), failure)


def standing(listed: Sequence[str]) -> str:
    """What stands already, for a prompt that asks for more; empty where nothing does."""
    if not listed:
        return ""
    return fill(template("standing"), {"listed": fence("\n".join(listed), "These stand:")}) + "\n"


def folded(text: str) -> str:
    """A text without regard to case and white space."""
    return " ".join(text.casefold().split())


def _fresh(kind: Kind[T], items: Sequence[T], given: Sequence[T]) -> list[T]:
    seen = {folded(kind.text(item)) for item in items}
    fresh: list[T] = []
    for item in given:
        text = folded(kind.text(item))
        if any(map(str.isalnum, text)) and text not in seen:
            seen.add(text)
            fresh.append(item)
    return fresh


@cache
def _list_of(kind: Kind[T], most: int) -> type[Reply]:
    items: Any = Annotated[list[kind.item], Field(min_length=1, max_length=most)]
    fields: dict[str, Any] = {kind.key: (items, ...)}
    return create_model("Listed", __base__=Reply, **fields)
