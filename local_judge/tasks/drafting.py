"""What a judge writes for all tasks that have none of it, into a file.

Invariant: a row is in the file as soon as it is made; a task that has a row there, whatever its status, is not asked
about again, and no row is written over; what failed is no row.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic

from local_judge.judge.failures import Failure, FailureKind
from local_judge.judge.judge import Judge
from local_judge.tasks.model import Task
from local_judge.tasks.rowfile import R, RowFile
from serving.types import EngineIdentity

UNREADABLE: tuple[FailureKind, ...] = ("truncated", "invalid_reply")
"""Failures of one question, as opposed to those of the engine: a shorter question may still be answered."""


@dataclass(frozen=True)
class Drafts(Generic[R]):
    """A kind of row that a judge writes for tasks."""

    write: Callable[[Task, Judge, EngineIdentity], Awaitable[R | Failure]]
    """Asks the judge, which has this identity."""
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
        done: told of each task that is finished.

    Raises:
        InputError: the file cannot be read or written.
        IndexesError, LedgerError, EngineError: what concerns all tasks alike.
    """
    order = {task.id: place for place, task in enumerate(tasks)}
    identity = await judge.engine.identity()
    gate = asyncio.Semaphore(drafts.at_once)

    async def one(task: Task) -> Failure | None:
        async with gate:
            row = await drafts.write(task, judge, identity)
        done()
        if isinstance(row, Failure):
            return row
        file.add(row, order)
        return None

    asked = waiting(drafts, tasks, file)
    ended = await asyncio.gather(*(one(task) for task in asked))
    return [(task, failure) for task, failure in zip(asked, ended, strict=True) if failure is not None]
