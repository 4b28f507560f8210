"""`local-judge judge calibrate`: calibration of a judge's probabilities."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from indexes.snapshot import Snapshot
from local_judge.base.errors import ConfigError
from local_judge.cli.ending import leave_missing, stoppable
from local_judge.cli.judging import OneJudge
from local_judge.cli.options import (
    AsJson,
    ConfigFile,
    Limit,
    Plot,
    Resamples,
    Seed,
    SomeSnapshotDir,
    View,
)
from local_judge.cli.output import print_json
from local_judge.judge.qualification_record import remembered
from local_judge.lab.annotations.load import annotation_path, load_annotations, snapshot_beside
from local_judge.lab.calibrate import CalibrationReport, LabelledSet, calibrate_judge
from local_judge.lab.calibration_tables import calibration_notes, calibration_tables, reliability_table
from local_judge.lab.labelled_claims import annotated_claims, labelled_claims
from local_judge.lab.verifier_benchmark.rows import LabelledRow, evidence_snapshot, load_sets
from local_judge.ledger.calibrations import CalibrationFile, Method, Objective
from local_judge.reporting.plots import reliability_diagram, require_plots, svg
from local_judge.reporting.progress import RunProgress
from local_judge.reporting.qualification import qualification_lines
from local_judge.runs.planning.run_file import load_config
from local_judge.runs.storage.store import RunStore
from local_judge.stats.calibration.assess import DRAWS, Settings
from local_judge.stats.calibration.fitting import FOLDS
from local_judge.terminal import count, stdout


def calibrate(
    claims: Annotated[
        list[Path],
        typer.Argument(
            help="Planted claims (`local-judge lab plant`), or claims labelled by people (JSONL, CSV or Parquet; or "
            "`sample`)."
        ),
    ],
    judge: OneJudge,
    snapshot: SomeSnapshotDir = None,
    method: Annotated[
        Method,
        typer.Option(
            "--fit",
            help="Model: `beta` (two slopes, intercept), `platt` (slope, intercept) or `temperature` (slope).",
        ),
    ] = "beta",
    objective: Annotated[
        Objective, typer.Option("--objective", help="Metric that the threshold maximises.")
    ] = "accuracy",
    folds: Annotated[
        int, typer.Option("--folds", min=2, help="Number of folds of the cross-validation, split by page.")
    ] = FOLDS,
    seed: Seed = 0,
    resamples: Resamples = DRAWS,
    view: View = None,
    annotated: Annotated[
        list[str] | None,
        typer.Option(
            "--annotated",
            help="Also fit on human labels: NAME.claims.jsonl beside reports and `pages`, folders, or `sample`.",
        ),
    ] = None,
    limit: Limit = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Write the calibrations to this file, for `--calibration`.")
    ] = None,
    plot: Plot = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Fit a judge's probabilities and threshold on labelled claims."""
    if plot is not None:
        require_plots()
    rows, spec, ledger = load_sets(claims), judge.spec(), judge.ledger_beside(out)
    settings = Settings(method=method, objective=objective, folds=folds, seed=seed, draws=resamples)
    loaded = load_config(config, {"claims": {"method": "scored", "view": view}})

    async def calibrated(sets: Sequence[LabelledSet]) -> CalibrationReport:
        async with judge.open(spec, ledger, loaded.reasks) as opened:
            watch = partial(RunProgress, unit="pages")
            return await calibrate_judge(sets, opened, loaded.claims, settings, watch)

    with ExitStack() as stack:
        sets = stack.enter_context(_with_pages(rows, snapshot, limit))
        for given in annotated or ():
            path = annotation_path(given)
            known = annotated_claims(load_annotations([path]))
            sets.append(LabelledSet(known, stack.enter_context(snapshot_beside([path]))))
        stack.enter_context(stoppable(ledger))
        report = asyncio.run(calibrated(sets))
    _write(report, spec.name, out, plot)
    if as_json:
        print_json(report)
    else:
        _print(report, spec.name)
    missing = sum(report.failures.values())
    if missing:
        leave_missing(f"{missing} of {count(report.n_rows, 'answer')}", report.failures)


@contextmanager
def _with_pages(
    rows: Sequence[LabelledRow], snapshot: Path | None, limit: int | None
) -> Generator[list[LabelledSet]]:
    """Yield the first rows of each set: those with `url` and the given snapshot, and those with their own evidence."""
    if snapshot is None and any(row.evidence is None for row in rows):
        raise ConfigError("claims with `url` need a snapshot of their pages; give --snapshot")
    if snapshot is not None and all(row.evidence is not None for row in rows):
        raise ConfigError("--snapshot: every claim has its own `evidence`; leave the option out")
    names = dict.fromkeys(row.set for row in rows)
    chosen = [row for name in names for row in [one for one in rows if one.set == name][:limit]]
    cited = [row for row in chosen if row.evidence is None]
    texts = [row for row in chosen if row.evidence is not None]
    sets = [] if snapshot is None else [LabelledSet(labelled_claims(cited), Snapshot.open(snapshot))]
    with evidence_snapshot(texts) if texts else nullcontext() as pages:
        if pages is not None:
            sets.append(LabelledSet(labelled_claims(texts), pages))
        yield sets


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
