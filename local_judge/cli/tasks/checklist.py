"""`local-judge tasks checklist`: what a report on a task has to deliver."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from local_judge.cli.options import AsJson, BaseUrls, JudgeName, Offline
from local_judge.cli.output import print_json
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
from local_judge.reporting.checklists import checklist_table, checklist_view, finding_line, unchecked_lines
from local_judge.reporting.numbers import count
from local_judge.tasks.checklist_draft import CHECKLIST_DRAFTS
from local_judge.tasks.checklist_lint import RULES, Linted, lint_file
from local_judge.tasks.checklists import checklist_file

app = typer.Typer(help="What a report on a task has to deliver, item by item.", no_args_is_help=True)
SHOWN = Shown("checklist", checklist_table, checklist_view, ".txt")


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
    """Let the judge draft checklists for the tasks that have none."""
    asked = Asked(judge, base_url or (), ledger, offline, open_dates)
    leave_drafts("a checklist", ask_about(tasks, checklist_file(out), CHECKLIST_DRAFTS, asked), out)


@app.command()
def lint(
    file: Annotated[
        Path, typer.Argument(help="A checklist file, tasks with checklists, or LiveResearchBench's dataset.")
    ],
    tasks: Annotated[
        Path | None, typer.Option("--tasks", help="The tasks, where the file does not have their requests.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check checklists by rules that code can decide; ends with 1 if something breaks one."""
    found = lint_file(file, tasks)
    n_findings = sum(len(linted.findings) for linted in found.values())
    if as_json:
        print_json(_as_json(found))
    else:
        for task, linted in found.items():
            for finding in linted.findings:
                print(finding_line(task, finding))
        print(f"{count(n_findings, 'finding')} in {count(len(found), 'checklist')}")
        print(f"rules: {', '.join(RULES)}")
        for line in unchecked_lines({task: linted.unchecked for task, linted in found.items()}, "checklist"):
            print(line)
    if n_findings:
        raise SystemExit(1)


@app.command()
def show(file: FilePath, task: OneTask = None, as_json: AsJson = False) -> None:
    """Print a checklist file: a table of its tasks, and with --task all of one, with what is wrong with it."""
    show_rows(checklist_file(file), SHOWN, task, as_json)


@app.command()
def review(
    file: FilePath,
    reviewer: Reviewer,
    task: OneTask = None,
    accept: Accept = False,
    reject: Reject = False,
    edit: Edit = False,
) -> None:
    """Decide on drafted checklists: accept, edit (one item a line), reject. Each decision is kept at once.

    Without --task, all drafts that wait for a decision; with it, that task's checklist, also if it was decided on.
    """
    review_rows(checklist_file(file), SHOWN, reviewer, task, decision_of(accept, reject, edit))


def _as_json(found: Mapping[str, Linted]) -> dict[str, object]:
    return {
        "rules": {name: {"hard": rule.hard, "says": rule.says} for name, rule in RULES.items()},
        "checklists": [{"task": task, **linted.model_dump(mode="json")} for task, linted in found.items()],
    }
