"""Guidance for all tasks that have none, into a file.

Invariant: a draft is in the file as soon as it is made; a task that has a row there, whatever its status, is not
drafted again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from indexes.snapshot import Snapshot
from local_judge.judge.failures import Failure
from local_judge.judge.judge import Judge
from local_judge.tasks.draft import DraftSettings, draft_guidance, drafted_row, open_corpus
from local_judge.tasks.guidance import GuidanceFile
from local_judge.tasks.model import Task

IN_FLIGHT = 16
"""Tasks drafted at the same time."""


def waiting(tasks: Sequence[Task], file: GuidanceFile) -> list[Task]:
    """The tasks that have guidance neither of their own nor in the file. Raises InputError."""
    rows = file.rows()
    return [task for task in tasks if task.guidance is None and task.id not in rows]


async def draft_all(
    tasks: Sequence[Task],
    file: GuidanceFile,
    snapshot: Snapshot | None,
    judge: Judge,
    settings: DraftSettings,
    done: Callable[[], None] = lambda: None,
) -> list[tuple[Task, Failure]]:
    """Draft guidance for those of `tasks` that are `waiting`; what failed, in order of the tasks.

    Args:
        tasks: all of them; the file is written in their order.
        file: where the drafts go.
        snapshot: where passages are searched for; None leaves the judge to the requests alone.
        judge: who drafts.
        settings: how.
        done: told of each task that is finished.

    Raises:
        InputError: the file cannot be read or written.
        IndexesError, LedgerError, EngineError: what concerns all tasks alike.
    """
    order = {task.id: place for place, task in enumerate(tasks)}
    corpus = open_corpus(snapshot)
    identity = await judge.engine.identity()
    gate = asyncio.Semaphore(IN_FLIGHT)

    async def one(task: Task) -> Failure | None:
        async with gate:
            draft = await draft_guidance(task, corpus, judge, settings)
        if not isinstance(draft, Failure):
            digest = None if snapshot is None else snapshot.digest
            file.add(drafted_row(task, draft, identity, digest), order)
        done()
        return draft if isinstance(draft, Failure) else None

    asked = waiting(tasks, file)
    ended = await asyncio.gather(*(one(task) for task in asked))
    return [(task, failure) for task, failure in zip(asked, ended, strict=True) if failure is not None]
