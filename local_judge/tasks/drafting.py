"""What a judge writes for all tasks that have none of it, into a file, and what the questions for it have in common.

Invariant: a row is in the file as soon as it is made; a task that has a row there, whatever its status, is not asked
about again, and no row is written over; what failed is no row.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Annotated, Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field, create_model

from indexes.text.language import detect_language
from local_judge.judge.failures import Failure, FailureKind
from local_judge.judge.judge import Judge
from local_judge.judge.layout import Prompt, fence, load_prompt
from local_judge.tasks.languages import language_name
from local_judge.tasks.model import Task
from local_judge.tasks.rowfile import R, RowFile

template = partial(load_prompt, "local_judge.tasks")
"""The text of a prompt by its name."""

UNREADABLE: tuple[FailureKind, ...] = ("truncated", "invalid_reply")
"""Failures of one question, as opposed to those of the engine: a shorter question may still be answered."""

Write = Callable[[Task, Judge], Awaitable[R | Failure]]
"""Asks a judge for a task's row."""


@dataclass(frozen=True)
class Drafts(Generic[R]):
    """A kind of row that a judge writes for tasks."""

    write: Write[R]
    has: Callable[[Task], bool] = lambda task: False
    """Whether a task has come with what the row would hold."""
    at_once: int = 16
    """Tasks asked about at the same time."""


def waiting(drafts: Drafts[R], tasks: Sequence[Task], file: RowFile[R]) -> list[Task]:
    """The tasks that have nothing of the kind, of their own or in the file. Raises InputError."""
    found = file.found()
    return [task for task in tasks if not drafts.has(task) and found.of(task) is None]


async def draft_all(
    drafts: Drafts[R],
    tasks: Sequence[Task],
    file: RowFile[R],
    judge: Judge,
    done: Callable[[], None] = lambda: None,
) -> list[tuple[Task, Failure]]:
    """Write rows for those of `tasks` that are `waiting`; what failed, in order of the tasks.

    Args:
        drafts: what is written, and how.
        tasks: all of them; the file is written in their order.
        file: where the rows go.
        judge: who is asked.
        done: called for each task that is finished.

    Raises:
        InputError: the file cannot be read or written.
        IndexesError, LedgerError, EngineError: what concerns all tasks alike.
    """
    order = {task.id: place for place, task in enumerate(tasks)}
    gate = asyncio.Semaphore(drafts.at_once)
    await judge.engine.identity()  # an engine that is not there concerns all tasks alike

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
    """What a judge answers, or a part of it."""

    model_config = ConfigDict(frozen=True, extra="forbid")


M = TypeVar("M", bound=Reply)


def limited(reply: type[M], item: Any, most: int, least: int | None = None) -> type[M]:
    """A type of replies whose one field is a list, with so many of `item` in it."""
    return _limited(reply, item, most, least)


@cache
def _limited(reply: Any, item: Any, most: int, least: int | None) -> Any:
    [name] = reply.model_fields
    listed: Any = Annotated[list[item], Field(min_length=least, max_length=most)]
    fields: dict[str, Any] = {name: (listed, ...)}
    return create_model(reply.__name__, __base__=reply, **fields)


def shared_prompt(prefix: str, shared: str, *own: str) -> Prompt:
    """A prompt of blocks of which the first is shared; `prefix`: of the key under which it is."""
    key = hashlib.sha256(shared.encode()).hexdigest()[:16]
    return Prompt(shared=shared, own="\n\n".join(own), prefix_key=f"{prefix}:{key}")


def request_block(task: Task) -> str:
    """The task's request as a judge is shown it."""
    return fence(task.prompt, "Request:")


def language_of(task: Task) -> str:
    """The name of the language of a task's request, for prompts."""
    return language_name(detect_language(task.prompt))


def one_line(text: str) -> str:
    """A text of a judge on one line."""
    return " ".join(text.split())


def failed_at(failure: Failure, what: str) -> Failure:
    """A failure that says what of a draft it concerns."""
    return failure.model_copy(update={"detail": f"{what}: {failure.detail}"})
