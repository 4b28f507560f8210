"""`local-judge show` and `rescore`: stored results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from local_judge.claims.model import ClaimSet
from local_judge.cli.options import AsJson
from local_judge.errors import RunError
from local_judge.reporting.tables import (
    claim_summary,
    run_summary,
    safe,
    score_table,
    stdout,
    trees,
    verdict_table,
)
from local_judge.runs.execute import load_records, load_scores
from local_judge.runs.execute import rescore as compute
from local_judge.runs.manifest import protocols_of
from local_judge.runs.store import RunStore

RunDir = Annotated[Path, typer.Argument(help="A run directory.")]


def show(
    run: RunDir,
    report: Annotated[
        str | None, typer.Option("--report", help="One report by id: its full score trees.")
    ] = None,
    claims: Annotated[
        bool, typer.Option("--claims", help="With --report: each claim, verdict and quotation.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Print the tables of a run."""
    store = RunStore(run)
    records = load_records(store)
    scores = load_scores(store, protocols_of(store))
    if report is None and len(records) == 1:
        report = records[0].id
    if claims and report is None:
        raise RunError(f"{run}: holds {len(records)} reports; say with --report whose claims to show")
    if report is not None:
        records = [record for record in records if record.id == report]
        scores = [score for score in scores if score.case == report]
        if not records:
            raise RunError(f"{run}: no report {report!r}; `local-judge show {run}` lists them")
    claim_set = (
        store.read_model(f"claims/{records[0].key}.json", ClaimSet)
        if report is not None and records[0].status == "done"
        else None
    )
    if as_json:
        dumped = {
            "cases": [record.model_dump(mode="json") for record in records],
            "scores": [score.model_dump(mode="json") for score in scores],
            "claims": claim_set.model_dump(mode="json") if claim_set and claims else None,
        }
        print(json.dumps(dumped, ensure_ascii=False))
        return
    console = stdout()
    if claim_set is None:
        console.print(run_summary(records, scores))
        return
    for protocol in dict.fromkeys(score.protocol for score in scores):
        by_profile = trees([score for score in scores if score.protocol == protocol])
        console.print(score_table(f"{protocol}: {safe(records[0].id)}", by_profile))
    console.print(claim_summary(claim_set))
    if claims:
        console.print(verdict_table(claim_set))


def rescore(run: RunDir, as_json: AsJson = False) -> None:
    """Compute all scores again from the stored findings; needs no model, no snapshot and no network."""
    store = RunStore(run)
    records = load_records(store)
    scores = compute(store, protocols_of(store), records)
    if as_json:
        print(json.dumps([score.model_dump(mode="json") for score in scores], ensure_ascii=False))
    else:
        stdout().print(run_summary(records, scores))
