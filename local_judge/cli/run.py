"""`local-judge run`: evaluate reports."""

from __future__ import annotations

import asyncio
import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from indexes.snapshot import Snapshot
from local_judge.cli.ending import leave, stoppable
from local_judge.cli.judging import CalibrationFiles, QualificationFiles, SeveralJudges, TaskFileOptions
from local_judge.cli.options import (
    AsJson,
    ClaimOptions,
    ConfigFile,
    Day,
    DryRun,
    Limit,
    Protocols,
    Settings,
    SomeSnapshotDir,
    SystemName,
    said,
)
from local_judge.cli.output import print_json
from local_judge.cli.planned import print_plan
from local_judge.cli.run_output import (
    Results,
    WithAllScores,
    WithBounds,
    WithProfile,
    WithReports,
    print_results,
)
from local_judge.reporting.progress import RunProgress
from local_judge.reporting.run_tables import TableOptions
from local_judge.runs.calibrations import given_calibrations
from local_judge.runs.config import load_config, parse_settings, with_batch_metrics
from local_judge.runs.inputs import dated, load_reports
from local_judge.runs.job import Job, run_job
from local_judge.runs.qualifications import (
    load_qualification,
)
from local_judge.runs.store import RunStore


def run(
    reports: Annotated[
        list[Path], typer.Argument(help="Reports: Markdown files, folders of them, or JSONL files.")
    ],
    judge: SeveralJudges,
    out: Annotated[Path, typer.Option("--out", help="The run directory; the same command continues it.")],
    how: ClaimOptions,
    material: TaskFileOptions,
    snapshot: SomeSnapshotDir = None,
    system: SystemName = None,
    protocol: Protocols = None,
    date: Day = None,
    config: ConfigFile = None,
    setting: Settings = None,
    calibration: CalibrationFiles = None,
    qualification: QualificationFiles = None,
    limit: Limit = None,
    dry_run: DryRun = False,
    with_reports: WithReports = False,
    all_scores: WithAllScores = False,
    bounds: WithBounds = False,
    profile: WithProfile = None,
    as_json: AsJson = False,
) -> None:
    """Evaluate reports by one or several protocols, and print their scores."""
    store = RunStore(out)
    specs = judge.specs(*judge.judge)
    changes = {
        "protocols": protocol or None,
        "claims": how.changes(),
        "date": date,
        "settings": parse_settings(setting or ()),
    }
    settled = load_config(config, changes, completed=partial(with_batch_metrics, reports))
    loaded = load_reports(
        reports,
        material.files(),
        system=None if system is None else said("--system", system),
        open_dates=settled.date is not None,
    )
    job = Job(
        reports=dated(loaded[:limit], settled.date),
        snapshot=Snapshot.open(snapshot) if snapshot else None,
        judge_specs=specs,
        config=settled,
        store=store,
        ledger=judge.ledger_or(store.ledger),
        offline=judge.offline,
        calibrations=given_calibrations(calibration or (), settled.claims),
        qualifications=[load_qualification(path) for path in qualification or ()],
        persistence=judge.persistence,
    )
    if dry_run:
        print_plan(job, as_json)
        return
    with stoppable(job.ledger):
        records = asyncio.run(run_job(job, sys.argv[1:], RunProgress))
    found = Results.load(job.store, records)
    if as_json:
        print_json(found.as_json(every_judge=True))
    else:
        print_results(found, TableOptions(profile or "paper", with_reports, all_scores, bounds), whole=False)
    leave(records, job.store.root)
