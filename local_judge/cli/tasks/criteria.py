"""`local-judge tasks criteria`: what the reports on a task are compared by."""

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
from local_judge.reporting.criteria import criteria_table, criteria_view
from local_judge.tasks.criteria import criteria_file
from local_judge.tasks.criteria_draft import CRITERIA_DRAFTS

app = typer.Typer(help="What the reports on a task are compared by.", no_args_is_help=True)
SHOWN = Shown("criteria", criteria_table, criteria_view, ".yaml")


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
    """Let the judge draft weights and criteria for the tasks that have none."""
    asked = Asked(judge, base_url or (), ledger, offline, open_dates)
    leave_drafts("criteria", ask_about(tasks, criteria_file(out), CRITERIA_DRAFTS, asked), out)


@app.command()
def show(file: FilePath, task: OneTask = None, as_json: AsJson = False) -> None:
    """Print a criteria file: a table of its tasks, and with --task all of one."""
    show_rows(criteria_file(file), SHOWN, task, as_json)


@app.command()
def review(
    file: FilePath,
    reviewer: Reviewer,
    task: OneTask = None,
    accept: Accept = False,
    reject: Reject = False,
    edit: Edit = False,
) -> None:
    """Decide on drafted criteria: accept, edit (as YAML), reject. Each decision is kept at once.

    Without --task, all drafts that wait for a decision; with it, that task's criteria, also if they were decided on.
    """
    review_rows(criteria_file(file), SHOWN, reviewer, task, decision_of(accept, reject, edit))
