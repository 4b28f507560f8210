"""`local-judge judge calibrate`: what a judge's yes is worth."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from indexes.snapshot import Snapshot
from local_judge.cli.ending import leave_missing, stoppable
from local_judge.cli.options import (
    AsJson,
    BaseUrls,
    ConfigFile,
    JudgeName,
    Offline,
    Resamples,
    SnapshotDir,
    View,
)
from local_judge.cli.output import print_json
from local_judge.judge.calibration import CalibrationFile, Method, Objective
from local_judge.judge.qualification_record import remembered
from local_judge.lab.annotations.load import annotation_path, load_annotations, snapshot_beside
from local_judge.lab.calibrate import CalibrationReport, LabelledSet, calibrate_judge
from local_judge.lab.calibration_tables import calibration_notes, calibration_tables, reliability_table
from local_judge.lab.labelled_claims import annotated_claims, load_labelled
from local_judge.reporting.plots import reliability_diagram, require_plots, svg
from local_judge.reporting.progress import RunProgress
from local_judge.reporting.qualification import qualification_lines
from local_judge.runs.config import RunConfig, load_config
from local_judge.runs.judges import open_judge
from local_judge.runs.store import RunStore
from local_judge.stats.calibration.assess import DRAWS, Settings
from local_judge.stats.calibration.fitting import FOLDS
from local_judge.terminal import count, stdout
from serving.presets import Preset, load_preset


def calibrate(
    planted: Annotated[
        Path,
        typer.Argument(
            help="A JSONL file of claims with `claim`, `url` and `true` (`local-judge lab plant`)."
        ),
    ],
    snapshot: SnapshotDir,
    judge: JudgeName,
    ledger: Annotated[
        Path, typer.Option("--ledger", help="Where replies and calibrations of the judge are kept.")
    ],
    method: Annotated[
        Method,
        typer.Option(
            "--fit", help="`beta`: two slopes, intercept; `platt`: slope, intercept; `temperature`: slope."
        ),
    ] = "beta",
    objective: Annotated[
        Objective, typer.Option("--objective", help="What the threshold makes greatest.")
    ] = "accuracy",
    folds: Annotated[
        int,
        typer.Option("--folds", min=2, help="Folds of the cross-validation, by page."),
    ] = FOLDS,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the folds and the bootstrap.")] = 0,
    resamples: Resamples = DRAWS,
    view: View = None,
    annotated: Annotated[
        list[str] | None,
        typer.Option(
            "--annotated",
            help="Fit on people's claims too: NAME.claims.jsonl beside reports and `pages`, folders, or `sample`.",
        ),
    ] = None,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Only the first N claims.")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Write the calibrations here, for `--calibration`.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Draw the reliability diagram into this SVG file.")
    ] = None,
    base_url: BaseUrls = None,
    config: ConfigFile = None,
    offline: Offline = True,
    as_json: AsJson = False,
) -> None:
    """Fit a judge's probabilities and threshold on labelled claims."""
    if plot is not None:
        require_plots()
    rows = load_labelled(planted)[:limit]
    settings = Settings(method=method, objective=objective, folds=folds, seed=seed, draws=resamples)
    loaded = load_config(config, {"claims": {"method": "scored", "view": view}})
    sets = [LabelledSet(rows, Snapshot.open(snapshot))]
    preset = load_preset(judge)
    with ExitStack() as stack:
        for given in annotated or ():
            path = annotation_path(given)
            known = annotated_claims(load_annotations([path]))
            sets.append(LabelledSet(known, stack.enter_context(snapshot_beside([path]))))
        stack.enter_context(stoppable(ledger))
        report = asyncio.run(_calibrate(sets, preset, loaded, settings, base_url or (), ledger, offline))
    _write(report, preset.name, out, plot)
    if as_json:
        print_json(report)
    else:
        _print(report, preset.name)
    missing = sum(report.failures.values())
    if missing:
        leave_missing(f"{missing} of {count(report.n_rows, 'answer')}")


async def _calibrate(
    sets: Sequence[LabelledSet],
    preset: Preset,
    config: RunConfig,
    settings: Settings,
    base_urls: Sequence[str],
    ledger: Path,
    offline: bool,
) -> CalibrationReport:
    async with open_judge(
        preset, base_urls=base_urls, ledger=ledger, reasks=config.reasks, only_engine=offline
    ) as judge:
        watch = partial(RunProgress, unit="pages")
        return await calibrate_judge(sets, judge, config.claims, settings, watch)


def _write(report: CalibrationReport, judge: str, out: Path | None, plot: Path | None) -> None:
    if out is not None:
        file = CalibrationFile(calibrations=report.calibrations)
        RunStore(out.parent).write_json(out.name, file)
    pooled = report.reports[0]
    if plot is not None and pooled.before is not None and pooled.after is not None:
        panels = [
            ("before: P(yes)", pooled.before.bins),
            ("after calibration, out of fold", pooled.after.bins),
        ]
        title = f"{judge}: does the page state the claim? {count(pooled.after.n, 'claim')}"
        RunStore(plot.parent).write_text(plot.name, svg(reliability_diagram(title, panels), title))


def _print(report: CalibrationReport, judge: str) -> None:
    console = stdout()
    for table in calibration_tables(report):
        console.print(table)
    pooled = report.reports[0]
    for when, found in (("before", pooled.before), ("after, out of fold", pooled.after)):
        if found is not None:
            console.print(reliability_table(f"reliability, {when}", found.bins))
    for line in calibration_notes(report):
        console.print(line, soft_wrap=True)
    for line in qualification_lines({judge: remembered(report.judge)}):
        console.print(line, markup=False, soft_wrap=True)
