"""`local-judge lab plant`: claims and reports of which it is known what is wrong with them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar

import typer
from pydantic import BaseModel

from indexes.snapshot import Snapshot
from local_judge.cli.ending import leave_missing, stoppable
from local_judge.cli.options import AsJson, BaseUrls, ChecklistsFile, Ledger, Offline, TasksFile
from local_judge.cli.output import print_json
from local_judge.errors import ConfigError, InputError, plain
from local_judge.judge.failures import Failure
from local_judge.lab.planting.claims import Draw, DrawSettings
from local_judge.lab.planting.commands import (
    PlantedReports,
    plant_reports,
    plant_snapshot,
    write_claims,
    write_reports,
)
from local_judge.lab.planting.flaws.flaws import FLAWS, FlawSettings
from local_judge.lab.planting.model import FALSE_KINDS, LANGUAGES
from local_judge.lab.planting.pages import PlantPage
from local_judge.lab.planting.restating import Restating, n_restated, restate
from local_judge.lab.planting.tables import claims_notes, claims_table, reports_notes, reports_table
from local_judge.reporting.progress import RunProgress
from local_judge.runs.config import validated
from local_judge.runs.inputs import load_reports
from local_judge.runs.judges import open_judge
from local_judge.tasks.files import TaskFiles
from local_judge.terminal import stdout
from serving.presets import Preset, load_preset

S = TypeVar("S", bound=BaseModel)
T = TypeVar("T", bound=str)


def plant(
    sources: Annotated[
        list[Path], typer.Argument(help="A snapshot; or reports: files, folders of them, JSONL files.")
    ],
    out: Annotated[Path, typer.Option("--out", help="A folder; its files are written anew.")],
    n: Annotated[int | None, typer.Option("--n", help="Claims in all, planted in a snapshot (300).")] = None,
    per_page: Annotated[
        int | None, typer.Option("--per-page", help="Most claims on one page of a snapshot (4).")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="What is drawn depends on it.")] = 0,
    kinds: Annotated[
        list[str] | None,
        typer.Option(
            "--kinds",
            help=f"These alone, with commas or repeated. Of claims: {', '.join(FALSE_KINDS)}; "
            f"of reports: {', '.join(FLAWS)}.",
        ),
    ] = None,
    languages: Annotated[
        list[str] | None,
        typer.Option(
            "--languages",
            help="Languages of claims in a snapshot: en, zh (both); with commas or repeated.",
        ),
    ] = None,
    places: Annotated[
        int | None,
        typer.Option("--places", help="Contradictions and fallacies planted in a copy of a report (3)."),
    ] = None,
    share: Annotated[
        float | None, typer.Option("--share", help="Share of a report's citations that are moved (0.5).")
    ] = None,
    padding: Annotated[
        float | None,
        typer.Option("--padding", help="Words added to a report, over words of its body (0.5)."),
    ] = None,
    tasks: TasksFile = None,
    checklists: ChecklistsFile = None,
    judge: Annotated[
        str | None,
        typer.Option(
            "--judge", help="Let a judge put true claims in other words: a preset, or a preset file."
        ),
    ] = None,
    base_url: BaseUrls = None,
    ledger: Ledger = None,
    offline: Offline = True,
    as_json: AsJson = False,
) -> None:
    """Make labelled claims from a snapshot's pages, or copies of reports with one flaw each."""
    of_claims = {"--n": n, "--per-page": per_page, "--languages": languages, "--judge": judge}
    of_reports = {"--places": places, "--share": share, "--padding": padding, "--tasks": tasks}
    if _is_snapshot(sources[0]):
        _refuse_others(sources)
        _refuse({**of_reports, "--checklists": checklists}, "reports", sources[0], "a snapshot")
        asked = _asked(judge, base_url, ledger, offline)
        draw = _draw_settings(n, per_page, seed, kinds, languages)
        _claims(sources[0], draw, out, asked, ledger or out / "ledger.sqlite", as_json)
    else:
        _refuse({**of_claims, "--base-url": base_url, "--ledger": ledger}, "a snapshot", sources[0], "none")
        chosen = _chosen("--kinds", kinds, FLAWS)
        loaded = load_reports(sources, TaskFiles(tasks=tasks, checklists=checklists))
        given = {"places": places, "share": share, "padding": padding, "seed": seed, "kinds": chosen}
        _flaws(plant_reports(loaded, _settings(FlawSettings, given)), out, as_json)


class _Asked(NamedTuple):
    """A judge, and where it is."""

    preset: Preset
    base_urls: tuple[str, ...]
    offline: bool


def _is_snapshot(path: Path) -> bool:
    return path.is_dir() and (path / "manifest.json").is_file()


def _refuse_others(sources: Sequence[Path]) -> None:
    if len(sources) > 1:
        raise InputError(
            f"{sources[1]}: a snapshot is planted in alone; plant in the others by another command"
        )


def _refuse(options: dict[str, object], what: str, path: Path, found: str) -> None:
    for name, value in options.items():
        if value is not None:
            raise ConfigError(f"{name} is for {what}; {path} is {found}")


def _asked(
    judge: str | None, base_urls: Sequence[str] | None, ledger: Path | None, offline: bool
) -> _Asked | None:
    """The judge that is to restate claims; None where none is wanted."""
    if judge is not None:
        return _Asked(load_preset(judge), tuple(base_urls or ()), offline)
    if base_urls or ledger:
        raise InputError("--base-url and --ledger are for a judge; name it with --judge")
    return None


def _draw_settings(
    n: int | None, per_page: int | None, seed: int, kinds: list[str] | None, languages: list[str] | None
) -> DrawSettings:
    given = {"n": n, "per_page": per_page, "seed": seed, "kinds": _chosen("--kinds", kinds, FALSE_KINDS)}
    return _settings(DrawSettings, {**given, "languages": _chosen("--languages", languages, LANGUAGES)})


def _chosen(option: str, named: Sequence[str] | None, known: tuple[T, ...]) -> tuple[T, ...] | None:
    """The names given, each once, in the order of `known`; None if none is given."""
    names = [name.strip() for one in named or () for name in one.split(",") if name.strip()]
    for name in names:
        if name not in known:
            raise ConfigError(f"{option} {name}: no such one; there are {', '.join(known)}")
    return tuple(one for one in known if one in names) or None


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


def _claims(
    snapshot: Path, settings: DrawSettings, out: Path, asked: _Asked | None, ledger: Path, as_json: bool
) -> None:
    draw, pages, summary = plant_snapshot(Snapshot.open(snapshot), settings)
    failures: tuple[Failure, ...] = ()
    if asked is not None:
        with stoppable(ledger):
            made = asyncio.run(_restated(draw, pages, settings.seed, asked, ledger))
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
        why = plain(failures[0].detail)
        leave_missing(f"{len(failures)} of the judge's answers ({why}); these claims stay word for word")


async def _restated(
    draw: Draw, pages: Sequence[PlantPage], seed: int, asked: _Asked, ledger: Path
) -> Restating:
    async with open_judge(
        asked.preset, base_urls=asked.base_urls, ledger=ledger, reasks=2, only_engine=asked.offline
    ) as judge:
        with RunProgress(judge, n_restated(draw), unit="claims") as progress:
            return await restate(draw, pages, judge, seed, progress.one_done)
