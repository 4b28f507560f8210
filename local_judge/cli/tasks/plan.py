"""`local-judge tasks plan`: what the reports on a task are evaluated by, made from the task alone."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import RenderableType

from indexes.search.searcher import Mode
from indexes.snapshot import Snapshot
from local_judge.agents.result import AgentLimits, write_evidence_gaps
from local_judge.cli.options import AsJson, BaseUrls, JudgeName, Offline, SnapshotDir, Tools, tools_named
from local_judge.cli.snapshot.look import day
from local_judge.cli.tasks.asking import Asked, ask_about, leave_drafts
from local_judge.cli.tasks.kinds import commands, leave_findings
from local_judge.cli.tasks.options import OpenDates, OutPath, Replies, TasksPath
from local_judge.cli.tasks.reviewing import Shown
from local_judge.errors import ConfigError
from local_judge.reporting.plans import coverage_lines, plan_table, plan_view, stand_line
from local_judge.tasks.load import load_tasks
from local_judge.tasks.plan_asking import PlanSettings, reply_tokens
from local_judge.tasks.plan_draft import plan_drafts
from local_judge.tasks.plan_lint import RULES, lint_file
from local_judge.tasks.plan_transcripts import PlanTranscripts, all_coverage, all_evidence_gaps
from local_judge.tasks.plans import PLAN_KIND, PlanMethod, PlanRow

_DEFAULTS = PlanSettings()


def draft(
    tasks: TasksPath,
    judge: JudgeName,
    snapshot: SnapshotDir,
    out: OutPath,
    base_url: BaseUrls = None,
    method: Annotated[
        PlanMethod,
        typer.Option(
            "--method",
            help="How key information is gathered: by an `agent`, behind one `retrieval`, or by the `request` alone.",
        ),
    ] = _DEFAULTS.method,
    items: Annotated[
        int, typer.Option("--items", min=0, max=30, help="The most items of key information.")
    ] = _DEFAULTS.items,
    questions: Annotated[
        int, typer.Option("--questions", min=0, max=10, help="The most reasoning questions.")
    ] = _DEFAULTS.questions,
    date: Annotated[
        datetime | None,
        typer.Option(
            "--date",
            formats=["%Y-%m-%d"],
            help="Plan as on this day: no page is used that was not known by it.",
        ),
    ] = None,
    pages: Annotated[
        int,
        typer.Option(
            "--pages", min=0, max=40, help="The most pages asked about alone, where the agent gave little."
        ),
    ] = _DEFAULTS.pages,
    turns: Annotated[
        int, typer.Option("--turns", min=1, help="Questions to the agent on one task.")
    ] = _DEFAULTS.limits.turns,
    tokens: Annotated[
        int, typer.Option("--tokens", min=1, help="Most tokens of all its prompts and replies.")
    ] = _DEFAULTS.limits.tokens,
    calls: Annotated[
        int, typer.Option("--calls", min=1, help="Queries and pages of the agent.")
    ] = _DEFAULTS.limits.calls,
    tokens_per_reply: Annotated[
        int | None,
        typer.Option(
            "--reply-tokens",
            min=16,
            help="Most tokens of one reply; by default what --items need.",
        ),
    ] = None,
    tool: Tools = None,
    mode: Annotated[Mode, typer.Option("--mode", help="How searches rank.")] = _DEFAULTS.tools.mode,
    open_dates: OpenDates = False,
    ledger: Replies = None,
    offline: Offline = True,
) -> None:
    """Let the judge draft plans for the tasks that have none, by default from what an agent finds in the snapshot."""
    if not (items or questions):
        raise ConfigError("--items 0 and --questions 0: nothing to draft")
    limits = AgentLimits(
        turns=turns, tokens=tokens, calls=calls, reply_tokens=tokens_per_reply or reply_tokens(items)
    )
    named = tools_named(tool, _DEFAULTS.tools.tools)
    tools = _DEFAULTS.tools.model_copy(update={"tools": named, "mode": mode, "as_of": day(date)})
    settings = PlanSettings(
        method=method, items=items, questions=questions, pages=pages, limits=limits, tools=tools
    )
    transcripts = PlanTranscripts(out)
    drafts = plan_drafts(Snapshot.open(snapshot), settings, transcripts.keep)
    asked = Asked(judge, base_url or (), ledger, offline, open_dates)
    outcome = ask_about(tasks, PLAN_KIND.file(out), drafts, asked)
    print(stand_line(list(PLAN_KIND.file(out).rows().values())))
    _say_what_was_missed(transcripts, out)
    leave_drafts("a plan", outcome, out)


def _say_what_was_missed(transcripts: PlanTranscripts, out: Path) -> None:
    """Write the evidence gaps of all runs beside the file, and print how much the snapshot could answer."""
    found = transcripts.all()
    if not found:
        return
    write_evidence_gaps(out.with_name(f"{out.name}.evidence_gaps.jsonl"), all_evidence_gaps(found))
    for line in coverage_lines(all_coverage(found)):
        print(line)


def lint(
    file: Annotated[Path, typer.Argument(help="A file of plans.")],
    tasks: Annotated[
        Path | None, typer.Option("--tasks", help="The tasks, where the file does not have their requests.")
    ] = None,
    snapshot: Annotated[
        Path | None, typer.Option("--snapshot", help="Look the quotations up in this snapshot.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check plans by rules that code can decide; ends with 1 if something breaks one."""
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
    help="What the reports on a task are evaluated by: key information and reasoning questions.",
    a_file="a file of plans",
    edited=" (as YAML)",
)
