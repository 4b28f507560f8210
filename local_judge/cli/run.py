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
from local_judge.cli.options import (
    ATTEMPTS,
    WAIT_MINUTES,
    AsJson,
    Attempts,
    BaseUrlsByName,
    CalibrationFiles,
    ChecklistsFile,
    ConfigFile,
    CriteriaFile,
    DimensionsFile,
    FailAfter,
    GuidanceFile,
    JudgeNames,
    Ledger,
    Method,
    Offline,
    PlansFile,
    Protocols,
    QualificationFiles,
    References,
    Settings,
    SomeSnapshotDir,
    TasksFile,
    Terse,
    View,
    WaitForServer,
    claims_settings,
    persistence_of,
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
from local_judge.runs.judges import judge_specs_of
from local_judge.runs.qualifications import (
    load_qualification,
)
from local_judge.runs.store import RunStore
from local_judge.tasks.files import TaskFiles


def run(
    reports: Annotated[
        list[Path], typer.Argument(help="Reports: Markdown files, folders of them, or JSONL files.")
    ],
    judge: JudgeNames,
    out: Annotated[Path, typer.Option("--out", help="The run directory; the same command continues it.")],
    snapshot: SomeSnapshotDir = None,
    system: Annotated[
        str | None, typer.Option("--system", help="Who wrote the reports, where the input does not say it.")
    ] = None,
    tasks: TasksFile = None,
    guidance: GuidanceFile = None,
    criteria: CriteriaFile = None,
    dimensions: DimensionsFile = None,
    references: References = None,
    checklists: ChecklistsFile = None,
    plans: PlansFile = None,
    protocol: Protocols = None,
    base_url: BaseUrlsByName = None,
    date: Annotated[
        str | None,
        typer.Option(
            "--date", help="The day of the evaluation, YYYY-MM-DD: fills the dates that tasks leave open."
        ),
    ] = None,
    config: ConfigFile = None,
    setting: Settings = None,
    method: Method = None,
    view: View = None,
    terse: Terse = False,
    ledger: Ledger = None,
    calibration: CalibrationFiles = None,
    qualification: QualificationFiles = None,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Only the first N reports.")] = None,
    offline: Offline = True,
    wait_for_server: WaitForServer = WAIT_MINUTES,
    attempts: Attempts = ATTEMPTS,
    fail_after: FailAfter = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would be asked, and ask nothing.")
    ] = False,
    with_reports: WithReports = False,
    all_scores: WithAllScores = False,
    bounds: WithBounds = False,
    profile: WithProfile = None,
    as_json: AsJson = False,
) -> None:
    """Evaluate reports by one or several protocols, and print their scores."""
    store = RunStore(out)
    judge_specs = judge_specs_of(judge, base_url or ())
    changes = {
        "protocols": protocol or None,
        "claims": claims_settings(method, view, terse),
        "date": date,
        "settings": parse_settings(setting or ()),
    }
    settled = load_config(config, changes, completed=partial(with_batch_metrics, reports))
    files = TaskFiles(
        tasks=tasks,
        guidance=guidance,
        criteria=criteria,
        references=tuple(references or ()),
        checklists=checklists,
        dimensions=dimensions,
        plans=plans,
    )
    job = Job(
        reports=dated(
            load_reports(
                reports,
                files,
                system=None if system is None else said("--system", system),
                open_dates=settled.date is not None,
            )[:limit],
            settled.date,
        ),
        snapshot=Snapshot.open(snapshot) if snapshot else None,
        judge_specs=judge_specs,
        config=settled,
        store=store,
        ledger=ledger or store.ledger,
        offline=offline,
        calibrations=given_calibrations(calibration or (), settled.claims),
        qualifications=[load_qualification(path) for path in qualification or ()],
        persistence=persistence_of(wait_for_server, attempts, fail_after),
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
