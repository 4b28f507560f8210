"""`local-judge lab experiment`: reaction of scores to deliberately altered reports."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer

from local_judge.base.errors import ConfigError, plain
from local_judge.cli.ending import leave, stoppable
from local_judge.cli.help import CLAIMS, TASK_FILES
from local_judge.cli.judging import CriteriaFile, PlansFile, References, SeveralJudges
from local_judge.cli.options import (
    SEED,
    AsJson,
    ClaimOptions,
    ConfigFile,
    DryRun,
    ProfileName,
    Protocols,
    Settings,
)
from local_judge.cli.output import print_json
from local_judge.cli.planned import print_plan
from local_judge.lab.experiments.curves import Results
from local_judge.lab.experiments.model import Experiment, Name
from local_judge.lab.experiments.paper import plan_rubric_of, reasoning_requests
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
from local_judge.runs.execution.job import Job
from local_judge.runs.execution.qualifications import recorded_qualifications
from local_judge.runs.planning.config import RunConfig, parse_settings
from local_judge.runs.planning.run_file import load_config
from local_judge.runs.storage.lock import locked
from local_judge.runs.storage.store import RunStore
from local_judge.scoring.node import Profile
from local_judge.tasks.files import TaskFiles
from local_judge.tasks.plans import PlanMethod
from local_judge.terminal import stdout

TASKS = "tasks.jsonl"
"""Requests of the paper."""


def experiment(
    name: Annotated[
        Literal["corruption", "temporal", "reasoning", "plans"],
        typer.Argument(help="Experiment: corruption, temporal, reasoning or plans."),
    ],
    judge: SeveralJudges,
    how: ClaimOptions,
    out: Annotated[
        Path,
        typer.Option("--out", help="Directory for all files; the same command continues it."),
    ],
    data: Annotated[
        str | None,
        typer.Option(
            "--data",
            metavar="FILE",
            help="YAML file of claim pairs, timelines or pairs of reports; `paper=FILE`: text of DREAM's paper.",
            show_default="the packaged ones",
        ),
    ] = None,
    rates: Annotated[
        str | None, typer.Option("--rates", help="Fractions of false claims for corruption, such as 0,0.5,1.")
    ] = None,
    topics: Annotated[
        int | None,
        typer.Option("--topics", help="Use only the first N claim pairs, timelines or pairs of reports."),
    ] = None,
    seed: Annotated[int | None, SEED] = None,
    protocol: Protocols = None,
    plans: PlansFile = None,
    draft_plans: Annotated[
        PlanMethod | None,
        typer.Option(
            "--draft-plans",
            help="Let the first judge draft the plans for temporal or reasoning with an `agent`, one `retrieval` or "
            "the `request` alone.",
            rich_help_panel=TASK_FILES,
        ),
    ] = None,
    ratings: Annotated[
        list[Path] | None,
        typer.Option(
            "--ratings",
            help="File of human ratings for plans, in the format of ratings.jsonl; repeatable.",
            rich_help_panel=TASK_FILES,
        ),
    ] = None,
    references: References = None,
    criteria: CriteriaFile = None,
    config: ConfigFile = None,
    setting: Settings = None,
    extract: Annotated[
        bool,
        typer.Option(
            "--extract",
            help="Let the judge extract the claims; by default, each sentence is one claim.",
            rich_help_panel=CLAIMS,
        ),
    ] = False,
    profile: ProfileName = "paper",
    dry_run: DryRun = False,
    whole: Annotated[
        bool,
        typer.Option("--all", help="Print all scores, not only overall scores and those that should change."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Measure how scores react to reports with planted errors, older facts or flawed reasoning.

    The experiment `plans` compares ways of drafting evaluation plans.
    """
    own, paper = _data(data)
    if name == "plans":
        _refuse_for_plans(
            {
                "--rates": rates,
                "--seed": seed,
                "--protocol": protocol,
                "--plans": plans,
                "--draft-plans": draft_plans,
                "--references": references,
                "--criteria": criteria,
                "--config": config,
                "--set": setting,
                "--method": how.method,
                "--view": how.view,
                "--terse": how.terse or None,
                "--extract": extract or None,
                "--dry-run": dry_run or None,
                "--all": whole or None,
            }
        )
        _compare_plans(judge, topics, own, paper, out, ratings or (), as_json)
        return
    if ratings:
        raise ConfigError(f"--ratings: only the experiment plans uses ratings, not {name}")
    if draft_plans is not None:
        _check_drafting(name, plans, dry_run)
    if name == "reasoning" and paper is not None:
        _write_requests(paper, out)
        return
    chosen = experiment_named(name, _rates(rates), topics, seed, own, paper)
    chosen = with_files(chosen, TaskFiles(plans=plans, references=tuple(references or ()), criteria=criteria))
    changes = {
        "protocols": protocol,
        "claims": {"extraction": "judged" if extract else None, **how.changes()},
        "settings": parse_settings(setting or ()),
    }
    settled = load_config(config, changes, completed=partial(with_defaults, chosen))
    make_job = partial(
        prepare,
        judge_specs=judge.specs(*judge.judge),
        config=settled,
        ledger=judge.ledger_or(RunStore(out / RUN).ledger),
        offline=judge.offline,
        persistence=judge.persistence,
    )
    if dry_run:
        with tempfile.TemporaryDirectory(prefix="local-judge-") as nowhere:
            print_plan(make_job(chosen, Path(nowhere)), as_json)
    else:
        _run(chosen, make_job, out, draft_plans, profile, whole, as_json)


def _data(given: str | None) -> tuple[Path | None, Path | None]:
    """Return a data file, and the text of the paper; at most one of them."""
    if given is None:
        return None, None
    source, sign, file = given.partition("=")
    return (None, Path(file)) if sign and source == "paper" else (Path(given), None)


def _write_requests(paper: Path, out: Path) -> None:
    """Write the paper's requests as tasks, because it prints no reports that could be evaluated."""
    requests = reasoning_requests(paper)
    store = RunStore(out)
    tasks = [{"id": f"dream-{number}", "prompt": request} for number, request in enumerate(requests, 1)]
    store.write_jsonl(TASKS, tasks)
    print(
        plain(
            f"{out / TASKS} has the {len(tasks)} requests of DREAM, Table 6; the paper prints no reports, so evaluate "
            "your own with `local-judge run`: a sound and a flawed one on each"
        )
    )


def _run(
    chosen: Experiment,
    make_job: Callable[[Experiment, Path], Job],
    out: Path,
    draft_plans: PlanMethod | None,
    profile: Profile,
    whole: bool,
    as_json: bool,
) -> None:
    """Evaluate the reports of an experiment, and print how the scores react."""
    refuse_other(RunStore(out), chosen.design)
    with locked(out):
        job = make_job(chosen, out)
        with stoppable(job.ledger):
            if draft_plans is not None:
                chosen = asyncio.run(_with_drafted(chosen, job, out, draft_plans))
                job = make_job(chosen, out)
            done = asyncio.run(run_experiment(job, RunProgress, out, profile))
    if as_json:
        print_json(done.results)
    else:
        _print_results(done.results, job, out, whole)
    leave(done.records, job.store.root)


def _refuse_for_plans(options: Mapping[str, object]) -> None:
    for option, value in options.items():
        if value is not None:
            raise ConfigError(f"{option}: the experiment plans does not have this option")


def _check_drafting(name: Name, plans: Path | None, dry_run: bool) -> None:
    if name == "corruption":
        raise ConfigError("--draft-plans: the experiment corruption uses no plans")
    if plans is not None:
        raise ConfigError("--draft-plans and --plans exclude each other; choose one")
    if dry_run:
        raise ConfigError(
            "--draft-plans: --dry-run needs finished plans, because the calls depend on them; give --plans FILE"
        )


async def _with_drafted(chosen: Experiment, job: Job, out: Path, method: PlanMethod) -> Experiment:
    assert job.snapshot is not None
    async with job.judges() as judges:
        return await with_drafted(chosen, next(iter(judges.values())), job.snapshot, out, method)


def _compare_plans(
    judge: SeveralJudges,
    topics: int | None,
    data: Path | None,
    paper: Path | None,
    out: Path,
    ratings: Sequence[Path],
    as_json: bool,
) -> None:
    """Draft plans by each method, have the judges rate them, and print both."""
    specs = judge.specs(*judge.judge)
    chosen = experiment_named("temporal", None, topics, None, data)
    people = [one for path in ratings for one in load_ratings(path)]
    rubric = None if paper is None else plan_rubric_of(paper)
    replies = judge.ledger_or(RunStore(out / RUN).ledger)
    refuse_other(RunStore(out), chosen.design)

    async def compared(job: Job) -> PlanResults:
        assert job.snapshot is not None
        async with job.judges() as judges:
            total = len(METHODS) * len(chosen.tasks)
            with RunProgress(judges, total, unit="plans") as progress:
                return await compare_plans(
                    judges,
                    job.snapshot,
                    chosen,
                    out,
                    people,
                    data or TIMELINES,
                    rubric,
                    progress.one_done,
                )

    with locked(out), stoppable(replies):
        job = prepare(chosen, out, specs, RunConfig(), replies, judge.offline, judge.persistence)
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
        raise ConfigError(f"--rates {given}: expected numbers separated by commas, such as 0,0.5,1") from None
