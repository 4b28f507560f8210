"""`local-judge tasks plan`: evaluation plans, drafted from the task without a report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import RenderableType

from indexes.snapshot import Snapshot
from local_judge.agents.result import AgentLimits, Tally, write_evidence_gaps
from local_judge.base.errors import ConfigError
from local_judge.cli.help import AGENT
from local_judge.cli.options import (
    AsJson,
    MaxCalls,
    MaxTokens,
    MaxTurns,
    SnapshotDir,
    SomeSnapshotDir,
    TasksFile,
    Tools,
    tools_named,
)
from local_judge.cli.snapshot.look import AsOf, SearchMode, day
from local_judge.cli.tasks.asking import DraftOptions, ask_about, leave_drafts
from local_judge.cli.tasks.kinds import commands, leave_findings
from local_judge.cli.tasks.reviewing import Shown
from local_judge.reporting.plans import coverage_lines, plan_table, plan_view, stand_line
from local_judge.tasks.load import load_tasks
from local_judge.tasks.plan_asking import PlanSettings, reply_tokens
from local_judge.tasks.plan_draft import plan_drafts
from local_judge.tasks.plan_lint import RULES, lint_file
from local_judge.tasks.plans import (
    PLAN_KIND,
    PlanMethod,
    PlanRow,
    PlanTranscripts,
    all_coverage,
    all_evidence_gaps,
)

_DEFAULTS = PlanSettings()


def draft(
    options: DraftOptions,
    snapshot: SnapshotDir,
    method: Annotated[
        PlanMethod,
        typer.Option(
            "--method",
            help="Source of key information: an `agent`, one `retrieval`, or the `request` alone.",
        ),
    ] = _DEFAULTS.method,
    items: Annotated[
        int, typer.Option("--items", min=0, max=30, help="Maximum number of items of key information.")
    ] = _DEFAULTS.items,
    questions: Annotated[
        int, typer.Option("--questions", min=0, max=10, help="Maximum number of reasoning questions.")
    ] = _DEFAULTS.questions,
    as_of: AsOf = None,
    pages: Annotated[
        int,
        typer.Option(
            "--pages",
            min=0,
            max=40,
            help="Maximum number of pages to ask about individually after the agent.",
        ),
    ] = _DEFAULTS.pages,
    turns: MaxTurns = _DEFAULTS.limits.turns,
    tokens: MaxTokens = _DEFAULTS.limits.tokens,
    calls: MaxCalls = _DEFAULTS.limits.calls,
    tokens_per_reply: Annotated[
        int | None,
        typer.Option(
            "--reply-tokens",
            min=16,
            help="Maximum number of tokens of one reply.",
            rich_help_panel=AGENT,
            show_default="enough for --items",
        ),
    ] = None,
    tool: Tools = None,
    mode: SearchMode = _DEFAULTS.tools.mode,
) -> None:
    """Let the judge draft plans for the tasks that have none. By default, an agent searches the snapshot for them."""
    if not (items or questions):
        raise ConfigError("--items 0 and --questions 0: nothing to draft")
    reply = tokens_per_reply or reply_tokens(items)
    offered = tools_named(tool, _DEFAULTS.tools.tools)
    settings = PlanSettings(
        method=method,
        items=items,
        questions=questions,
        pages=pages,
        limits=AgentLimits(turns=turns, tokens=tokens, calls=calls, reply_tokens=reply),
        tools=_DEFAULTS.tools.model_copy(update={"tools": offered, "mode": mode, "as_of": day(as_of)}),
    )
    transcripts = PlanTranscripts(options.out)
    drafts = plan_drafts(Snapshot.open(snapshot), settings, transcripts.keep)
    outcome = ask_about(options, PLAN_KIND.file(options.out), drafts)
    rows, coverage = list(PLAN_KIND.file(options.out).rows().values()), _coverage(transcripts, options.out)
    counts = {
        "items": sum(len(row.key_information) for row in rows),
        "left_out": sum(len(row.left_out) for row in rows),
    }
    lines = [stand_line(rows), *coverage_lines(coverage)]
    leave_drafts("a plan", outcome, options, lines=lines, data={**counts, "coverage": coverage})


def _coverage(transcripts: PlanTranscripts, out: Path) -> dict[str, Tally]:
    """Write the evidence gaps of all agents next to the file, and return how much the snapshot covers."""
    found = transcripts.all()
    if not found:
        return {}
    write_evidence_gaps(out.with_name(f"{out.name}.evidence_gaps.jsonl"), all_evidence_gaps(found))
    return all_coverage(found)


def lint(
    file: Annotated[Path, typer.Argument(help="A file of plans.")],
    tasks: TasksFile = None,
    snapshot: SomeSnapshotDir = None,
    as_json: AsJson = False,
) -> None:
    """Check plans against rules in code. The exit code is 1 if a rule is broken.

    --tasks adds requests that the file lacks. --snapshot adds a check of the quotations.
    """
    requests = {} if tasks is None else {key: task.prompt for key, task in load_tasks(tasks).items()}
    found = lint_file(file, requests, Snapshot.open(snapshot) if snapshot else None)
    leave_findings(PLAN_KIND, RULES, found, as_json)


def _view(row: PlanRow, file: Path) -> RenderableType:
    transcript = PlanTranscripts(file).path(row.key)
    return plan_view(row, transcript if transcript.is_file() else None)


plan = commands(
    Shown(PLAN_KIND, plan_table, _view),
    draft,
    lint,
    help="Draft and review evaluation plans: key information and reasoning questions.",
)
