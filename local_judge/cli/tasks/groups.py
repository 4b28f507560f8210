"""`local-judge tasks guidance`, `criteria`, `dimensions` and `checklist`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from indexes.snapshot import Snapshot
from local_judge.cli.options import AsJson, SomeSnapshotDir, TasksFile
from local_judge.cli.tasks.asking import Command, DraftOptions, ask_about, asking_command, leave_drafts
from local_judge.cli.tasks.kinds import commands, leave_findings
from local_judge.cli.tasks.labelling import review_command
from local_judge.cli.tasks.reviewing import Shown
from local_judge.reporting.drafts import (
    checklist_table,
    checklist_view,
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
from local_judge.tasks.dimensions import DIMENSIONS_KIND
from local_judge.tasks.dimensions_draft import DIMENSIONS_DRAFTS
from local_judge.tasks.drafting import Drafts
from local_judge.tasks.guidance import GUIDANCE_KIND
from local_judge.tasks.guidance_draft import DraftSettings, guidance_drafts
from local_judge.tasks.kinds import Kind
from local_judge.tasks.review import D


def draft_guidance(
    options: DraftOptions,
    snapshot: SomeSnapshotDir = None,
    evidence_tokens: Annotated[
        int,
        typer.Option(
            "--evidence-tokens", min=0, help="Maximum tokens of passages from --snapshot per prompt."
        ),
    ] = DraftSettings().evidence_tokens,
    points: Annotated[
        int,
        typer.Option(
            "--points", min=1, max=30, help="Maximum number of points; a small judge needs a small number."
        ),
    ] = DraftSettings().points,
) -> None:
    """Let the judge draft guidance for the tasks that have none."""
    settings = DraftSettings(evidence_tokens=evidence_tokens, points=points)
    drafts = guidance_drafts(Snapshot.open(snapshot) if snapshot else None, settings)
    leave_drafts("guidance", ask_about(options, GUIDANCE_KIND.file(options.out), drafts), options)


def lint_checklists(
    file: Annotated[
        Path, typer.Argument(help="A checklist file, tasks with checklists, or LiveResearchBench's dataset.")
    ],
    tasks: TasksFile = None,
    as_json: AsJson = False,
) -> None:
    """Check checklists against rules in code. The exit code is 1 if a rule is broken.

    --tasks adds requests that the file lacks.
    """
    leave_findings(CHECKLIST_KIND, RULES, lint_file(file, tasks), as_json)


def _draft(kind: Kind[D], drafts: Drafts[D], one: str, what: str) -> Command:
    return asking_command(kind.file, drafts, one, f"Let the judge draft {what} for the tasks that have none.")


guidance = commands(
    Shown(GUIDANCE_KIND, guidance_table, lambda row, _: guidance_view(row), ".md"),
    draft_guidance,
    help="Draft and review guidance: what a good report on a task must do.",
)
criteria = commands(
    Shown(CRITERIA_KIND, criteria_table, lambda row, _: criteria_view(row)),
    _draft(CRITERIA_KIND, CRITERIA_DRAFTS, "criteria", "weights and criteria"),
    help="Draft and review criteria for comparing reports on a task.",
)
dimensions = commands(
    Shown(DIMENSIONS_KIND, dimensions_table, lambda row, _: dimensions_view(row)),
    _draft(DIMENSIONS_KIND, DIMENSIONS_DRAFTS, "dimensions", "dimensions, weights and criteria"),
    help="Draft and review dimensions for judging a single report on a task.",
)
_checklists = Shown(CHECKLIST_KIND, checklist_table, lambda row, _: checklist_view(row), ".txt")
checklist = commands(
    _checklists,
    _draft(CHECKLIST_KIND, CHECKLIST_DRAFTS, "a checklist", "checklists"),
    lint_checklists,
    review_command(_checklists),
    help="Draft and review checklists: what a report on a task must contain.",
)
