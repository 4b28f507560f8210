"""`local-judge lab experiment`: reports altered on purpose, and whether a judge's scores notice."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer

from local_judge.cli.ending import leave, stoppable
from local_judge.cli.options import (
    ATTEMPTS,
    WAIT_MINUTES,
    AsJson,
    Attempts,
    BaseUrlsByName,
    ConfigFile,
    CriteriaFile,
    FailAfter,
    JudgeNames,
    Ledger,
    Method,
    Offline,
    PlansFile,
    References,
    Settings,
    Terse,
    View,
    WaitForServer,
    claims_settings,
    persistence_of,
)
from local_judge.cli.output import print_json
from local_judge.cli.planned import print_plan
from local_judge.errors import ConfigError, plain
from local_judge.lab.experiments.curves import Results
from local_judge.lab.experiments.model import Experiment, Name
from local_judge.lab.experiments.planning import (
    METHODS,
    PLANS,
    RATINGS,
    PlanResults,
    compare_plans,
    load_ratings,
    with_drafted,
)
from local_judge.lab.experiments.run import (
    PLOT,
    RESULTS,
    RUN,
    experiment_named,
    prepare,
    refuse_other,
    run_experiment,
    with_defaults,
    with_files,
)
from local_judge.lab.experiments.temporal import TIMELINES
from local_judge.lab.experiments.view import notes, plan_tables, results_tables
from local_judge.reporting.plots import INSTALL, can_plot
from local_judge.reporting.progress import RunProgress
from local_judge.reporting.qualification import qualification_lines
from local_judge.runs.config import RunConfig, load_config, parse_settings
from local_judge.runs.job import Job
from local_judge.runs.judges import JudgeSpec, judge_specs_of
from local_judge.runs.lock import locked
from local_judge.runs.qualifications import recorded_qualifications
from local_judge.runs.store import RunStore
from local_judge.scoring.node import Profile
from local_judge.tasks.files import TaskFiles
from local_judge.tasks.plans import PlanMethod
from local_judge.terminal import stdout
from serving.connect import Persistence


def experiment(
    name: Annotated[
        Literal["corruption", "temporal", "reasoning", "plans"], typer.Argument(help="Which experiment.")
    ],
    judge: JudgeNames,
    out: Annotated[Path, typer.Option("--out", help="Where all is kept; the same command continues it.")],
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            help="Your own claim pairs, timelines or pairs of reports, a YAML file; else the package's.",
        ),
    ] = None,
    rates: Annotated[
        str | None, typer.Option("--rates", help="corruption: shares of false claims, such as 0,0.5,1.")
    ] = None,
    topics: Annotated[
        int | None,
        typer.Option("--topics", help="Only the first N claim pairs, timelines or pairs of reports."),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", min=0, help="corruption: of the order in which claims become false."),
    ] = None,
    protocols: Annotated[
        str | None,
        typer.Option("--protocols", help="Which protocols, with commas between, such as dream,fact."),
    ] = None,
    plans: PlansFile = None,
    draft_plans: Annotated[
        PlanMethod | None,
        typer.Option(
            "--draft-plans",
            help="temporal, reasoning: let the first judge draft the plans, by an `agent`, behind one `retrieval` or "
            "by the `request` alone.",
        ),
    ] = None,
    ratings: Annotated[
        list[Path] | None,
        typer.Option(
            "--ratings", help="plans: ratings by people, as in ratings.jsonl; repeat for several files."
        ),
    ] = None,
    references: References = None,
    criteria: CriteriaFile = None,
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
    """Measure how scores react to reports with planted errors, older facts or flawed reasoning."""
    if name == "plans":
        unknown = {
            "--rates": rates,
            "--seed": seed,
            "--protocols": protocols,
            "--plans": plans,
            "--draft-plans": draft_plans,
            "--references": references,
            "--criteria": criteria,
            "--config": config,
            "--set": setting,
            "--method": method,
            "--view": view,
            "--terse": terse or None,
            "--extract": extract or None,
            "--dry-run": dry_run or None,
            "--all": whole or None,
        }
        given = next((option for option, value in unknown.items() if value is not None), None)
        if given is not None:
            raise ConfigError(f"{given}: the experiment plans does not have it")
        persistence = persistence_of(wait_for_server, attempts, fail_after)
        judge_specs = judge_specs_of(judge, base_url or ())
        _compare_plans(topics, data, judge_specs, out, ledger, offline, persistence, ratings or (), as_json)
        return
    if ratings:
        raise ConfigError(f"--ratings: only the experiment plans has it, not {name}")
    if draft_plans is not None:
        _check_drafting(name, plans, dry_run)
    chosen = experiment_named(name, _rates(rates), topics, seed, data)
    chosen = with_files(chosen, TaskFiles(plans=plans, references=tuple(references or ()), criteria=criteria))
    judge_specs = judge_specs_of(judge, base_url or ())
    changes = {
        "protocols": [one.strip() for one in protocols.split(",")] if protocols is not None else None,
        "claims": {"extraction": "judged" if extract else None, **claims_settings(method, view, terse)},
        "settings": parse_settings(setting or ()),
    }
    settled = load_config(config, changes, completed=partial(with_defaults, chosen))
    replies = ledger or RunStore(out / RUN).ledger
    if dry_run:
        with tempfile.TemporaryDirectory(prefix="local-judge-") as nowhere:
            print_plan(prepare(chosen, Path(nowhere), judge_specs, settled, replies, offline), as_json)
        return
    persistence = persistence_of(wait_for_server, attempts, fail_after)
    refuse_other(RunStore(out), chosen.design)
    with locked(out), stoppable(replies):
        job = prepare(chosen, out, judge_specs, settled, replies, offline, persistence)
        if draft_plans is not None:
            chosen = asyncio.run(_with_drafted(chosen, job, out, draft_plans))
            job = prepare(chosen, out, judge_specs, settled, replies, offline, persistence)
        done = asyncio.run(run_experiment(job, sys.argv[1:], RunProgress, out, profile))
    if as_json:
        print_json(done.results)
    else:
        _print_results(done.results, job, out, whole)
    leave(done.records, job.store.root)


def _check_drafting(name: Name, plans: Path | None, dry_run: bool) -> None:
    if name == "corruption":
        raise ConfigError("--draft-plans: the experiment corruption goes by no plans")
    if plans is not None:
        raise ConfigError("--draft-plans and --plans: choose one of them")
    if dry_run:
        raise ConfigError(
            "--draft-plans: what is asked about reports is known once plans are drafted, not before"
        )


async def _with_drafted(chosen: Experiment, job: Job, out: Path, method: PlanMethod) -> Experiment:
    assert job.snapshot is not None
    async with job.judges() as judges:
        return await with_drafted(chosen, next(iter(judges.values())), job.snapshot, out, method)


def _compare_plans(
    topics: int | None,
    data: Path | None,
    judge_specs: Sequence[JudgeSpec],
    out: Path,
    ledger: Path | None,
    offline: bool,
    persistence: Persistence,
    ratings: Sequence[Path],
    as_json: bool,
) -> None:
    chosen = experiment_named("temporal", None, topics, None, data)
    people = [one for path in ratings for one in load_ratings(path)]
    replies = ledger or RunStore(out / RUN).ledger
    refuse_other(RunStore(out), chosen.design)

    async def compared(job: Job) -> PlanResults:
        assert job.snapshot is not None
        async with job.judges() as judges:
            total = len(METHODS) * len(chosen.tasks)
            with RunProgress(judges, total, unit="plans") as progress:
                return await compare_plans(
                    judges, job.snapshot, chosen, out, people, data or TIMELINES, progress.one_done
                )

    with locked(out), stoppable(replies):
        job = prepare(chosen, out, judge_specs, RunConfig(), replies, offline, persistence)
        results = asyncio.run(compared(job))
        RunStore(out).write_json(PLANS, results)
    if as_json:
        print_json(results)
    else:
        for table in plan_tables(results):
            stdout().print(table, end="\n\n")
        for one in results.undrafted:
            failure = one.failure
            print(plain(f"no plan by {one.method} for {one.task_id}: {failure.kind}: {failure.detail}"))
        print(
            plain(
                f"{out / PLANS} has the figures, {out / RATINGS} the judges' ratings, plans.*.jsonl the plans"
            )
        )
    if any(one.n_drafted < one.n_tasks for one in results.drafted):
        raise SystemExit(3)


def _print_results(results: Results, job: Job, out: Path, whole: bool) -> None:
    console = stdout()
    for table in results_tables(results, whole):
        console.print(table, end="\n\n")
    for line in notes(results):
        console.print(line, soft_wrap=True)
    for line in qualification_lines(recorded_qualifications(job.store), job.config.protocols):
        console.print(line, markup=False, soft_wrap=True)
    run = f"{job.store.root} is the run"
    if can_plot():
        console.print(f"{out / RESULTS} and {out / PLOT} have the curves, {run}", soft_wrap=True)
    else:
        console.print(f"{out / RESULTS} has the curves, {run}; {INSTALL}", markup=False, soft_wrap=True)


def _rates(given: str | None) -> list[float] | None:
    if given is None:
        return None
    try:
        return [float(rate) for rate in given.split(",")]
    except ValueError:
        raise ConfigError(f"--rates {given}: expected numbers with commas between, such as 0,0.5,1") from None
