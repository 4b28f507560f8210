"""`local-judge tasks`: the guidance of research tasks."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

from indexes.snapshot import Snapshot
from local_judge.cli import criteria
from local_judge.cli.ending import leave_drafts, stoppable
from local_judge.cli.options import AsJson, BaseUrls, JudgeName, Offline
from local_judge.errors import InputError, UserError
from local_judge.judge.failures import Failure
from local_judge.reporting.progress import RunProgress
from local_judge.reporting.tables import plain, stdout
from local_judge.reporting.tasks import guidance_table, guidance_view
from local_judge.runs.session import open_judge
from local_judge.tasks.draft import DraftSettings
from local_judge.tasks.drafting import draft_all, waiting
from local_judge.tasks.guidance import GuidanceFile, GuidanceRow, load_rows
from local_judge.tasks.load import load_tasks
from local_judge.tasks.model import Task
from local_judge.tasks.review import Decision, decide
from serving.presets import Preset, load_preset

app = typer.Typer(help="Research tasks and what is expected of their reports.", no_args_is_help=True)
guidance = typer.Typer(help="What a good report on a task must do.", no_args_is_help=True)
app.add_typer(guidance, name="guidance")
app.add_typer(criteria.app, name="criteria")

GuidancePath = Annotated[Path, typer.Argument(metavar="FILE", help="A guidance file.")]
OneTask = Annotated[str | None, typer.Option("--task", help="Only this task, by id.")]

Stop = Literal["skip", "quit"]
_KEYS: dict[str, Decision | Stop] = {
    "a": "accept",
    "e": "edit",
    "r": "reject",
    "s": "skip",
    "q": "quit",
}


@guidance.command()
def draft(
    tasks: Annotated[Path, typer.Argument(help="A JSONL file of tasks, or a folder in DEER's layout.")],
    judge: JudgeName,
    out: Annotated[Path, typer.Option("--out", help="The guidance file; the same command continues it.")],
    base_url: BaseUrls = None,
    snapshot: Annotated[
        Path | None, typer.Option("--snapshot", help="Search this snapshot for what bears on a task.")
    ] = None,
    evidence_tokens: Annotated[
        int, typer.Option("--evidence-tokens", min=0, help="Passages shown to the judge, together.")
    ] = DraftSettings().evidence_tokens,
    ledger: Annotated[
        Path | None, typer.Option("--ledger", help="Keep the judge's replies here instead of beside --out.")
    ] = None,
    offline: Offline = True,
) -> None:
    """Let the judge draft guidance for the tasks that have none."""
    given = list(load_tasks(tasks).values())
    file = GuidanceFile(out)
    asked = waiting(given, file)
    if asked:
        preset = load_preset(judge)
        frozen = None if snapshot is None else Snapshot.open(snapshot)
        settings = DraftSettings(evidence_tokens=evidence_tokens)
        replies = ledger or out.with_suffix(".ledger.sqlite")
        with stoppable(replies):
            failed = asyncio.run(
                _draft(given, file, frozen, preset, settings, base_url or (), replies, offline)
            )
    else:
        failed = []
    leave_drafts("guidance", len(given), len(asked), failed, out)


async def _draft(
    tasks: Sequence[Task],
    file: GuidanceFile,
    snapshot: Snapshot | None,
    preset: Preset,
    settings: DraftSettings,
    base_urls: Sequence[str],
    ledger: Path,
    offline: bool,
) -> list[tuple[Task, Failure]]:
    async with open_judge(preset, base_urls=base_urls, ledger=ledger, reasks=2, only_engine=offline) as judge:
        with RunProgress(judge, len(waiting(tasks, file)), unit="tasks") as progress:
            return await draft_all(tasks, file, snapshot, judge, settings, done=progress.one_done)


@guidance.command()
def show(file: GuidancePath, task: OneTask = None, as_json: AsJson = False) -> None:
    """Print a guidance file: a table of its tasks, and with --task all of one."""
    rows = _rows(file, task)
    if as_json:
        print(json.dumps([row.model_dump(mode="json") for row in rows], ensure_ascii=False))
    elif task is None:
        stdout().print(guidance_table(rows))
    else:
        stdout().print(guidance_view(rows[0]))


@guidance.command()
def review(
    file: GuidancePath,
    reviewer: Annotated[str, typer.Option("--reviewer", help="Who decides; kept with each row.")],
    task: OneTask = None,
    accept: Annotated[
        bool, typer.Option("--accept", help="Accept what is asked for, without asking.")
    ] = False,
    reject: Annotated[bool, typer.Option("--reject", help="Reject it, without asking.")] = False,
    edit: Annotated[
        bool, typer.Option("--edit", help="Open it in $EDITOR and accept what is saved.")
    ] = False,
) -> None:
    """Decide on drafted guidance: accept, edit, reject. Each decision is kept at once.

    Without --task, all drafts that wait for a decision; with it, that task's guidance, also if it was decided on.
    """
    flags: list[tuple[bool, Decision]] = [(accept, "accept"), (reject, "reject"), (edit, "edit")]
    wanted: list[Decision] = [decision for given, decision in flags if given]
    if len(wanted) > 1:
        raise typer.BadParameter("--accept, --reject and --edit exclude each other")
    if not wanted and not has_terminal():
        raise UserError("review: there is no terminal to ask at; say --accept, --reject or --edit")
    rows = [row for row in _rows(file, task) if task is not None or row.status == "drafted"]
    if not rows:
        print(f"{file}: no draft waits for a decision")
    for row in rows:
        decision = wanted[0] if wanted else _ask(row)
        if decision == "quit":
            break
        if decision != "skip":
            after = decide(row, decision, reviewer, edited)
            if after is not None:
                GuidanceFile(file).replace(row, after)
            print(plain(f"task {row.task_id}: {after.status if after else 'left as it was'}"))


def has_terminal() -> bool:
    """Whether a person can be asked."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def _ask(row: GuidanceRow) -> Decision | Stop:
    console = stdout()
    console.print(guidance_view(row))
    while True:
        try:
            answer = input("[a]ccept, [e]dit, [r]eject, [s]kip, [q]uit? ").strip().lower()
        except EOFError:
            print()
            return "quit"
        if answer[:1] in _KEYS and _KEYS[answer[:1]].startswith(answer):
            return _KEYS[answer[:1]]


def edited(text: str) -> str:
    """What a person makes of `text` in their editor."""
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not command:
        raise UserError("review: no editor to edit with; set EDITOR")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "guidance.md"
        path.write_text(text + "\n", encoding="utf-8")
        try:
            subprocess.run([*shlex.split(command), str(path)], check=True)
            return path.read_text(encoding="utf-8")
        except (OSError, ValueError, subprocess.CalledProcessError) as error:
            raise UserError(f"review: {command}: {error}; nothing was changed") from None


def _rows(file: Path, task: str | None) -> list[GuidanceRow]:
    rows = load_rows(file)
    if task is None:
        return list(rows.values())
    if task not in rows:
        raise InputError(f"{file}: no task {task!r}; `local-judge tasks guidance show {file}` lists them")
    return [rows[task]]
