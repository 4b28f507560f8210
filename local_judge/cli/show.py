"""`local-judge show` and `rescore`: stored results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from local_judge.claims.model import ClaimSet
from local_judge.cli.modified import AllowModified, marked, print_found, print_marks
from local_judge.cli.options import AsJson, OneOfJudges
from local_judge.cli.output import print_json
from local_judge.errors import ConfigError, RunError
from local_judge.protocols.base import View, load_protocol
from local_judge.reporting.group_labels import label_counts
from local_judge.reporting.group_tables import group_tables, label_tables
from local_judge.reporting.groups import group_scores
from local_judge.reporting.judges import agreement_notes, agreement_table, judge_tables
from local_judge.reporting.standings import standing_lines
from local_judge.reporting.tables import (
    by_whom,
    claim_summary,
    run_summary,
    score_notes,
    score_table,
    trees,
    verdict_table,
)
from local_judge.runs.attributes import NO_ATTRIBUTES, groups_of, load_attributes, open_runs
from local_judge.runs.lock import locked
from local_judge.runs.manifest import judge_of, judges_of, one_judge_of, protocols_of
from local_judge.runs.qualifications import qualifications_as_json, recorded_qualifications
from local_judge.runs.records import (
    CaseRecord,
    RunScoreRecord,
    ScoreRecord,
    load_records,
    load_run_scores,
    load_scores,
    read_records,
)
from local_judge.runs.rescoring import AgreementRecord, load_agreement
from local_judge.runs.rescoring import rescore as compute
from local_judge.runs.seal import reseal_scores, unseal_scores
from local_judge.runs.store import RunStore, claims_file, findings_file
from local_judge.scoring.node import Profile
from local_judge.terminal import safe, stdout

RunDir = Annotated[Path, typer.Argument(help="A run directory.")]
RunDirs = Annotated[
    list[Path], typer.Argument(metavar="RUN...", help="A run directory; with --by, one or several.")
]


class GroupOptions(NamedTuple):
    """What is shown of groups of reports."""

    scores: tuple[str, ...] = ()
    profile: Profile = "paper"
    mean: bool = False
    ranks: bool = False
    labels: bool = False
    attributes: Path | None = None


class Details(NamedTuple):
    """What one report's scores rest on."""

    claims: ClaimSet | None = None
    """None where its claims were not verified."""
    views: tuple[View, ...] = ()
    """Of the protocols that have one."""


def show(
    runs: RunDirs,
    report: Annotated[
        str | None, typer.Option("--report", help="One report by id: its full score trees.")
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            "--by",
            metavar="KEY[,KEY]",
            help="Scores of groups of reports: by `system`, `task`, `run`, or an attribute such as `topic`.",
        ),
    ] = None,
    score: Annotated[
        list[str] | None,
        typer.Option(
            "--score",
            metavar="[PROTOCOL:]PATH",
            help="With --by: this score, or all directly below it (`PATH/*`); repeat for several. Default: all roots.",
        ),
    ] = None,
    profile: Annotated[Profile, typer.Option("--profile", help="With --by: by whose formulas.")] = "paper",
    mean: Annotated[
        bool, typer.Option("--mean", help="With --by: the mean of the scores, which must share a scale.")
    ] = False,
    ranks: Annotated[
        bool,
        typer.Option(
            "--rank", help="With --by: ranks by each score, and their differences from the first's."
        ),
    ] = False,
    labels: Annotated[
        bool, typer.Option("--labels", help="With --by: how labels are distributed, in place of scores.")
    ] = False,
    attributes: Annotated[
        Path | None,
        typer.Option(
            "--attributes", help="With --by: attributes of tasks or systems, JSONL; a file of tasks is one."
        ),
    ] = None,
    judge: OneOfJudges = None,
    claims: Annotated[
        bool, typer.Option("--claims", help="With --report: each claim, verdict and quotation.")
    ] = False,
    items: Annotated[
        bool,
        typer.Option(
            "--items",
            help="With --report: each item of a rubric, criterion, or pair of statement and page, and why.",
        ),
    ] = False,
    allow_modified: AllowModified = False,
    as_json: AsJson = False,
) -> None:
    """Print the tables of a run, or the scores of groups of reports."""
    groups = GroupOptions(tuple(score or ()), profile, mean, ranks, labels, attributes)
    if by is not None:
        if report is not None or claims or items:
            raise ConfigError(
                "--by shows groups of reports: it does not go with --report, --claims or --items"
            )
        _show_groups(runs, [name.strip() for name in by.split(",")], judge, groups, as_json)
        return
    if groups != GroupOptions():
        raise ConfigError("--score, --profile, --mean, --rank, --labels and --attributes go with --by")
    if len(runs) > 1:
        raise ConfigError("several runs are shown together with --by, such as --by system")
    _show_run(runs[0], report, judge, claims, items, as_json)


def _show_groups(
    runs: Sequence[Path], by: Sequence[str], judge: str | None, options: GroupOptions, as_json: bool
) -> None:
    """The scores of groups of reports, or their labels."""
    opened = open_runs(runs, judge)
    given = load_attributes(options.attributes) if options.attributes is not None else NO_ATTRIBUTES
    if options.labels:
        if options != GroupOptions(labels=True, attributes=options.attributes):
            raise ConfigError("--labels shows no scores: it goes with --attributes alone")
        kinds = label_counts(opened, by, groups_of(opened, by, given))
        dumped: dict[str, Any] = {"by": by, "labels": [kind.model_dump(mode="json") for kind in kinds]}
        parts = label_tables(kinds)
    else:
        found = group_scores(
            opened, by, options.profile, options.scores, given, mean=options.mean, ranks=options.ranks
        )
        dumped, parts = found.model_dump(mode="json"), group_tables(found)
    print_found(dumped, parts, as_json)


def _show_run(
    run: Path, report: str | None, judge: str | None, claims: bool, items: bool, as_json: bool
) -> None:
    store = RunStore(run)
    records = load_records(store)
    protocols = protocols_of(store)
    judges, chosen = judges_of(store), judge_of(store, judge)
    scores = load_scores(store, protocols, (chosen,))
    aggregates = load_run_scores(store, protocols, (chosen,))
    agreement = load_agreement(store) if chosen is None else []
    if report is None and len(records) == 1:
        report = records[0].id
    if (claims or items) and report is None:
        wanted = "claims" if claims else "items"
        raise RunError(f"{run}: holds {len(records)} reports; say with --report whose {wanted} to show")
    if claims or items:
        one_judge_of(store, chosen, "claims and items")
    if report is not None:
        records = [record for record in records if record.id == report]
        scores = [score for score in scores if score.case == report]
        if not records:
            raise RunError(f"{run}: no report {report!r}; `local-judge show {run}` lists them")
    one = records[0] if report is not None and records[0].status == "done" else None
    details = Details()
    if one is not None and (chosen is not None or not judges):
        details = _details(store, one, protocols, scores, chosen, items)
    if as_json:
        dumped = _dumped(records, scores, aggregates, details, claims)
        rows: dict[str, object] = {"qualifications": qualifications_as_json(recorded_qualifications(store))}
        rows |= {"agreement": [row.model_dump(mode="json") for row in agreement]} if judges else {}
        print_json(marked(dumped | rows))
        return
    print_marks()
    if one is None:
        stdout().print(run_summary(records, scores, aggregates))
    else:
        _print_report(one, scores, details, claims, items)
    if judges and chosen is None:
        every = load_scores(store, protocols, (None, *judges))
        shown = {record.id for record in records}
        pools = load_run_scores(store, protocols, (None, *judges)) if report is None else ()
        _print_judges(records, [row for row in every if row.case in shown], pools, agreement, judges)
    _print_qualifications(store, protocols, chosen)


def _print_qualifications(store: RunStore, protocols: Sequence[str], judge: str | None = None) -> None:
    """What the judges whose scores are shown were found to be worth."""
    every = recorded_qualifications(store)
    shown = every if judge is None else {judge: every[judge]}
    for line in standing_lines(shown, protocols):
        stdout().print(line, markup=False, soft_wrap=True)


def _print_judges(
    records: Sequence[CaseRecord],
    scores: Sequence[ScoreRecord],
    aggregates: Sequence[RunScoreRecord],
    agreement: Sequence[AgreementRecord],
    judges: Sequence[str],
) -> None:
    """Each judge's scores, and how far they agree in the whole run."""
    console = stdout()
    console.print(*judge_tables(records, scores, judges, aggregates), sep="\n")
    if agreement:
        console.print(agreement_table(agreement, whole=True))
    for note in agreement_notes(agreement):
        console.print(note, style="dim")


def _details(
    store: RunStore,
    record: CaseRecord,
    protocols: Sequence[str],
    scores: Sequence[ScoreRecord],
    judge: str | None,
    items: bool,
) -> Details:
    file = claims_file(record.key, judge)
    views: list[View] = []
    for name in protocols:
        protocol = load_protocol(name)
        found = store.read_model(findings_file(name, record.key, judge), protocol.findings_type)
        paper = [row.scores for row in scores if (row.protocol, row.profile) == (name, "paper")]
        views.append(protocol.view(found, paper[0] if paper else (), items))
    return Details(
        store.read_model(file, ClaimSet) if (store.root / file).exists() else None,
        tuple(views),
    )


def _dumped(
    records: Sequence[CaseRecord],
    scores: Sequence[ScoreRecord],
    aggregates: Sequence[RunScoreRecord],
    details: Details,
    claims: bool,
) -> dict[str, object]:
    dumped: dict[str, object] = {
        "cases": [record.model_dump(mode="json") for record in records],
        "scores": [score.model_dump(mode="json") for score in scores],
        "over": [score.model_dump(mode="json") for score in aggregates],
        "claims": details.claims.model_dump(mode="json") if details.claims and claims else None,
    }
    for view in details.views:
        dumped |= view.data
    return dumped


def _print_report(
    record: CaseRecord, scores: Sequence[ScoreRecord], details: Details, claims: bool, items: bool
) -> None:
    console = stdout()
    for protocol in dict.fromkeys(score.protocol for score in scores):
        by_profile = trees([score for score in scores if score.protocol == protocol])
        by = by_whom([record], scores[0].judge)
        console.print(score_table(f"{protocol}: {safe(record.id)}{by}", by_profile, items=items))
        for note in score_notes(by_profile):
            console.print(note, style="dim")
    for part in (part for view in details.views for part in view.parts):
        console.print(part)
    if details.claims is not None:
        console.print(claim_summary(details.claims))
        if claims:
            console.print(verdict_table(details.claims))


def rescore(run: RunDir, allow_modified: AllowModified = False, as_json: AsJson = False) -> None:
    """Compute all scores again from the stored findings; needs no model, no snapshot and no network."""
    store = RunStore(run)
    read_records(store)  # what is no run is refused before anything is put into it
    with locked(run):
        records = load_records(store, rescoring=True)
        protocols = protocols_of(store)
        judges = judges_of(store)
        unseal_scores(store)
        scores = compute(store, protocols, records, judges)
        reseal_scores(store)
    if as_json:
        rows = [marked(score.model_dump(mode="json")) for score in scores]
        print_json(rows)
        return
    print_marks()
    ensemble = [score for score in scores if score.judge is None]
    stdout().print(run_summary(records, ensemble, load_run_scores(store, protocols)))
    if judges:
        aggregates = load_run_scores(store, protocols, (None, *judges))
        _print_judges(records, scores, aggregates, load_agreement(store), judges)
    _print_qualifications(store, protocols)
