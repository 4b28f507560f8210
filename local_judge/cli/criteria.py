"""`local-judge tasks criteria`: what the reports on a task are compared by."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from local_judge.cli.ending import leave_drafts, stoppable
from local_judge.cli.options import BaseUrls, JudgeName, Offline
from local_judge.judge.failures import Failure
from local_judge.reporting.progress import RunProgress
from local_judge.runs.session import open_judge
from local_judge.tasks.criteria_drafting import CriteriaFile, draft_all, waiting
from local_judge.tasks.load import load_tasks
from local_judge.tasks.model import Task
from serving.presets import Preset, load_preset

app = typer.Typer(help="What the reports on a task are compared by.", no_args_is_help=True)


@app.callback()
def criteria() -> None:
    """What the reports on a task are compared by."""


@app.command()
def draft(
    tasks: Annotated[Path, typer.Argument(help="A JSONL file of tasks, or a folder in DEER's layout.")],
    judge: JudgeName,
    out: Annotated[Path, typer.Option("--out", help="The criteria file; the same command continues it.")],
    base_url: BaseUrls = None,
    ledger: Annotated[
        Path | None, typer.Option("--ledger", help="Keep the judge's replies here instead of beside --out.")
    ] = None,
    offline: Offline = True,
) -> None:
    """Let the judge draft weights and criteria for the tasks that have none."""
    given = list(load_tasks(tasks).values())
    file = CriteriaFile(out)
    asked = waiting(given, file)
    failed: list[tuple[Task, Failure]] = []
    if asked:
        preset = load_preset(judge)
        replies = ledger or out.with_suffix(".ledger.sqlite")
        with stoppable(replies):
            failed = asyncio.run(_draft(given, file, preset, base_url or (), replies, offline))
    leave_drafts("criteria", len(given), len(asked), failed, out)


async def _draft(
    tasks: Sequence[Task],
    file: CriteriaFile,
    preset: Preset,
    base_urls: Sequence[str],
    ledger: Path,
    offline: bool,
) -> list[tuple[Task, Failure]]:
    async with open_judge(preset, base_urls=base_urls, ledger=ledger, reasks=2, only_engine=offline) as judge:
        with RunProgress(judge, len(waiting(tasks, file)), unit="tasks") as progress:
            return await draft_all(tasks, file, judge, done=progress.one_done)
