"""`local-judge experiment`: reports altered on purpose, and whether a judge's scores notice."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from local_judge.cli.ending import leave, stoppable
from local_judge.cli.options import (
    ATTEMPTS,
    WAIT_MINUTES,
    AsJson,
    Attempts,
    BaseUrlsByName,
    ConfigFile,
    FailAfter,
    JudgeNames,
    Ledger,
    Method,
    Offline,
    Settings,
    Terse,
    View,
    WaitForServer,
    claims_settings,
    persistence_of,
)
from local_judge.cli.planned import print_plan
from local_judge.errors import ConfigError
from local_judge.experiments.carry import carry
from local_judge.experiments.curves import Results
from local_judge.experiments.model import Name
from local_judge.experiments.named import experiment_named
from local_judge.experiments.setup import PLOT, RESULTS, RUN, prepare, refuse_other, with_defaults
from local_judge.experiments.view import notes, results_tables
from local_judge.protocols.scores import Profile
from local_judge.reporting.progress import RunProgress
from local_judge.reporting.standings import standing_lines
from local_judge.reporting.tables import stdout
from local_judge.runs.config import load_config, parse_settings
from local_judge.runs.job import Job
from local_judge.runs.lock import locked
from local_judge.runs.seats import seats_of
from local_judge.runs.standings import recorded_standings
from local_judge.runs.store import RunStore


def experiment(
    name: Annotated[Name, typer.Argument(help="Which experiment.")],
    judge: JudgeNames,
    out: Annotated[Path, typer.Option("--out", help="Where all is kept; the same command continues it.")],
    rates: Annotated[
        str | None, typer.Option("--rates", help="corruption: shares of false claims, such as 0,0.5,1.")
    ] = None,
    topics: Annotated[
        int | None,
        typer.Option("--topics", help="Only the first N claim pairs, affairs or pairs of reports."),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", min=0, help="corruption: of the order in which claims become false."),
    ] = None,
    protocols: Annotated[
        str | None,
        typer.Option("--protocols", help="Which protocols, with commas between, such as dream,fact."),
    ] = None,
    base_url: BaseUrlsByName = None,
    config: ConfigFile = None,
    setting: Settings = None,
    method: Method = None,
    view: View = None,
    terse: Terse = False,
    extract: Annotated[
        bool, typer.Option("--extract", help="Have the judge extract the claims; else each sentence is one.")
    ] = False,
    ledger: Ledger = None,
    profile: Annotated[Profile, typer.Option("--profile", help="By which formulas.")] = "paper",
    offline: Offline = True,
    wait_for_server: WaitForServer = WAIT_MINUTES,
    attempts: Attempts = ATTEMPTS,
    fail_after: FailAfter = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would be asked, and ask nothing.")
    ] = False,
    whole: Annotated[
        bool,
        typer.Option(
            "--all", help="Print every score, not only overall ones and those that should do something."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Judge a judge: reports with planted errors, of earlier days, or with flawed reasoning, and what scores say."""
    chosen = experiment_named(name, _rates(rates), topics, seed)
    seats = seats_of(judge, base_url or ())
    changes = {
        "protocols": [one.strip() for one in protocols.split(",")] if protocols is not None else None,
        "claims": {"extraction": "judged" if extract else None, **claims_settings(method, view, terse)},
        "settings": parse_settings(setting or ()),
    }
    settled = load_config(config, changes, completed=partial(with_defaults, chosen))
    replies = ledger or RunStore(out / RUN).ledger
    if dry_run:
        with tempfile.TemporaryDirectory(prefix="local-judge-") as nowhere:
            print_plan(prepare(chosen, Path(nowhere), seats, settled, replies, offline), as_json)
        return
    persistence = persistence_of(wait_for_server, attempts, fail_after)
    refuse_other(RunStore(out), chosen.design)
    with locked(out), stoppable(replies):
        job = prepare(chosen, out, seats, settled, replies, offline, persistence)
        carried = asyncio.run(carry(job, sys.argv[1:], RunProgress, out, profile))
    if as_json:
        print(carried.results.model_dump_json())
    else:
        _print_results(carried.results, job, out, whole)
    leave(carried.records, job.store.root)


def _print_results(results: Results, job: Job, out: Path, whole: bool) -> None:
    console = stdout()
    for table in results_tables(results, whole):
        console.print(table, end="\n\n")
    for line in notes(results):
        console.print(line, soft_wrap=True)
    for line in standing_lines(recorded_standings(job.store), job.config.protocols):
        console.print(line, markup=False, soft_wrap=True)
    console.print(
        f"{out / RESULTS} and {out / PLOT} have the curves, {job.store.root} is the run", soft_wrap=True
    )


def _rates(given: str | None) -> list[float] | None:
    if given is None:
        return None
    try:
        return [float(rate) for rate in given.split(",")]
    except ValueError:
        raise ConfigError(f"--rates {given}: expected numbers with commas between, such as 0,0.5,1") from None
