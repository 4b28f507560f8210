"""`local-judge tasks build`: tasks made, filtered, freed of duplicates, and ranked by people."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from local_judge.cli.ending import ASKS_AGAIN, stoppable
from local_judge.cli.judging import OneJudge
from local_judge.cli.options import PROFILE, AsJson, ConfigFile, Day, expanded, said
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
from local_judge.rows import write_lines
from local_judge.runs.judges import JudgeSpec
from local_judge.runs.lock import locked
from local_judge.scoring.node import Profile
from local_judge.terminal import count, stdout

N_STAGES = 5
"""That ask or decide before people do."""


class _MakeUnlessNamed(TyperGroup):
    """`tasks build DIR` is `tasks build make DIR`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Arguments whose first is no command are those of `make`."""
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = ["make", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_MakeUnlessNamed,
    help="Make tasks: `build DIR`, `build rank DIR`, `build show DIR`.",
    no_args_is_help=True,
)

Directory = Annotated[Path, typer.Argument(metavar="DIR", help="The directory of the build.")]


@app.command("make")
@expanded
def make_(
    directory: Directory,
    judge: OneJudge,
    config: ConfigFile = None,
    clarify: Annotated[
        Path | None,
        typer.Option("--clarify", help="Users' questions (JSONL), to be made tasks by asking back."),
    ] = None,
    reformulate: Annotated[
        Path | None,
        typer.Option("--reformulate", help="Questions with answers (JSONL), to be made report tasks."),
    ] = None,
    given: Annotated[
        Path | None,
        typer.Option("--from", help="Go on from DeepResearchEval's experts or tasks, or from any tasks."),
    ] = None,
    domains: Annotated[int | None, typer.Option("--domains", help="Only the first so many domains.")] = None,
    personas: Annotated[int | None, typer.Option("--personas", help="Persons of each domain.")] = None,
    tasks: Annotated[int | None, typer.Option("--tasks", help="Tasks of each person.")] = None,
    duplicates: Annotated[
        str | None, typer.Option("--duplicates", help="How they are found: embedding, lexical or off.")
    ] = None,
    profile: Annotated[Profile | None, PROFILE] = None,
    date: Day = None,
    change: Annotated[
        bool, typer.Option("--change", help="Take other settings than the directory was begun with.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Make tasks in DIR; the same command goes on where it was stopped."""
    changes = {
        "make": {"domains": domains, "personas": personas, "tasks": tasks},
        "duplicates": {"method": duplicates},
        "profile": profile,
        "date": date,
    }
    settings = load_build_config(config, changes)
    begun = read_source(clarify, reformulate, given)
    store = BuildStore(directory)
    store.manifest()  # what is no build is refused before a judge is looked for
    method = method_of(settings.duplicates)
    spec, replies = _seeded(judge.spec(), settings.seed), judge.ledger_or(store.ledger)

    async def build() -> Outcome:
        async with judge.open(spec, replies, settings.reasks) as opened:
            with RunProgress(opened, N_STAGES, unit="stages", at_once=1) as progress:
                return await build_tasks(
                    store, settings, begun, opened, method, change=change, stage_done=progress.one_done
                )

    with locked(directory), stoppable(replies):
        outcome = asyncio.run(build())
    _show(outcome, as_json, drops=False)
    if not as_json:
        print(f"{count(len(outcome.kept), 'task')}: {directory / 'tasks.jsonl'}")
    _leave(outcome, directory)


@app.command()
def show(
    directory: Directory,
    drops: Annotated[
        bool, typer.Option("--drops", help="Also every task that is not kept, with the reason.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Print how many tasks got how far, and why others did not."""
    _show(outcome_of(BuildStore(directory)), as_json, drops)


@app.command()
def rank(
    directory: Directory,
    voter: Annotated[str, typer.Option("--voter", help="Who ranks; kept with the votes.")],
    out: Annotated[
        Path | None, typer.Option("--out", help="Write the paper: a CSV file with an empty column `rank`.")
    ] = None,
    read: Annotated[Path | None, typer.Option("--read", help="Count the filled-in paper.")] = None,
) -> None:
    """Let a person rank the tasks: write a paper with --out, have its `rank` filled in (1 the best), --read it."""
    if (out is None) == (read is None):
        raise typer.BadParameter("say either --out or --read")
    name = said("--voter", voter)
    store = BuildStore(directory)
    if out is not None:
        paper, n_tasks = paper_for(store, name)
        write_lines(out, [paper])
        print(f"{count(n_tasks, 'task')} to rank: {out}")
    elif read is not None:
        outcome, ballot, again = count_ballot(store, name, read)
        print(
            f"{count(len(ballot.ranks), 'task')} ranked"
            + (", in the place of an earlier ranking" if again else "")
            + f"; {len(outcome.kept)} kept: {directory / 'tasks.jsonl'}"
        )


def _seeded(spec: JudgeSpec, seed: int) -> JudgeSpec:
    sampling = spec.preset.sampling.model_copy(update={"seed": seed})
    return spec._replace(preset=spec.preset.model_copy(update={"sampling": sampling}))


def _leave(outcome: Outcome, directory: Path) -> None:
    """Say that tasks are missing, if any are, and end with the exit code for it."""
    if any(counts.failed for counts in outcome.counts):
        sys.stderr.write(
            "Some tasks could not be made or decided on: "
            f"`local-judge tasks build show {directory} --drops` says which, and why. {ASKS_AGAIN} "
            "Where replies were of no use, another seed or judge may help.\n"
        )
        raise SystemExit(3)


def _show(outcome: Outcome, as_json: bool, drops: bool) -> None:
    if as_json:
        print_json(
            {
                "domains": [counts.model_dump(mode="json") for counts in outcome.counts],
                "n_voters": outcome.n_voters,
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
