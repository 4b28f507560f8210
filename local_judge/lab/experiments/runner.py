"""An experiment: its run, then its curves.

Invariant: the curves are computed from the run's stored scores alone, so that they can be drawn again without a judge.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from local_judge.lab.experiments.curves import Results, curves_of
from local_judge.lab.experiments.model import Design
from local_judge.lab.experiments.setup import DESIGN, PLOT, RESULTS, RUN
from local_judge.reporting.plots import CurvePanel, can_plot, experiment_curves, svg
from local_judge.runs.job import Job, Watch, run_job
from local_judge.runs.manifest import judges_of, protocols_of
from local_judge.runs.records import ENSEMBLE, CaseRecord, load_scores
from local_judge.runs.store import RunStore
from local_judge.scoring.node import Profile


class ExperimentRun(NamedTuple):
    """What came of an experiment."""

    records: list[CaseRecord]
    results: Results


async def run_experiment(
    job: Job, arguments: Sequence[str], watch: Watch, out: Path, profile: Profile
) -> ExperimentRun:
    """Evaluate the reports of an experiment and write its curves beside them."""
    records = await run_job(job, arguments, watch)
    results = read_results(out, profile, [judge_spec.name for judge_spec in job.judge_specs])
    store = RunStore(out)
    store.write_json(RESULTS, results)
    if can_plot():
        title = f"Experiment {results.design.experiment}"
        store.write_text(PLOT, svg(experiment_curves(panels_of(results)), title))
    return ExperimentRun(records, results)


def panels_of(results: Results) -> list[CurvePanel]:
    """The curves of which something is expected."""
    conditions = results.design.conditions
    panels: list[CurvePanel] = []
    for curve in results.curves:
        expected = curve.expected
        if expected is None:
            continue
        whose = f" ({curve.judge})" if curve.judge is not None else ""
        panels.append(
            CurvePanel(
                title=f"{curve.protocol}: {curve.label}{whose}",
                verdict=f"{expected.shape}: {curve.verdict}",
                labels=[condition.label for condition in conditions],
                x=[condition.x for condition in conditions],
                scale=expected.scale,
                judge=[point.value for point in curve.points],
                ideal=[share * expected.scale for share in expected.ideal],
                paper=[None if share is None else share * expected.scale for share in expected.paper],
            )
        )
    return panels


def read_results(out: Path, profile: Profile, judges: Sequence[str]) -> Results:
    """The curves of the run in an experiment's directory; of several judges, each one's own."""
    design = RunStore(out).read_model(DESIGN, Design)
    run = RunStore(out / RUN)
    rows = load_scores(run, protocols_of(run), judges_of(run) or ENSEMBLE)
    return Results(
        design=design, profile=profile, judges=tuple(judges), curves=tuple(curves_of(design, rows, profile))
    )
