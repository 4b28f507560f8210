"""`local-judge results verticals`: one profile of a run with several protocols."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from local_judge.base.errors import RunError
from local_judge.cli.modified import AllowModified, print_found
from local_judge.cli.options import AsJson, OneOfJudges, OneReport, ProfileName
from local_judge.reporting.verticals import vertical_tables
from local_judge.reporting.verticals import verticals as profile_of
from local_judge.runs.storage.manifest import judge_of, protocols_of
from local_judge.runs.storage.records import load_records, load_run_scores, load_scores
from local_judge.runs.storage.store import RunStore


def verticals(
    run: Annotated[Path, typer.Argument(help="A run directory.")],
    report: OneReport = None,
    profile: ProfileName = "paper",
    judge: OneOfJudges = None,
    allow_modified: AllowModified = False,
    as_json: AsJson = False,
) -> None:
    """Print the metrics of all protocols in four groups: presentation, task compliance, depth and sources.

    Each metric has two values: on its own scale and from 0 to 100. Metrics are not averaged.
    """
    store = RunStore(run)
    records = load_records(store)
    if report is not None:
        records = [record for record in records if record.id == report]
        if not records:
            raise RunError(f"{run}: no report {report!r}; `local-judge show {run} --reports` lists them")
    protocols, judges = protocols_of(store), (judge_of(store, judge),)
    aggregates = load_run_scores(store, protocols, judges) if report is None else ()
    found = profile_of(records, load_scores(store, protocols, judges), profile, aggregates)
    print_found(found.model_dump(mode="json"), vertical_tables(found), as_json)
