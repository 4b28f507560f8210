"""`local-judge show` and `rescore`: stored results."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
from rich.console import Console

from local_judge.claims.model import ClaimSet
from local_judge.cli.options import AsJson
from local_judge.errors import RunError
from local_judge.protocols.deer import Deer, DeerFindings
from local_judge.protocols.deer.rubric.cost import Cost, costs
from local_judge.protocols.deer.rubric.findings import RubricFindings
from local_judge.protocols.liveresearchbench import LiveResearchBench, LrbFindings
from local_judge.protocols.race import Race, RaceFindings
from local_judge.reporting.liveresearchbench import lrb_lines, lrb_tables
from local_judge.reporting.race import mark_table, race_line
from local_judge.reporting.rubric import cost_table, item_table, rubric_line, score_notes
from local_judge.reporting.tables import (
    claim_summary,
    run_summary,
    safe,
    score_table,
    stdout,
    trees,
    verdict_table,
)
from local_judge.runs.manifest import protocols_of
from local_judge.runs.records import (
    CaseRecord,
    RunScoreRecord,
    ScoreRecord,
    load_records,
    load_run_scores,
    load_scores,
)
from local_judge.runs.rescoring import rescore as compute
from local_judge.runs.store import RunStore

RunDir = Annotated[Path, typer.Argument(help="A run directory.")]


class Details(NamedTuple):
    """What one report's scores rest on."""

    claims: ClaimSet | None
    """None where its claims were not verified."""
    rubric: RubricFindings | None
    """None where no rubric was judged."""
    costs: tuple[Cost, ...]
    race: RaceFindings | None = None
    """None where it was not run."""
    lrb: LrbFindings | None = None
    """None where it was not run."""


def show(
    run: RunDir,
    report: Annotated[
        str | None, typer.Option("--report", help="One report by id: its full score trees.")
    ] = None,
    claims: Annotated[
        bool, typer.Option("--claims", help="With --report: each claim, verdict and quotation.")
    ] = False,
    items: Annotated[
        bool, typer.Option("--items", help="With --report: each item of a rubric, or criterion, and why.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Print the tables of a run."""
    store = RunStore(run)
    records = load_records(store)
    protocols = protocols_of(store)
    scores = load_scores(store, protocols)
    over = load_run_scores(store, protocols)
    if report is None and len(records) == 1:
        report = records[0].id
    if (claims or items) and report is None:
        wanted = "claims" if claims else "items"
        raise RunError(f"{run}: holds {len(records)} reports; say with --report whose {wanted} to show")
    if report is not None:
        records = [record for record in records if record.id == report]
        scores = [score for score in scores if score.case == report]
        if not records:
            raise RunError(f"{run}: no report {report!r}; `local-judge show {run}` lists them")
    one = records[0] if report is not None and records[0].status == "done" else None
    details = _details(store, one, protocols, scores) if one is not None else Details(None, None, ())
    if as_json:
        print(json.dumps(_dumped(records, scores, over, details, claims, items), ensure_ascii=False))
    elif one is None:
        stdout().print(run_summary(records, scores, over))
    else:
        _print_report(one, scores, details, claims, items)


def _details(
    store: RunStore, record: CaseRecord, protocols: Sequence[str], scores: Sequence[ScoreRecord]
) -> Details:
    name = f"claims/{record.key}.json"
    claims = store.read_model(name, ClaimSet) if (store.root / name).exists() else None
    race = lrb = None
    if Race.name in protocols:
        race = store.read_model(f"findings/{Race.name}/{record.key}.json", RaceFindings)
    if LiveResearchBench.name in protocols:
        lrb = store.read_model(f"findings/{LiveResearchBench.name}/{record.key}.json", LrbFindings)
    if Deer.name not in protocols:
        return Details(claims, None, (), race, lrb)
    rubric = store.read_model(f"findings/{Deer.name}/{record.key}.json", DeerFindings).rubric
    by_paper = [row.scores for row in scores if (row.protocol, row.profile) == (Deer.name, "paper")]
    cost = costs(by_paper[0], rubric) if rubric is not None and by_paper else ()
    return Details(claims, rubric, cost, race, lrb)


def _dumped(
    records: Sequence[CaseRecord],
    scores: Sequence[ScoreRecord],
    over: Sequence[RunScoreRecord],
    details: Details,
    claims: bool,
    items: bool,
) -> dict[str, object]:
    return {
        "cases": [record.model_dump(mode="json") for record in records],
        "scores": [score.model_dump(mode="json") for score in scores],
        "over": [score.model_dump(mode="json") for score in over],
        "claims": details.claims.model_dump(mode="json") if details.claims and claims else None,
        "rubric": details.rubric.model_dump(mode="json") if details.rubric and items else None,
        "race": details.race.model_dump(mode="json") if details.race and items else None,
        "liveresearchbench": details.lrb.model_dump(mode="json") if details.lrb and items else None,
        "costs": [cost.model_dump(mode="json") for cost in details.costs],
    }


def _print_report(
    record: CaseRecord, scores: Sequence[ScoreRecord], details: Details, claims: bool, items: bool
) -> None:
    console = stdout()
    for protocol in dict.fromkeys(score.protocol for score in scores):
        by_profile = trees([score for score in scores if score.protocol == protocol])
        console.print(score_table(f"{protocol}: {safe(record.id)}", by_profile, items=items))
        for note in score_notes(by_profile):
            console.print(note, style="dim")
    if details.rubric is not None:
        _print_rubric(console, details.rubric, details.costs, items)
    if details.race is not None:
        console.print(race_line(details.race))
        if items:
            console.print(mark_table(details.race))
    if details.lrb is not None:
        for line in lrb_lines(details.lrb):
            console.print(line)
        for table in lrb_tables(details.lrb) if items else ():
            console.print(table)
    if details.claims is not None:
        console.print(claim_summary(details.claims))
        if claims:
            console.print(verdict_table(details.claims))


def _print_rubric(console: Console, rubric: RubricFindings, costs: Sequence[Cost], items: bool) -> None:
    console.print(rubric_line(rubric))
    if costs:
        console.print(cost_table(costs, rubric))
    if items:
        console.print(item_table(rubric))


def rescore(run: RunDir, as_json: AsJson = False) -> None:
    """Compute all scores again from the stored findings; needs no model, no snapshot and no network."""
    store = RunStore(run)
    records = load_records(store)
    protocols = protocols_of(store)
    scores = compute(store, protocols, records)
    if as_json:
        print(json.dumps([score.model_dump(mode="json") for score in scores], ensure_ascii=False))
    else:
        stdout().print(run_summary(records, scores, load_run_scores(store, protocols)))
