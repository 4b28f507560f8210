"""Criteria for all tasks that have none, into a file.

Invariant: a draft is in the file as soon as it is made; a task that has a row there, whatever its status, is not
drafted again, and no row is written over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from local_judge.judge.failures import Failure
from local_judge.judge.judge import Judge
from local_judge.rows import alone, write_jsonl
from local_judge.tasks.criteria import CriteriaRow, read_rows
from local_judge.tasks.criteria_draft import draft_criteria, drafted_row
from local_judge.tasks.joining import Keyed, Rows
from local_judge.tasks.model import Task

IN_FLIGHT = 8
"""Tasks drafted at the same time, with nine calls each."""


class CriteriaFile:
    """A criteria file that several commands may write at the same time."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def rows(self) -> Rows[CriteriaRow]:
        """What it holds now; nothing where there is no such file. Raises InputError."""
        rows = read_rows(self.path) if self.path.exists() else []
        return Rows([Keyed(place, str(row.id), row.prompt, row) for place, row in rows])

    def add(self, task: Task, row: CriteriaRow, order: Mapping[str, int]) -> bool:
        """Put the row of `task` in, unless the task has one; rows are written in the `order` of their tasks' ids.

        Returns:
            Whether it was put in.
        """
        with alone(self.path):
            rows = self.rows()
            if rows.of(task) is not None:
                return False
            every = [*(entry.value for entry in rows.rows), row]
            every.sort(key=lambda one: order.get(str(one.id), len(order)))
            write_jsonl(self.path, every)
        return True


def waiting(tasks: Sequence[Task], file: CriteriaFile) -> list[Task]:
    """The tasks that the file has no criteria for. Raises InputError."""
    rows = file.rows()
    return [task for task in tasks if rows.of(task) is None]


async def draft_all(
    tasks: Sequence[Task],
    file: CriteriaFile,
    judge: Judge,
    done: Callable[[], None] = lambda: None,
) -> list[tuple[Task, Failure]]:
    """Draft criteria for those of `tasks` that are `waiting`; what failed, in order of the tasks.

    Raises:
        InputError: the file cannot be read or written.
        LedgerError, EngineError: what concerns all tasks alike.
    """
    order = {task.id: place for place, task in enumerate(tasks)}
    identity = await judge.engine.identity()
    gate = asyncio.Semaphore(IN_FLIGHT)

    async def one(task: Task) -> Failure | None:
        async with gate:
            draft = await draft_criteria(task, judge)
        failure = draft if isinstance(draft, Failure) else None
        if not isinstance(draft, Failure):
            file.add(task, drafted_row(task, draft, identity), order)
        done()
        return failure

    asked = waiting(tasks, file)
    ended = await asyncio.gather(*(one(task) for task in asked))
    return [(task, failure) for task, failure in zip(asked, ended, strict=True) if failure is not None]
