"""An experiment's texts written out and made a job.

    design.json     conditions, reports, what was altered, what scores should do
    pages/          the web of the experiment, as `snapshot import` takes it
    snapshot/       made of it
    reports/        one file a report
    run/            an ordinary run: `show`, `rescore` and `export` read it
    results.json    the curves
    curves.svg      the same as a picture; only with the extra `plots`

Invariants: an experiment is run by the same code as any other reports; a directory takes up only the experiment that it
was begun with.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from indexes.making.importing import import_pages
from indexes.snapshot import Snapshot
from local_judge.errors import RunError
from local_judge.lab.experiments.model import Design, Experiment, PlainPage
from local_judge.runs.config import RunConfig, laid_over
from local_judge.runs.job import Job
from local_judge.runs.judges import JudgeSpec
from local_judge.runs.store import RunStore
from serving.connect import PERSISTENT, Persistence

DESIGN = "design.json"
RESULTS = "results.json"
PLOT = "curves.svg"
RUN = "run"


def with_defaults(experiment: Experiment, config: RunConfig) -> RunConfig:
    """`config` with what the experiment chooses where nothing else has: protocols, their parts, claims, the day.

    Its reports state one thing a sentence, so that the sentences are the claims and no judge is asked for them;
    whether a page is reliable is asked where DEER, which alone scores it, is run. RACE goes by its static criteria
    where a task has none, and scores each report alone where a task has no reference.
    """
    protocols = config.protocols if "protocols" in config.model_fields_set else experiment.protocols
    every = experiment.settings | {"race": _race(experiment)}
    usual = {name: every[name] for name in protocols if name in every}
    settings = laid_over(usual, config.settings, nulls=True)
    usual_claims = {"extraction": "sentences", "reliability": "deer" in protocols}
    unset = {key: value for key, value in usual_claims.items() if key not in config.claims.model_fields_set}
    claims = config.claims.model_copy(update=unset)
    return config.model_copy(
        update={
            "protocols": protocols,
            "settings": settings,
            "claims": claims,
            "date": config.date or experiment.today,
        }
    )


def _race(experiment: Experiment) -> dict[str, str]:
    tasks = [report.task for report in experiment.reports if report.task]
    return {
        "criteria": "adaptive" if all(task.criteria for task in tasks) else "static",
        "mode": "reference" if all(task.references for task in tasks) else "pointwise",
    }


def prepare(
    experiment: Experiment,
    out: Path,
    judge_specs: Sequence[JudgeSpec],
    config: RunConfig,
    ledger: Path,
    offline: bool = True,
    persistence: Persistence = PERSISTENT,
) -> Job:
    """Write the experiment's texts, make its snapshot, and give the job.

    Args:
        experiment: what is evaluated.
        out: where all is kept.
        judge_specs: the judges.
        config: settled.
        ledger: the judges' replies.
        offline: refuse every connection but to the judges' servers.
        persistence: how often a call is sent, how long an outage is waited for, how many calls may fail.

    Raises:
        RunError: `out` holds another experiment, or something else.
    """
    store = RunStore(out)
    refuse_other(store, experiment.design)
    store.write_json(DESIGN, experiment.design)
    for report in experiment.reports:
        store.write_text(report.place, report.content.decode("utf-8"))
    _write_pages(store, experiment.pages)
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
    """Refuse a directory that is not this experiment's. What scores should do may differ: it goes by the plans.

    Raises:
        RunError: it holds another experiment, or something else.
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
            f"{store.root}: holds another experiment ({DESIGN}); choose another --out, or delete it"
        )


def _write_pages(store: RunStore, pages: Sequence[PlainPage]) -> None:
    """The pages as a list that holds their texts; the day of a page is that on which it was fetched."""
    rows = [
        {"url": page.url, "title": page.title, "text": page.text}
        | ({"fetched": f"{page.published}T00:00:00Z"} if page.published else {})
        for page in pages
    ]
    store.write_jsonl("pages/pages.jsonl", rows)
