"""Requests to a judge that are repeated: lists whose missing items are asked for again, and texts with faults.

Invariants: a list has at most `n` items, no two with the same text apart from case and white space; items of earlier
replies keep their places; with fewer than `n` items there is a failure that reports it. A text with a fault is returned
with its last fault and never used as a request. The same ledger gives the same items.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import partial
from importlib.resources import files
from typing import Annotated, Generic, NamedTuple, TypeVar

from pydantic import Field

from local_judge.base.failures import Failure
from local_judge.judge.judge import Judge
from local_judge.prompts import Prompt, fence, fill, load_prompt, shared_prompt
from local_judge.tasks.drafting import UNREADABLE, Reply, limited

template = partial(load_prompt, "local_judge.lab.task_construction")
"""Text of a prompt by its name."""
laid_out = partial(shared_prompt, "build")
"""Prompt about a block that other prompts of the build share."""

REQUEST_TOKENS = 600

T = TypeVar("T", bound=Reply)


class Kind(NamedTuple, Generic[T]):
    """A kind of item that is asked for in lists."""

    reply: type[Reply]
    """Reply whose one field is the list."""
    item: type[T]
    text: Callable[[T], str]
    """Text that no two items share."""
    tokens: int
    """Maximum tokens of one item in a reply."""


class Gathered(NamedTuple, Generic[T]):
    """Items of one list."""

    items: tuple[T, ...]
    replies: tuple[tuple[str, ...], ...]
    """Ledger keys for each item: of the replies up to the one that contains it."""
    failure: Failure | None
    """Reason for missing items."""


class RequestReply(Reply):
    """A task as the judge writes it."""

    request: Annotated[str, Field(min_length=20, max_length=2000)]


class Requested(NamedTuple):
    """A request with its fault."""

    request: str
    fault: str | None
    replies: tuple[str, ...]
    """Ledger keys of all attempts."""


async def gather(
    judge: Judge, kind: Kind[T], n: int, prompt: Callable[[Sequence[T], int], Prompt]
) -> Gathered[T]:
    """Ask for `n` items, then for the missing ones, until there are `n` or replies bring no new ones.

    Stops after `reasks` replies without a new item, and at a failure of the engine.

    Args:
        judge: Judge to ask.
        kind: Kind of the items.
        n: Number of items.
        prompt: Makes the prompt from the items so far and the number of items wanted in addition.

    Raises:
        LedgerError: A reply could not be stored.
    """
    [key] = kind.reply.model_fields
    items: list[T] = []
    keys: list[str] = []
    replies: list[tuple[str, ...]] = []
    failure: Failure | None = None
    draw = idle = 0
    alone = False
    while len(items) < n and idle <= judge.settings.reasks:
        # An unreadable reply may have had too many items.
        wanted = 1 if alone else n - len(items)
        reply = limited(kind.reply, kind.item, wanted, 1)
        answer = await judge.ask(prompt(items, wanted), reply, draw=draw, max_tokens=wanted * kind.tokens)
        draw += 1
        if isinstance(answer, Failure):
            failure, alone = answer, True
            if answer.kind not in UNREADABLE:
                break
            idle += 1
            continue
        failure = None  # the failure of an earlier reply is not the reason for missing items
        keys += answer.replies
        fresh = _fresh(kind, items, getattr(answer.value, key))
        items += fresh[:wanted]
        replies += [tuple(keys)] * len(fresh[:wanted])
        idle = 0 if fresh else idle + 1
    if len(items) < n and failure is None:
        detail = f"reply {keys[-1][:12]}: {len(items)} different {key} of {n}"
        failure = Failure(kind="incomplete", detail=detail, attempts=draw)
    return Gathered(tuple(items), tuple(replies), failure if len(items) < n else None)


def standing(listed: Sequence[str]) -> str:
    """Return the items so far, for a prompt that asks for more; empty without items."""
    if not listed:
        return ""
    return fill(template("standing"), {"listed": fence("\n".join(listed), "These stand:")}) + "\n"


def folded(text: str) -> str:
    """Return a text in lower case, with single blanks."""
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


async def request(
    judge: Judge, prompt: Callable[[str], Prompt], fault_of: Callable[[str], str | None]
) -> Requested | Failure:
    """Ask for a request, and again while it has a fault, up to the judge's `reasks`.

    Args:
        judge: Judge to ask.
        prompt: Makes the prompt from a paragraph on the previous text; empty at first.
        fault_of: Returns the fault of a text as a sentence; None if it has none.

    Raises:
        LedgerError: A reply could not be stored.
    """
    replies: list[str] = []
    said, text, fault = "", "", None
    for draw in range(judge.settings.reasks + 1):
        answer = await judge.ask(prompt(said), RequestReply, draw=draw, max_tokens=REQUEST_TOKENS)
        if isinstance(answer, Failure):
            return answer
        replies += answer.replies
        text = answer.value.request.strip()
        fault = fault_of(text)
        if fault is None:
            break
        said = f"\n{fence(text, 'This was written before, and cannot be used:')}\n{fault}\n"
    return Requested(text, fault, tuple(replies))


def prompts_digest() -> str:
    """Return the SHA-256 of the names and texts of all prompts of a build, including the one of `tasks draft need`."""
    folder = files("local_judge.lab.task_construction").joinpath("prompts")
    texts = {entry.name: entry.read_bytes() for entry in folder.iterdir() if entry.name.endswith(".md")}
    texts["need.md"] = load_prompt("local_judge.tasks", "need").encode()
    found = hashlib.sha256()
    for name in sorted(texts):
        found.update(name.encode() + b"\0" + texts[name] + b"\0")
    return found.hexdigest()
