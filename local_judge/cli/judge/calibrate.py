"""`local-judge judge calibrate`: calibration of a judge's probabilities."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from local_judge.base.output import count
from local_judge.cli.ending import leave_missing, stoppable
from local_judge.cli.judging import OneJudge
from local_judge.cli.options import (
    AsJson,
    ConfigFile,
    Limit,
    Resamples,
    Seed,
    SomeSnapshotDir,
    View,
)
from local_judge.cli.output import print_json
from local_judge.judge.qualification_record import remembered
from local_judge.lab.annotations.load import annotation_path, load_annotations, snapshot_beside
from local_judge.lab.annotations.model import annotated_claims
from local_judge.lab.calibrate import CalibrationReport, calibrate_judge
from local_judge.lab.calibration_tables import calibration_notes, calibration_tables, reliability_table
from local_judge.lab.labelled.answers import by_page
from local_judge.lab.labelled.load import load_sets, snapshot_of, with_pages
from local_judge.lab.labelled.model import LabelledSet
from local_judge.ledger.calibrations import CalibrationFile, Method, Objective
from local_judge.reporting.progress import RunProgress
from local_judge.reporting.qualification import qualification_lines
from local_judge.runs.planning.run_file import load_config
from local_judge.runs.storage.store import RunStore
from local_judge.stats.calibration.assess import DRAWS, Settings
from local_judge.stats.calibration.fitting import FOLDS
from local_judge.terminal import stdout


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
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Fit a judge's probabilities and threshold on labelled claims."""
    rows, spec, ledger = load_sets(claims), judge.spec(), judge.ledger_beside(out)
    settings = Settings(method=method, objective=objective, folds=folds, seed=seed, draws=resamples)
    loaded = load_config(config, {"claims": {"method": "scored", "view": view}})

    async def calibrated(sets: Sequence[LabelledSet]) -> CalibrationReport:
        async with judge.open(spec, ledger, loaded.reasks) as opened:
            n_pages = sum(len(by_page(known.claims)) for known in sets)
            with RunProgress(opened, n_pages, unit="pages") as progress:
                return await calibrate_judge(sets, opened, loaded.claims, settings, progress.one_done)

    with ExitStack() as stack:
        names = dict.fromkeys(row.set for row in rows)
        first = [row for name in names for row in [one for one in rows if one.set == name][:limit]]
        sets = stack.enter_context(with_pages(first, snapshot_of(snapshot, rows)))
        for given in annotated or ():
            path = annotation_path(given)
            known = annotated_claims(load_annotations([path]))
            sets.append(LabelledSet(known, stack.enter_context(snapshot_beside([path]))))
        stack.enter_context(stoppable(ledger))
        report = asyncio.run(calibrated(sets))
    if out is not None:
        RunStore(out.parent).write_json(out.name, CalibrationFile(calibrations=report.calibrations))
    if as_json:
        print_json(report)
    else:
        _print(report, spec.name)
    missing = sum(report.failures.values())
    if missing:
        leave_missing(f"{missing} of {count(report.n_rows, 'answer')}", report.failures)


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
