"""`local-judge tasks build`: creation, filtering, deduplication and human ranking of tasks."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Annotated

import typer

from local_judge.base.output import count
from local_judge.base.rows import write_lines
from local_judge.cli.ending import ASKS_AGAIN, stoppable
from local_judge.cli.judging import OptionalJudge
from local_judge.cli.options import PROFILE, AsJson, ConfigFile, Day, refuse, said
from local_judge.cli.output import print_json
from local_judge.lab.task_construction.commands import (
    build_tasks,
    count_ballot,
    outcome_of,
    paper_for,
    read_source,
)
from local_judge.lab.task_construction.filters import method_of
from local_judge.lab.task_construction.outcome import Outcome
from local_judge.lab.task_construction.settings import load_build_config
from local_judge.lab.task_construction.store import BuildStore
from local_judge.lab.task_construction.tables import audit_lines, build_notes, build_table
from local_judge.reporting.progress import RunProgress
from local_judge.runs.execution.judges import JudgeSpec
from local_judge.runs.storage.lock import locked
from local_judge.scoring.node import Profile
from local_judge.terminal import stdout

N_STAGES = 5
"""Number of stages that ask or filter, before the human ranking."""


def build(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="The directory of the build.")],
    judge: OptionalJudge,
    config: ConfigFile = None,
    clarify: Annotated[
        Path | None,
        typer.Option(
            "--clarify", help="Users' questions (JSONL) to turn into tasks with clarifying questions."
        ),
    ] = None,
    reformulate: Annotated[
        Path | None,
        typer.Option("--reformulate", help="Questions with answers (JSONL) to turn into report tasks."),
    ] = None,
    given: Annotated[
        Path | None,
        typer.Option("--from", help="Start from DeepResearchEval's experts or tasks, or from any tasks."),
    ] = None,
    domains: Annotated[int | None, typer.Option("--domains", help="Use only the first N domains.")] = None,
    personas: Annotated[int | None, typer.Option("--personas", help="Number of personas per domain.")] = None,
    tasks: Annotated[int | None, typer.Option("--tasks", help="Number of tasks per persona.")] = None,
    duplicates: Annotated[
        str | None,
        typer.Option("--duplicates", help="Method of finding duplicates: embedding, lexical or off."),
    ] = None,
    profile: Annotated[Profile | None, PROFILE] = None,
    date: Day = None,
    change: Annotated[
        bool, typer.Option("--change", help="Replace the settings that the directory was started with.")
    ] = False,
    drops: Annotated[
        bool, typer.Option("--drops", help="Also print every dropped task, with the reason.")
    ] = False,
    voter: Annotated[
        str | None,
        typer.Option("--voter", help="Name of a person who ranks the tasks, stored with the votes."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="With --voter: write the ballot, a CSV file with empty columns `rank` and `approved`.",
        ),
    ] = None,
    read: Annotated[
        Path | None, typer.Option("--read", help="With --voter: read and count a completed ballot.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make tasks in DIR, print what was made, or let a person rank and approve them.

    With --judge, makes tasks; the same command continues after an interruption. Without, prints how many tasks reached
    each stage. With --voter, writes a ballot (--out): write 1 for the best task into `rank`, and yes or no into
    `approved`, and give it to --read.
    """
    spec = judge.spec()
    making = {
        "--judge": spec is not None,
        "--config": config is not None,
        "--clarify": clarify is not None,
        "--reformulate": reformulate is not None,
        "--from": given is not None,
        "--domains": domains is not None,
        "--personas": personas is not None,
        "--tasks": tasks is not None,
        "--duplicates": duplicates is not None,
        "--profile": profile is not None,
        "--date": date is not None,
        "--change": change,
    }
    if voter is not None:
        refuse(making | {"--drops": drops}, "a ballot")
        _rank(directory, voter, out, read, as_json)
        return
    refuse({"--out": out is not None, "--read": read is not None}, "a build without --voter")
    if spec is None:
        refuse(making, "a build without --judge")
        _show(outcome_of(BuildStore(directory)), as_json, drops)
        return
    changes = {
        "make": {"domains": domains, "personas": personas, "tasks": tasks},
        "duplicates": {"method": duplicates},
        "profile": profile,
        "date": date,
    }
    settings = load_build_config(config, changes)
    begun = read_source(clarify, reformulate, given)
    store = BuildStore(directory)
    store.manifest()  # rejects a directory that is not a build before opening a judge
    method = method_of(settings.duplicates)
    seeded, replies = _seeded(spec, settings.seed), judge.ledger_or(store.ledger)

    async def made() -> Outcome:
        async with judge.open(seeded, replies, settings.reasks) as opened:
            with RunProgress(opened, N_STAGES, unit="stages", at_once=1) as progress:
                return await build_tasks(
                    store, settings, begun, opened, method, change=change, stage_done=progress.one_done
                )

    with locked(directory), stoppable(replies):
        outcome = asyncio.run(made())
    _show(outcome, as_json, drops)
    if not as_json:
        print(f"{count(len(outcome.kept), 'task')}: {directory / 'tasks.jsonl'}")
    _leave(outcome, directory)


def _rank(directory: Path, voter: str, out: Path | None, read: Path | None, as_json: bool) -> None:
    """Write a ballot, or read and count one."""
    if (out is None) == (read is None):
        raise typer.BadParameter("give either --out or --read")
    name = said("--voter", voter)
    store = BuildStore(directory)
    if out is not None:
        paper, n_tasks = paper_for(store, name)
        write_lines(out, [paper])
        if as_json:
            print_json({"file": str(out), "tasks": n_tasks})
        else:
            print(f"{count(n_tasks, 'task')} to rank: {out}")
    elif read is not None:
        outcome, ballot, again = count_ballot(store, name, read)
        tasks = directory / "tasks.jsonl"
        if as_json:
            ranked = {
                "ranked": len(ballot.ranks),
                "approved": sum(ballot.approvals.values()),
                "judged": len(ballot.approvals),
                "replaced": again,
                "kept": len(outcome.kept),
            }
            print_json({"file": str(tasks), **ranked})
            return
        print(
            f"{count(len(ballot.ranks), 'task')} ranked"
            + (
                f", {sum(ballot.approvals.values())} of {len(ballot.approvals)} approved"
                if ballot.approvals
                else ""
            )
            + (", replacing an earlier ranking" if again else "")
            + f"; {len(outcome.kept)} kept: {tasks}"
        )


def _seeded(spec: JudgeSpec, seed: int) -> JudgeSpec:
    sampling = spec.preset.sampling.model_copy(update={"seed": seed})
    return spec._replace(preset=spec.preset.model_copy(update={"sampling": sampling}))


def _leave(outcome: Outcome, directory: Path) -> None:
    """Exit with code 3 if tasks are missing, and print how to see which."""
    if any(counts.failed for counts in outcome.counts):
        sys.stderr.write(
            "Some tasks could not be made or decided on: "
            f"`local-judge tasks build {directory} --drops` lists them with the reasons. {ASKS_AGAIN} "
            "If replies were unusable, another seed or judge may help.\n"
        )
        raise SystemExit(3)


def _show(outcome: Outcome, as_json: bool, drops: bool) -> None:
    if as_json:
        print_json(
            {
                "domains": [counts.model_dump(mode="json") for counts in outcome.counts],
                "n_voters": outcome.n_voters,
                "approvals": [one.model_dump() for one in outcome.approvals],
                "conditions": [one.model_dump(mode="json") for one in outcome.conditions],
                "kept": [line.model_dump(mode="json") for line in outcome.kept],
                "audit": [row.model_dump(mode="json") for row in outcome.audit],
            }
        )
        return
    stdout().print(build_table(outcome.counts))
    for note in build_notes(outcome):
        print(note)
    for line in audit_lines(outcome.audit) if drops else ():
        print(line)
