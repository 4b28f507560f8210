"""`local-judge tasks dimensions`: by what the reports on a task are judged, each for itself."""

from __future__ import annotations

import typer

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
from local_judge.reporting.dimensions import dimensions_table, dimensions_view
from local_judge.tasks.dimension_files import dimensions_file
from local_judge.tasks.dimensions_draft import DIMENSIONS_DRAFTS

app = typer.Typer(help="By what the reports on a task are judged, each for itself.", no_args_is_help=True)
SHOWN = Shown("dimensions", dimensions_table, dimensions_view, ".yaml")


@app.command()
def draft(
    tasks: TasksPath,
    judge: JudgeName,
    out: OutPath,
    base_url: BaseUrls = None,
    open_dates: OpenDates = False,
    ledger: Replies = None,
    offline: Offline = True,
) -> None:
    """Let the judge draft dimensions, weights and criteria for the tasks that have none."""
    asked = Asked(judge, base_url or (), ledger, offline, open_dates)
    leave_drafts("dimensions", ask_about(tasks, dimensions_file(out), DIMENSIONS_DRAFTS, asked), out)


@app.command()
def show(file: FilePath, task: OneTask = None, as_json: AsJson = False) -> None:
    """Print a dimensions file: a table of its tasks, and with --task all of one."""
    show_rows(dimensions_file(file), SHOWN, task, as_json)


@app.command()
def review(
    file: FilePath,
    reviewer: Reviewer,
    task: OneTask = None,
    accept: Accept = False,
    reject: Reject = False,
    edit: Edit = False,
) -> None:
    """Decide on drafted dimensions: accept, edit (as YAML), reject. Each decision is kept at once.

    Without --task, all drafts that wait for a decision; with it, that task's dimensions, also if they were decided on.
    """
    review_rows(dimensions_file(file), SHOWN, reviewer, task, decision_of(accept, reject, edit))
