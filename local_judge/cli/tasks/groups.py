"""`local-judge tasks guidance`, `criteria`, `dimensions` and `checklist`: what is written for tasks, kind by kind."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from indexes.snapshot import Snapshot
from local_judge.cli.options import AsJson, BaseUrls, JudgeName, Offline
from local_judge.cli.tasks.asking import Asked, Command, ask_about, asking_command, leave_drafts
from local_judge.cli.tasks.kinds import commands, leave_findings
from local_judge.cli.tasks.options import OpenDates, OutPath, Replies, TasksPath
from local_judge.cli.tasks.reviewing import Shown
from local_judge.reporting.checklists import checklist_table, checklist_view
from local_judge.reporting.drafts import (
    criteria_table,
    criteria_view,
    dimensions_table,
    dimensions_view,
    guidance_table,
    guidance_view,
)
from local_judge.tasks.checklist_draft import CHECKLIST_DRAFTS
from local_judge.tasks.checklist_lint import RULES, lint_file
from local_judge.tasks.checklists import CHECKLIST_KIND
from local_judge.tasks.criteria import CRITERIA_KIND
from local_judge.tasks.criteria_draft import CRITERIA_DRAFTS
from local_judge.tasks.dimension_files import DIMENSIONS_KIND
from local_judge.tasks.dimensions_draft import DIMENSIONS_DRAFTS
from local_judge.tasks.drafting import Drafts
from local_judge.tasks.guidance import GUIDANCE_KIND
from local_judge.tasks.guidance_draft import DraftSettings, guidance_drafts
from local_judge.tasks.kinds import Kind
from local_judge.tasks.review import D


def draft_guidance(
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
    leave_drafts("guidance", ask_about(tasks, GUIDANCE_KIND.file(out), drafts, asked), out)


def lint_checklists(
    file: Annotated[
        Path, typer.Argument(help="A checklist file, tasks with checklists, or LiveResearchBench's dataset.")
    ],
    tasks: Annotated[
        Path | None, typer.Option("--tasks", help="The tasks, where the file does not have their requests.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check checklists by rules that code can decide; ends with 1 if something breaks one."""
    leave_findings(CHECKLIST_KIND, RULES, lint_file(file, tasks), as_json)


def _draft(kind: Kind[D], drafts: Drafts[D], one: str, what: str) -> Command:
    return asking_command(kind.file, drafts, one, f"Let the judge draft {what} for the tasks that have none.")


guidance = commands(
    Shown(GUIDANCE_KIND, guidance_table, lambda row, _: guidance_view(row), ".md"),
    draft_guidance,
    help="What a good report on a task must do.",
    a_file="a guidance file",
)
criteria = commands(
    Shown(CRITERIA_KIND, criteria_table, lambda row, _: criteria_view(row)),
    _draft(CRITERIA_KIND, CRITERIA_DRAFTS, "criteria", "weights and criteria"),
    help="What the reports on a task are compared by.",
    a_file="a criteria file",
    edited=" (as YAML)",
    they_were="they were",
)
dimensions = commands(
    Shown(DIMENSIONS_KIND, dimensions_table, lambda row, _: dimensions_view(row)),
    _draft(DIMENSIONS_KIND, DIMENSIONS_DRAFTS, "dimensions", "dimensions, weights and criteria"),
    help="By what the reports on a task are judged, each for itself.",
    a_file="a dimensions file",
    edited=" (as YAML)",
    they_were="they were",
)
checklist = commands(
    Shown(CHECKLIST_KIND, checklist_table, lambda row, _: checklist_view(row), ".txt"),
    _draft(CHECKLIST_KIND, CHECKLIST_DRAFTS, "a checklist", "checklists"),
    lint_checklists,
    help="What a report on a task has to deliver, item by item.",
    a_file="a checklist file",
    edited=" (one item a line)",
)
