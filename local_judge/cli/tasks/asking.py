"""Drafting by a judge for the tasks without a row, and how many got one."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from local_judge.base.errors import plain
from local_judge.base.failures import Failure
from local_judge.cli.ending import stoppable
from local_judge.cli.judging import OneJudge
from local_judge.cli.options import AsJson
from local_judge.cli.output import print_json
from local_judge.reporting.progress import RunProgress
from local_judge.tasks.drafting import Drafts, draft_all, waiting
from local_judge.tasks.load import load_tasks
from local_judge.tasks.model import Task
from local_judge.tasks.rowfile import R, RowFile


@dataclass(frozen=True, kw_only=True)
class DraftOptions(OneJudge):
    """Tasks, the judge to ask about them, and the file for its answers."""

    tasks: Annotated[
        Path,
        typer.Argument(
            help="Tasks: a JSONL file, LiveResearchBench's dataset (CSV or JSONL), or a folder in DEER's layout."
        ),
    ]
    out: Annotated[
        Path, typer.Option("--out", help="Write the answers to this file; the same command continues it.")
    ]
    open_dates: Annotated[
        bool,
        typer.Option(
            "--open-dates", help="Use the dataset's questions that leave the date open, for `run --date`."
        ),
    ] = False
    as_json: AsJson = False


@dataclass(frozen=True)
class Outcome:
    """Number of tasks with and without an answer, and failures."""

    n_tasks: int
    n_asked: int
    failed: Sequence[tuple[Task, Failure]]


def leave_drafts(
    what: str,
    outcome: Outcome,
    options: DraftOptions,
    *,
    lines: Sequence[str] = (),
    data: Mapping[str, Any] | None = None,
) -> None:
    """Print how many tasks got a row and which failed, and end with exit code 3 if any failed.

    Args:
        what: name of a row.
        outcome: counts and failures.
        options: options of the command.
        lines: further lines, printed first.
        data: what the lines say, for JSON output.
    """
    written, had = outcome.n_asked - len(outcome.failed), outcome.n_tasks - outcome.n_asked
    if options.as_json:
        failed = [{"task": task.id, **failure.model_dump(mode="json")} for task, failure in outcome.failed]
        counts = {"written": written, "already_there": had, "failed": failed}
        print_json({"file": str(options.out), **counts, **(data or {})})
    else:
        for line in lines:
            print(line)
        print(f"{written} drafted, {had} had {what}, {len(outcome.failed)} failed: {options.out}")
    for task, failure in outcome.failed:
        sys.stderr.write(plain(f"task {task.id}: {failure.kind}: {failure.detail}") + "\n")
    if outcome.failed:
        raise SystemExit(3)


def ask_about(options: DraftOptions, file: RowFile[R], drafts: Drafts[R]) -> Outcome:
    """Let a judge write the rows that `file` lacks."""
    tasks = list(load_tasks(options.tasks, open_dates=options.open_dates).values())
    n_asked = len(waiting(drafts, tasks, file))
    failed: list[tuple[Task, Failure]] = []
    if n_asked:
        ledger = options.ledger_beside(file.path)

        async def drafted() -> list[tuple[Task, Failure]]:
            async with options.open(options.spec(), ledger) as judge:
                with RunProgress(judge, n_asked, unit="tasks") as progress:
                    return await draft_all(drafts, tasks, file, judge, done=progress.one_done)

        with stoppable(ledger):
            failed = asyncio.run(drafted())
    return Outcome(len(tasks), n_asked, failed)
