"""`local-judge tasks guidance`: what a good report on a task must do."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from indexes.snapshot import Snapshot
from local_judge.cli.options import AsJson, BaseUrls, JudgeName, Offline
from local_judge.cli.tasks.asking import Asked, ask_about, leave_drafts
from local_judge.cli.tasks.options import (
    Accept,
    Edit,
    FilePath,
    OneTask,
    OpenDates,
    OutPath,
    Reject,
    Replies,
    Reviewer,
    TasksPath,
)
from local_judge.cli.tasks.reviewing import Shown, decision_of, review_rows, show_rows
from local_judge.reporting.tasks import guidance_table, guidance_view
from local_judge.tasks.guidance import guidance_file
from local_judge.tasks.guidance_draft import DraftSettings, guidance_drafts

app = typer.Typer(help="What a good report on a task must do.", no_args_is_help=True)
SHOWN = Shown("guidance", guidance_table, guidance_view, ".md")


@app.command()
def draft(
    tasks: TasksPath,
    judge: JudgeName,
    out: OutPath,
    base_url: BaseUrls = None,
    snapshot: Annotated[
        Path | None, typer.Option("--snapshot", help="Search this snapshot for what bears on a task.")
    ] = None,
    evidence_tokens: Annotated[
        int, typer.Option("--evidence-tokens", min=0, help="Passages shown to the judge, together.")
    ] = DraftSettings().evidence_tokens,
    points: Annotated[
        int,
        typer.Option("--points", min=1, max=30, help="The most points; a small judge does better with few."),
    ] = DraftSettings().points,
    open_dates: OpenDates = False,
    ledger: Replies = None,
    offline: Offline = True,
) -> None:
    """Let the judge draft guidance for the tasks that have none."""
    settings = DraftSettings(evidence_tokens=evidence_tokens, points=points)
    drafts = guidance_drafts(Snapshot.open(snapshot) if snapshot else None, settings)
    asked = Asked(judge, base_url or (), ledger, offline, open_dates)
    leave_drafts("guidance", ask_about(tasks, guidance_file(out), drafts, asked), out)


@app.command()
def show(file: FilePath, task: OneTask = None, as_json: AsJson = False) -> None:
    """Print a guidance file: a table of its tasks, and with --task all of one."""
    show_rows(guidance_file(file), SHOWN, task, as_json)


@app.command()
def review(
    file: FilePath,
    reviewer: Reviewer,
    task: OneTask = None,
    accept: Accept = False,
    reject: Reject = False,
    edit: Edit = False,
) -> None:
    """Decide on drafted guidance: accept, edit, reject. Each decision is kept at once.

    Without --task, all drafts that wait for a decision; with it, that task's guidance, also if it was decided on.
    """
    review_rows(guidance_file(file), SHOWN, reviewer, task, decision_of(accept, reject, edit))
