"""Drafting of guidance, criteria and other rows by a judge, and the parts that its prompts share.

Invariant: a row is in the file as soon as it is made; a task with a row there, whatever its status, is not asked about
again, and no row is replaced; a failure writes no row.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Annotated, Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field, create_model

from indexes.text.language import detect_language
from local_judge.base.failures import Failure, FailureKind
from local_judge.judge.judge import Judge
from local_judge.ledger.requests import sha256
from local_judge.prompts import Prompt, fence, load_prompt
from local_judge.tasks.model import Task
from local_judge.tasks.rowfile import R, RowFile

template = partial(load_prompt, "local_judge.tasks")
"""Load the text of a prompt by its name."""

UNREADABLE: tuple[FailureKind, ...] = ("truncated", "invalid_reply")
"""Failures of one question, not of the engine; a shorter question may still be answered."""

Write = Callable[[Task, Judge], Awaitable[R | Failure]]
"""Function that asks a judge for a task's row."""


@dataclass(frozen=True)
class Drafts(Generic[R]):
    """Kind of row that a judge writes for tasks."""

    write: Write[R]
    has: Callable[[Task], bool] = lambda task: False
    """Check whether a task already comes with the content of a row."""
    at_once: int = 16
    """Number of tasks asked about concurrently."""


def waiting(drafts: Drafts[R], tasks: Sequence[Task], file: RowFile[R]) -> list[Task]:
    """Return the tasks without such content of their own and without a row in the file. Raises InputError."""
    found = file.found()
    return [task for task in tasks if not drafts.has(task) and found.of(task) is None]


async def draft_all(
    drafts: Drafts[R],
    tasks: Sequence[Task],
    file: RowFile[R],
    judge: Judge,
    done: Callable[[], None] = lambda: None,
) -> list[tuple[Task, Failure]]:
    """Write rows for the tasks that are `waiting`, and return those that failed, in the order of the tasks.

    Args:
        drafts: kind of row.
        tasks: all tasks; the file is written in their order.
        file: file of the rows.
        judge: the judge.
        done: called for each finished task.

    Raises:
        InputError: the file cannot be read or written.
        IndexesError, LedgerError, EngineError: an error that affects all tasks.
    """
    order = {task.id: place for place, task in enumerate(tasks)}
    gate = asyncio.Semaphore(drafts.at_once)
    await judge.engine.identity()  # an engine that cannot be reached fails all tasks

    async def one(task: Task) -> Failure | None:
        async with gate:
            row = await drafts.write(task, judge)
        done()
        if isinstance(row, Failure):
            return row
        file.add(row, order)
        return None

    asked = waiting(drafts, tasks, file)
    ended = await asyncio.gather(*(one(task) for task in asked))
    return [(task, failure) for task, failure in zip(asked, ended, strict=True) if failure is not None]


class Reply(BaseModel):
    """Reply of a judge, or a part of it."""

    model_config = ConfigDict(frozen=True, extra="forbid")


M = TypeVar("M", bound=Reply)


def limited(reply: type[M], item: Any, most: int, least: int | None = None) -> type[M]:
    """Return a reply type whose only field is a list of `least` to `most` values of type `item`."""
    return _limited(reply, item, most, least)


@cache
def _limited(reply: Any, item: Any, most: int, least: int | None) -> Any:
    [name] = reply.model_fields
    listed: Any = Annotated[list[item], Field(min_length=least, max_length=most)]
    fields: dict[str, Any] = {name: (listed, ...)}
    return create_model(reply.__name__, __base__=reply, **fields)


def shared_prompt(prefix: str, shared: str, *own: str) -> Prompt:
    """Return a prompt whose first block is shared; `prefix` begins the key of the shared block."""
    return Prompt(shared=shared, own="\n\n".join(own), prefix_key=f"{prefix}:{sha256(shared)[:16]}")


def request_block(task: Task) -> str:
    """Return a task's request as a judge sees it."""
    return fence(task.prompt, "Request:")


OWN = "the language of the request"
"""Text used for an unknown language; the judge sees the request."""

_CODES = "ar bn cs da de el en es fa fi fr he hi hu id it ja ko nl no pl pt ro ru sv th tr uk ur vi zh"
_NAMES = (
    "Arabic Bengali Czech Danish German Greek English Spanish Persian Finnish French Hebrew Hindi Hungarian Indonesian "
    "Italian Japanese Korean Dutch Norwegian Polish Portuguese Romanian Russian Swedish Thai Turkish Ukrainian Urdu "
    "Vietnamese Chinese"
)
_LANGUAGES: Mapping[str, str] = dict(zip(_CODES.split(), _NAMES.split(), strict=True))


def language_name(code: str) -> str:
    """Return the English name of a language by its ISO 639-1 code, or `OWN` if it is unknown."""
    return _LANGUAGES.get(code, OWN)


def language_of(task: Task) -> str:
    """Return the name of the language of a task's request, for prompts."""
    return language_name(detect_language(task.prompt))


def one_line(text: str) -> str:
    """Return a judge's text on one line."""
    return " ".join(text.split())


def failed_at(failure: Failure, what: str) -> Failure:
    """Return a failure whose detail names the part of the draft."""
    return failure.model_copy(update={"detail": f"{what}: {failure.detail}"})
