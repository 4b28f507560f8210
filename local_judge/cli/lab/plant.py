"""`local-judge lab plant`: claims and reports with known errors."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from pydantic import BaseModel

from indexes.snapshot import Snapshot
from local_judge.base.errors import ConfigError, InputError
from local_judge.base.failures import Failure
from local_judge.cli.ending import leave_missing, stoppable
from local_judge.cli.judging import ChecklistsFile, OptionalJudge, TasksFile
from local_judge.cli.options import AsJson, Seed, chosen
from local_judge.cli.output import print_json
from local_judge.lab.planting.claims import Draw, DrawSettings
from local_judge.lab.planting.commands import (
    PlantedReports,
    claims_notes,
    claims_table,
    plant_reports,
    plant_snapshot,
    reports_notes,
    reports_table,
    write_claims,
    write_reports,
)
from local_judge.lab.planting.flaws.flaws import FLAWS, FlawSettings
from local_judge.lab.planting.model import FALSE_KINDS, LANGUAGES
from local_judge.lab.planting.pages import PlantPage
from local_judge.lab.planting.restating import Restating, n_restated, restate
from local_judge.reporting.progress import RunProgress
from local_judge.runs.execution.judges import JudgeSpec
from local_judge.runs.planning.config import validated
from local_judge.runs.planning.inputs import load_reports
from local_judge.tasks.files import TaskFiles
from local_judge.terminal import stdout

S = TypeVar("S", bound=BaseModel)


def plant(
    sources: Annotated[
        list[Path], typer.Argument(help="A snapshot; or reports: files, folders of them, JSONL files.")
    ],
    out: Annotated[Path, typer.Option("--out", help="Output folder; existing files are overwritten.")],
    judge: OptionalJudge,
    n: Annotated[
        int | None,
        typer.Option("--n", help="Number of claims from a snapshot.", show_default="300"),
    ] = None,
    per_page: Annotated[
        int | None,
        typer.Option("--per-page", help="Maximum number of claims per page of a snapshot.", show_default="4"),
    ] = None,
    seed: Seed = 0,
    kinds: Annotated[
        list[str] | None,
        typer.Option(
            "--kinds",
            help=f"Only these kinds, separated by commas or repeated. For claims: {', '.join(FALSE_KINDS)}; "
            f"for reports: {', '.join(FLAWS)}.",
        ),
    ] = None,
    languages: Annotated[
        list[str] | None,
        typer.Option(
            "--languages",
            help="Languages of claims from a snapshot, separated by commas or repeated.",
            show_default="en,zh",
        ),
    ] = None,
    places: Annotated[
        int | None,
        typer.Option(
            "--places", help="Number of contradictions or fallacies per copy of a report.", show_default="3"
        ),
    ] = None,
    share: Annotated[
        float | None,
        typer.Option("--share", help="Fraction of a report's citations to move.", show_default="0.5"),
    ] = None,
    padding: Annotated[
        float | None,
        typer.Option(
            "--padding", help="Ratio of added words to the words of a report's body.", show_default="0.5"
        ),
    ] = None,
    tasks: TasksFile = None,
    checklists: ChecklistsFile = None,
    as_json: AsJson = False,
) -> None:
    """Plant errors: labelled claims from a snapshot's pages, or copies of reports with one flaw each.

    With --judge, the judge paraphrases the true claims.
    """
    of_reports = {
        "--places": places,
        "--share": share,
        "--padding": padding,
        "--tasks": tasks,
        "--checklists": checklists,
    }
    of_claims = {
        "--n": n,
        "--per-page": per_page,
        "--languages": languages,
        "--judge": judge.judge,
        "--base-url": judge.base_url,
        "--ledger": judge.ledger,
    }
    if _is_snapshot(sources[0]):
        if len(sources) > 1:
            raise InputError(
                f"{sources[1]}: a command takes only one snapshot; run the command again for the next"
            )
        _refuse(of_reports, "reports", sources[0], "a snapshot")
        given = {
            "n": n,
            "per_page": per_page,
            "seed": seed,
            "kinds": chosen("--kinds", kinds, FALSE_KINDS),
            "languages": chosen("--languages", languages, LANGUAGES),
        }
        _claims(sources[0], _settings(DrawSettings, given), out, judge, as_json)
    else:
        _refuse(of_claims, "a snapshot", sources[0], "none")
        loaded = load_reports(sources, TaskFiles(tasks=tasks, checklists=checklists))
        given = {
            "places": places,
            "share": share,
            "padding": padding,
            "seed": seed,
            "kinds": chosen("--kinds", kinds, FLAWS),
        }
        _flaws(plant_reports(loaded, _settings(FlawSettings, given)), out, as_json)


def _is_snapshot(path: Path) -> bool:
    return path.is_dir() and (path / "manifest.json").is_file()


def _refuse(options: Mapping[str, object], what: str, path: Path, found: str) -> None:
    for name, value in options.items():
        if value is not None:
            raise ConfigError(f"{name} is for {what}; {path} is {found}")


def _settings(model: type[S], given: dict[str, Any]) -> S:
    return validated(model, {key: value for key, value in given.items() if value is not None}, "options")


def _flaws(made: PlantedReports, out: Path, as_json: bool) -> None:
    write_reports(out, made)
    if as_json:
        print_json(made.summary)
    else:
        stdout().print(reports_table(made.summary))
        for line in reports_notes(made.summary):
            print(line)
    if made.summary.unreadable:
        raise SystemExit(1)


def _claims(snapshot: Path, settings: DrawSettings, out: Path, judge: OptionalJudge, as_json: bool) -> None:
    spec, ledger = judge.spec(), judge.ledger_or(out / "ledger.sqlite")
    draw, pages, summary = plant_snapshot(Snapshot.open(snapshot), settings)
    failures: tuple[Failure, ...] = ()
    if spec is not None:
        with stoppable(ledger):
            made = asyncio.run(_restated(draw, pages, settings.seed, judge, spec, ledger))
        draw, failures = made.draw, made.failures
        summary = summary.model_copy(update={"rejected": dict(made.rejected)})
    write_claims(out, draw, summary)
    if as_json:
        print_json(summary)
    else:
        stdout().print(claims_table(summary))
        for line in claims_notes(summary):
            print(line)
    if failures:
        what = f"{len(failures)} of the judge's answers, so that these claims are not paraphrased"
        leave_missing(what, [one.kind for one in failures])


async def _restated(
    draw: Draw,
    pages: Sequence[PlantPage],
    seed: int,
    options: OptionalJudge,
    spec: JudgeSpec,
    ledger: Path,
) -> Restating:
    async with options.open(spec, ledger) as judge:
        with RunProgress(judge, n_restated(draw), unit="claims") as progress:
            return await restate(draw, pages, judge, seed, progress.one_done)
