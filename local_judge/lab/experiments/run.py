"""Runs an experiment: chooses it, writes its texts, evaluates them, and computes the curves.

    design.json     conditions, reports, alterations, expectations
    pages/          the web of the experiment, as `snapshot import` takes it
    snapshot/       snapshot of these pages
    reports/        one file per report
    run/            an ordinary run: `show`, `rescore` and `export` read it
    results.json    the curves

Invariants: an experiment uses the same code as any other reports. A directory continues only the experiment that it was
begun with. Curves are computed from the run's stored scores alone, so that they can be computed again without a judge.
An option that an experiment does not have is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from indexes.making.importing import import_pages
from indexes.snapshot import Snapshot
from local_judge.base.errors import ConfigError, RunError
from local_judge.lab.experiments.corruption import CLAIM_PAIRS, RATES, corruption
from local_judge.lab.experiments.curves import Results, curves_of
from local_judge.lab.experiments.model import Design, Experiment, Name
from local_judge.lab.experiments.paper import claim_pairs
from local_judge.lab.experiments.reasoning import ARGUMENT_PAIRS, reasoning
from local_judge.lab.experiments.temporal import TIMELINES, expectations, temporal
from local_judge.runs.execution.job import Job, Watch, run_job
from local_judge.runs.execution.judges import JudgeSpec
from local_judge.runs.planning.config import RunConfig, laid_over
from local_judge.runs.planning.inputs import joined
from local_judge.runs.storage.manifest import judges_of, protocols_of
from local_judge.runs.storage.records import ENSEMBLE, CaseRecord, load_scores
from local_judge.runs.storage.store import RunStore
from local_judge.scoring.node import Profile
from local_judge.tasks.files import TaskFiles, joins
from serving.engines import PERSISTENT, Persistence

DESIGN, RESULTS, RUN = "design.json", "results.json", "run"


def experiment_named(
    name: Name,
    rates: Sequence[float] | None = None,
    n_entries: int | None = None,
    seed: int | None = None,
    data: Path | None = None,
    paper: Path | None = None,
) -> Experiment:
    """Return an experiment by name.

    Args:
        name: the name.
        rates: rates of `corruption`; None for the default.
        n_entries: number of claim pairs, timelines or pairs of reports, the first ones; None for all.
        seed: seed of `corruption`; None for 0.
        data: a data file of the experiment; None for the packaged one.
        paper: text of DREAM's paper, from which `corruption` takes its claim pairs.

    Raises:
        ConfigError: an option that the experiment does not have, or a value that is out of range.
        InputError: `data` or `paper` cannot be used.
    """
    if name == "corruption":
        pairs = None if paper is None else claim_pairs(paper)
        rates = RATES if rates is None else rates
        return corruption(rates, n_entries, seed or 0, data or CLAIM_PAIRS, pairs)
    for option, value in (("--rates", rates), ("--seed", seed)):
        if value is not None:
            raise ConfigError(f"{option}: only the experiment corruption has this option, not {name}")
    if paper is not None:
        raise ConfigError(f"--data paper={paper}: the paper prints neither pages nor reports for {name}")
    if name == "temporal":
        return temporal(n_entries, data or TIMELINES)
    return reasoning(n_entries, data or ARGUMENT_PAIRS)


def with_files(experiment: Experiment, files: TaskFiles) -> Experiment:
    """Join the contents of files to the tasks of the experiment.

    A file of plans replaces all plans: a task that it lacks has none, so that plans of two kinds are never mixed.

    Raises:
        InputError: a file cannot be used, or has nothing for any task.
    """
    reports = list(experiment.reports)
    if files.plans is not None:
        bare = {task.id: task.model_copy(update={"plan": None}) for task in experiment.tasks}
        reports = [report._replace(task=bare[report.task.id] if report.task else None) for report in reports]
    for join in joins(files):
        reports = joined(reports, join)
    made = experiment._replace(reports=tuple(reports))
    return made.expecting(expectations(made)) if made.design.experiment == "temporal" else made


def with_defaults(experiment: Experiment, config: RunConfig) -> RunConfig:
    """Complete `config` with the defaults of the experiment: protocols, their parts, claims, the day.

    The reports state one thing per sentence, so that the sentences are the claims and no judge extracts them. The
    reliability of pages is asked only for DEER, which alone scores it. RACE uses its static criteria if a task has
    none, and scores each report alone if a task has no reference.
    """
    protocols = config.protocols if "protocols" in config.model_fields_set else experiment.protocols
    tasks = experiment.tasks
    race = {
        "criteria": "adaptive" if all(task.criteria for task in tasks) else "static",
        "mode": "reference" if all(task.references for task in tasks) else "pointwise",
    }
    every = experiment.settings | {"race": race}
    usual = {name: every[name] for name in protocols if name in every}
    usual_claims = {"extraction": "sentences", "reliability": "deer" in protocols}
    unset = {key: value for key, value in usual_claims.items() if key not in config.claims.model_fields_set}
    return config.model_copy(
        update={
            "protocols": protocols,
            "settings": laid_over(usual, config.settings, nulls=True),
            "claims": config.claims.model_copy(update=unset),
            "date": config.date or experiment.today,
        }
    )


def prepare(
    experiment: Experiment,
    out: Path,
    judge_specs: Sequence[JudgeSpec],
    config: RunConfig,
    ledger: Path,
    offline: bool = True,
    persistence: Persistence = PERSISTENT,
) -> Job:
    """Write the texts of the experiment, make its snapshot, and return the job.

    Args:
        experiment: reports to evaluate.
        out: directory of the experiment.
        judge_specs: the judges.
        config: settled config.
        ledger: file of the judges' replies.
        offline: refuse every connection except to the judges' servers.
        persistence: retries of a call, waiting time in an outage, and failed calls that stop the run.

    Raises:
        RunError: `out` contains another experiment, or other files.
    """
    store = RunStore(out)
    refuse_other(store, experiment.design)
    store.write_json(DESIGN, experiment.design)
    for report in experiment.reports:
        store.write_text(report.place, report.content.decode("utf-8"))
    rows = [
        {"url": page.url, "title": page.title, "text": page.text}
        | ({"fetched": f"{page.published}T00:00:00Z"} if page.published else {})
        for page in experiment.pages
    ]
    store.write_jsonl("pages/pages.jsonl", rows)
    import_pages(out / "pages", out / "snapshot")
    return Job(
        reports=experiment.reports,
        snapshot=Snapshot.open(out / "snapshot"),
        judge_specs=judge_specs,
        config=config,
        store=RunStore(out / RUN),
        ledger=ledger,
        offline=offline,
        persistence=persistence,
    )


def refuse_other(store: RunStore, design: Design) -> None:
    """Refuse a directory of another experiment. Expectations may differ, because they depend on the plans.

    Raises:
        RunError: the directory contains another experiment, or other files.
    """
    try:
        names = sorted(entry.name for entry in store.root.iterdir()) if store.root.exists() else []
    except OSError as error:
        raise RunError(f"{store.root}: cannot hold an experiment ({error.strerror or error})") from None
    if DESIGN not in names:
        if any(not name.startswith(".") for name in names):
            raise RunError(f"{store.root}: not empty and no experiment; choose another --out")
        return
    kept = store.read_model(DESIGN, Design)
    if kept.model_copy(update={"expectations": design.expectations}) != design:
        raise RunError(
            f"{store.root}: contains another experiment ({DESIGN}); choose another --out, or delete it"
        )


class ExperimentRun(NamedTuple):
    """Result of an experiment."""

    records: list[CaseRecord]
    results: Results


async def run_experiment(job: Job, watch: Watch, out: Path, profile: Profile) -> ExperimentRun:
    """Evaluate the reports of an experiment, and write its curves."""
    records = await run_job(job, watch)
    store, run = RunStore(out), RunStore(out / RUN)
    design = store.read_model(DESIGN, Design)
    rows = load_scores(run, protocols_of(run), judges_of(run) or ENSEMBLE)
    results = Results(
        design=design,
        profile=profile,
        judges=tuple(judge_spec.name for judge_spec in job.judge_specs),
        curves=tuple(curves_of(design, rows, profile)),
    )
    store.write_json(RESULTS, results)
    return ExperimentRun(records, results)
