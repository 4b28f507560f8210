"""The commands that ask a judge about tasks: about those that have no answer yet. They say how it ended."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from local_judge.cli.ending import stoppable
from local_judge.cli.options import BaseUrls, JudgeName, Offline
from local_judge.cli.tasks.options import OpenDates, OutPath, Replies, TasksPath
from local_judge.errors import plain
from local_judge.judge.failures import Failure
from local_judge.reporting.progress import RunProgress
from local_judge.runs.judges import open_judge
from local_judge.tasks.drafting import Drafts, draft_all, waiting
from local_judge.tasks.load import load_tasks
from local_judge.tasks.model import Task
from local_judge.tasks.rowfile import R, RowFile
from serving.presets import load_preset

Command = Callable[..., None]


@dataclass(frozen=True)
class Asked:
    """Who is asked, and about which form of a dataset, as the options say."""

    judge: str
    base_urls: Sequence[str]
    ledger: Path | None
    offline: bool
    open_dates: bool


@dataclass(frozen=True)
class Outcome:
    """What became of a file of tasks."""

    n_tasks: int
    n_asked: int
    failed: Sequence[tuple[Task, Failure]]


def asking_command(
    file: Callable[[Path], RowFile[R]],
    drafts: Drafts[R],
    one: str,
    help: str,
    done: str = "drafted",
    say: Callable[[Iterable[R]], None] = lambda rows: None,
) -> Command:
    """A command that lets a judge write rows, without options of its own.

    Args:
        file: opens what is written.
        drafts: how it is written.
        one: what a task has then, in words.
        help: of the command.
        done: what was done with a task.
        say: prints what else there is to say of all rows.
    """

    def command(
        tasks: TasksPath,
        judge: JudgeName,
        out: OutPath,
        base_url: BaseUrls = None,
        open_dates: OpenDates = False,
        ledger: Replies = None,
        offline: Offline = True,
    ) -> None:
        written = file(out)
        asked = Asked(judge, base_url or (), ledger, offline, open_dates)
        outcome = ask_about(tasks, written, drafts, asked)
        say(written.rows().values())
        leave_drafts(one, outcome, out, done)

    command.__doc__ = help
    return command


def leave_drafts(what: str, outcome: Outcome, out: Path, done: str = "drafted") -> None:
    """Say what was written for tasks, name what failed, and end with 3 if something did."""
    written, had = outcome.n_asked - len(outcome.failed), outcome.n_tasks - outcome.n_asked
    print(f"{written} {done}, {had} had {what}, {len(outcome.failed)} failed: {out}")
    for task, failure in outcome.failed:
        sys.stderr.write(plain(f"task {task.id}: {failure.kind}: {failure.detail}") + "\n")
    if outcome.failed:
        raise SystemExit(3)


def ask_about(tasks: Path, file: RowFile[R], drafts: Drafts[R], asked: Asked) -> Outcome:
    """Let a judge write the rows of `file` that the tasks of a file lack."""
    given = list(load_tasks(tasks, open_dates=asked.open_dates).values())
    n_asked = len(waiting(drafts, given, file))
    failed: list[tuple[Task, Failure]] = []
    if n_asked:
        replies = asked.ledger or file.path.with_suffix(".ledger.sqlite")
        with stoppable(replies):
            failed = asyncio.run(_ask(given, n_asked, file, drafts, asked, replies))
    return Outcome(len(given), n_asked, failed)


async def _ask(
    tasks: Sequence[Task], n_asked: int, file: RowFile[R], drafts: Drafts[R], asked: Asked, ledger: Path
) -> list[tuple[Task, Failure]]:
    async with open_judge(
        load_preset(asked.judge),
        base_urls=asked.base_urls,
        ledger=ledger,
        reasks=2,
        only_engine=asked.offline,
    ) as judge:
        with RunProgress(judge, n_asked, unit="tasks") as progress:
            return await draft_all(drafts, tasks, file, judge, done=progress.one_done)
