"""`local-judge show` and `rescore`: output of stored results."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from rich.markup import escape

from local_judge.agents.result import AgentResult
from local_judge.agents.transcript import render_transcript
from local_judge.base.errors import ConfigError, RunError, plain
from local_judge.claims.model import ClaimSet
from local_judge.cli.help import ADVANCED, AGENT
from local_judge.cli.modified import AllowModified, marked, print_found, print_marks
from local_judge.cli.options import AsJson, OneOfJudges, OneReport
from local_judge.cli.output import print_json
from local_judge.cli.run_output import (
    Results,
    WithAllScores,
    WithBounds,
    WithProfile,
    WithReports,
    print_judges,
    print_results,
    print_warnings,
)
from local_judge.cli.watch import watch
from local_judge.protocols.base import View, load_protocol
from local_judge.reporting.claims import claim_blocks, claim_summary, item_tables
from local_judge.reporting.differences import system_difference_parts
from local_judge.reporting.group_tables import group_tables, label_counts, label_tables
from local_judge.reporting.groups import group_scores
from local_judge.reporting.run_tables import TableOptions, by_whom
from local_judge.reporting.tables import cost_table, score_notes, score_table, trees
from local_judge.reporting.verticals import vertical_tables
from local_judge.reporting.verticals import verticals as metrics_by_vertical
from local_judge.reporting.warnings import unread_citations
from local_judge.rubric.answers import ItemRow
from local_judge.runs.execution.agent_runs import StoredRun, stored_runs
from local_judge.runs.proof.costs import RunCost, tokens_of
from local_judge.runs.proof.material import material_of_run
from local_judge.runs.results.attributes import NO_ATTRIBUTES, OpenRun, groups_of, load_attributes, open_runs
from local_judge.runs.results.comparison import system_differences
from local_judge.runs.storage.items import claims_file, findings_file
from local_judge.runs.storage.lock import locked
from local_judge.runs.storage.manifest import judge_of, judges_of, one_judge_of, protocols_of
from local_judge.runs.storage.records import (
    CaseRecord,
    load_records,
    load_run_scores,
    load_scores,
    read_records,
)
from local_judge.runs.storage.rescoring import rescore as compute
from local_judge.runs.storage.seal import reseal_scores, unseal_scores
from local_judge.runs.storage.store import RunStore
from local_judge.runs.storage.summaries import summarised
from local_judge.runs.sweeps.folder import runs_in
from local_judge.scoring.node import Profile
from local_judge.terminal import print_parts, stdout

RunDir = Annotated[Path, typer.Argument(help="A run directory.")]
RunDirs = Annotated[
    list[Path],
    typer.Argument(metavar="RUN...", help="A run directory, or the folder of a sweep; with --by, several."),
]


class GroupOptions(NamedTuple):
    """Options of `show --by`."""

    scores: tuple[str, ...] = ()
    mean: bool = False
    ranks: bool = False
    labels: bool = False
    attributes: Path | None = None


class Details(NamedTuple):
    """Claims and findings behind one report's scores."""

    claims: ClaimSet | None = None
    """Claims of the report; None if they were not verified."""
    views: tuple[View, ...] = ()
    """Views of the protocols that have one."""
    items: tuple[ItemRow, ...] = ()
    """Answers of all protocols, if they are shown."""
    agents: tuple[tuple[str, AgentResult[Any]], ...] = ()
    """Runs of agents, if the answers are shown."""


def show(
    runs: RunDirs,
    report: OneReport = None,
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
            help="With --by: show this score, or all directly below it (`PATH/*`); repeatable. Default: all roots.",
        ),
    ] = None,
    with_reports: WithReports = False,
    all_scores: WithAllScores = False,
    bounds: WithBounds = False,
    profile: WithProfile = None,
    mean: Annotated[
        bool, typer.Option("--mean", help="With --by: show the mean of the scores, which must share a scale.")
    ] = False,
    ranks: Annotated[
        bool,
        typer.Option(
            "--rank", help="With --by: rank the groups by each score and show the difference from the first."
        ),
    ] = False,
    labels: Annotated[
        bool, typer.Option("--labels", help="With --by: show the distribution of labels instead of scores.")
    ] = False,
    attributes: Annotated[
        Path | None,
        typer.Option(
            "--attributes",
            help="With --by: JSONL file of attributes of tasks or systems, such as a task file.",
        ),
    ] = None,
    cost: Annotated[
        bool,
        typer.Option(
            "--cost",
            help="Show the calls and tokens of each run, and the settings in which runs differ; replays the runs.",
        ),
    ] = False,
    judge: OneOfJudges = None,
    claims: Annotated[
        bool, typer.Option("--claims", help="With --report: show each claim, verdict and quotation.")
    ] = False,
    items: Annotated[
        bool,
        typer.Option(
            "--items",
            help="With --report: show each rubric item, criterion or pair of statement and page, with its rationale.",
        ),
    ] = False,
    differences: Annotated[
        bool,
        typer.Option("--differences", help="Print the differences of all pairs of systems, paired by task."),
    ] = False,
    transcripts: Annotated[
        bool,
        typer.Option(
            "--transcripts",
            help="Print the questions, searches, pages and replies of the run's agents as Markdown.",
            rich_help_panel=AGENT,
        ),
    ] = False,
    item: Annotated[
        str | None,
        typer.Option(
            "--item",
            help="With --transcripts: item that the agents work on, such as the id of a statement.",
            rich_help_panel=AGENT,
        ),
    ] = None,
    verticals: Annotated[
        bool,
        typer.Option(
            "--verticals",
            help="Print the metrics of all protocols in four groups, such as `depth` or `sources`.",
        ),
    ] = False,
    watching: Annotated[
        bool, typer.Option("--watch", help="Print how far a run or sweep is, and how fast, until it ends.")
    ] = False,
    once: Annotated[
        bool, typer.Option("--once", help="With --watch: print the state now.", rich_help_panel=ADVANCED)
    ] = False,
    ledger: Annotated[
        Path | None,
        typer.Option(
            "--ledger",
            metavar="LEDGER",
            help="With --watch: the ledger, if it is not in the run directory.",
            envvar="LOCAL_JUDGE_LEDGER",
            rich_help_panel=ADVANCED,
        ),
    ] = None,
    allow_modified: AllowModified = False,
    as_json: AsJson = False,
) -> None:
    """Print the tables of a run, the scores of groups of reports, or progress."""
    if watching:
        _require(len(runs) == 1, "--watch follows one run or sweep")
        watch(runs[0], once=once, ledger=ledger, as_json=as_json)
        return
    _require(not once, "--once needs --watch")
    runs, swept = _expanded(runs)
    groups = GroupOptions(tuple(score or ()), mean, ranks, labels, attributes)
    tables = TableOptions(profile or "paper", with_reports, all_scores, bounds)
    plain_tables = tables == TableOptions(tables.profile)
    of_one = report is not None or claims or items or transcripts
    if cost:
        whole = (by, report, profile, judge) == (None,) * 4 and not (of_one or differences)
        _require(
            whole and groups == GroupOptions() and tables == TableOptions(),
            "--cost prints the cost of whole runs: it allows only --allow-modified and --json",
        )
        _show_costs(open_runs(runs), as_json)
        return
    if by is not None or (swept and report is None):
        _require(
            not of_one and plain_tables,
            "--by prints groups of reports: leave out --report, --reports, --claims, --items, --transcripts, "
            "--all-scores and --bounds",
        )
        opened = open_runs(runs, judge, unfinished=swept)
        keys = [name.strip() for name in (by or BY_RUN).split(",")]
        _show_groups(opened, keys, groups, profile, as_json)
        return
    _require(groups == GroupOptions(), "--score, --mean, --rank, --labels and --attributes need --by")
    _require(len(runs) == 1, "several runs need --by, such as --by system")
    _require(
        plain_tables or not of_one,
        "--report, --claims and --items print all scores of one report: leave out --reports, --all-scores and "
        "--bounds",
    )
    _require(item is None or transcripts, "--item needs --transcripts")
    if transcripts:
        _require(
            plain_tables and profile is None and not (claims or items or differences or verticals),
            "--transcripts allows only --report, --item, --judge, --allow-modified and --json",
        )
        _print_transcripts(stored_runs(RunStore(runs[0]), report, item, judge), as_json)
    elif differences:
        _require(not of_one, "--differences compares systems: leave out --report, --claims and --items")
        _show_differences(runs, judge, tables, as_json)
    elif verticals:
        _require(
            plain_tables and not (claims or items),
            "--verticals prints metrics: leave out --claims, --items, --reports, --all-scores and --bounds",
        )
        _show_verticals(runs[0], report, judge, tables.profile, as_json)
    else:
        _show_run(runs[0], report, judge, profile, tables, claims=claims, items=items, as_json=as_json)


def _require(condition: bool, message: str) -> None:
    """Refuse options that exclude each other.

    Raises:
        ConfigError: the condition does not hold.
    """
    if not condition:
        raise ConfigError(message)


def _show_differences(runs: Sequence[Path], judge: str | None, tables: TableOptions, as_json: bool) -> None:
    """Print the differences of all pairs of systems of a run."""
    (run,) = open_runs(runs, judge)
    found = system_differences(run, tables.profile, all_scores=tables.all_scores)
    dumped = {"differences": [one.model_dump(mode="json") for one in found]}
    print_found(dumped, system_difference_parts(found), as_json)


BY_RUN = "run,system"
"""Groups in the table of a sweep."""


def _expanded(paths: Sequence[Path]) -> tuple[list[Path], bool]:
    """Return run directories, with a sweep's runs in place of its folder, and whether there is a sweep.

    Raises:
        RunError: no run of a sweep has begun.
    """
    found = [(path, runs_in(path)) for path in paths]
    for path, runs in found:
        if not runs:
            raise RunError(f"{path}: no run of this sweep has begun")
    return [run for _, runs in found for run in runs], any(runs != [path] for path, runs in found)


def print_groups(runs: Sequence[Path]) -> None:
    """Print the table of a sweep: by run, and by system if its reports have one."""
    opened = open_runs(runs)
    named = any(record.system is not None for run in opened for record in run.records)
    _show_groups(opened, BY_RUN.split(",") if named else ["run"], GroupOptions(), None, as_json=False)


def _show_costs(opened: Sequence[OpenRun], as_json: bool) -> None:
    """Print the calls and tokens of each run."""
    materials = [material_of_run(run.store) for run in opened]
    found = [
        RunCost(run=run.name, settings=dict(run.settings), tokens=asyncio.run(tokens_of(material)))
        for run, material in zip(opened, materials, strict=True)
    ]
    print_found({"cost": [one.model_dump(mode="json") for one in found]}, [cost_table(found)], as_json)


def _show_groups(
    opened: Sequence[OpenRun],
    by: Sequence[str],
    options: GroupOptions,
    profile: Profile | None,
    as_json: bool,
) -> None:
    """Print the scores of groups of reports, or their labels."""
    given = load_attributes(options.attributes) if options.attributes is not None else NO_ATTRIBUTES
    if options.labels:
        if profile is not None or options != GroupOptions(labels=True, attributes=options.attributes):
            raise ConfigError(
                "--labels shows no scores: of the options for --by, it allows only --attributes"
            )
        kinds = label_counts(opened, by, groups_of(opened, by, given))
        dumped: dict[str, Any] = {"by": by, "labels": [kind.model_dump(mode="json") for kind in kinds]}
        parts = label_tables(kinds)
    else:
        found = group_scores(
            opened, by, profile or "paper", options.scores, given, mean=options.mean, ranks=options.ranks
        )
        unread = dict.fromkeys(one.text for run in opened for one in unread_citations(run.records))
        dumped, parts = found.model_dump(mode="json"), [*map(escape, unread), *group_tables(found)]
    print_found(dumped, parts, as_json)


def _print_transcripts(found: Sequence[StoredRun], as_json: bool) -> None:
    """Print the runs of agents as Markdown."""
    if as_json:
        print_json(marked({"runs": [one._asdict() for one in found]}))
        return
    print_marks()
    for one in found:
        print(f"# {plain(one.protocol)}, {plain(one.report)}: {plain(one.item)}\n")
        print(render_transcript(one.result))


def _show_verticals(
    run: Path, report: str | None, judge: str | None, profile: Profile, as_json: bool
) -> None:
    """Print the metrics of all protocols of a run or of one report in four groups."""
    store = RunStore(run)
    records = load_records(store)
    if report is not None:
        records = _records_of(store, records, report)
    protocols, judges = protocols_of(store), (judge_of(store, judge),)
    aggregates = load_run_scores(store, protocols, judges) if report is None else ()
    found = metrics_by_vertical(records, load_scores(store, protocols, judges), profile, aggregates)
    print_found(found.model_dump(mode="json"), vertical_tables(found), as_json)


def _show_run(
    run: Path,
    report: str | None,
    judge: str | None,
    profile: Profile | None,
    tables: TableOptions,
    *,
    claims: bool,
    items: bool,
    as_json: bool,
) -> None:
    """Print the tables of a run, or all scores of one report with the claims and findings behind them."""
    store = RunStore(run)
    found, judge = Results.open(store), judge_of(store, judge)
    if report is None and len(found.records) == 1 and (claims or items or as_json):
        report = found.records[0].id
    if (claims or items) and report is None:
        wanted = "claims" if claims else "items"
        raise RunError(
            f"{store.root} contains {len(found.records)} reports: choose one with --report for --{wanted}"
        )
    if claims or items:
        one_judge_of(store, judge, "claims and items")
    if report is not None:
        found = _of_report(found, report)
    details = _details(found, judge, items) if report is not None else Details()
    if as_json:
        dumped = details.claims if claims else None
        print_json(marked({**found.as_json(judge, report), "claims": dumped} | _data(details)))
        return
    print_marks()
    if report is None or found.records[0].status != "done":
        print_results(found, tables, judge)
        return
    notes = print_warnings(found, judge)
    _print_report(found, judge, profile, details, claims=claims, items=items)
    for line in notes:
        stdout().print(line, style="dim", markup=False, soft_wrap=True)
    if found.judges and judge is None:
        print_judges(found, tables)


def _of_report(found: Results, report: str) -> Results:
    """Return the results of one report; the judges' agreement and the scores by rules over reports are of the run."""
    records = _records_of(found.store, found.records, report)
    if len(found.records) == 1:
        return found
    return found._replace(records=records, systems=summarised(records, found.scores(report)))


def _records_of(store: RunStore, records: Sequence[CaseRecord], report: str) -> list[CaseRecord]:
    """Return the records of one report.

    Raises:
        RunError: the run has no such report.
    """
    found = [record for record in records if record.id == report]
    if not found:
        raise RunError(
            f"{store.root}: no report {report!r}; `local-judge show {store.root} --reports` lists them"
        )
    return found


def _details(found: Results, judge: str | None, items: bool) -> Details:
    """Return the claims and protocol views of the only report, or nothing if several judges scored it."""
    record = found.records[0]
    if record.status != "done" or (found.judges and judge is None):
        return Details()
    store, scores = found.store, found.scores(record.id)
    views: list[View] = []
    rows: list[ItemRow] = []
    agents: list[tuple[str, AgentResult[Any]]] = []
    for name in found.protocols:
        protocol = load_protocol(name)
        findings = store.read_item(findings_file(name, judge), record.key, protocol.findings_type)
        key = (name, "paper", judge)
        paper = [row.scores for row in scores if (row.protocol, row.profile, row.judge) == key]
        views.append(protocol.view(findings, paper[0] if paper else (), items))
        rows += protocol.items(findings) if items else ()
        agents += protocol.agent_runs(findings) if items else ()
    claims = store.find_item(claims_file(judge), record.key, ClaimSet)
    return Details(claims, tuple(views), tuple(rows), tuple(agents))


def _data(details: Details) -> dict[str, object]:
    return {key: value for view in details.views for key, value in view.data.items()}


def _print_report(
    found: Results, judge: str | None, profile: Profile | None, details: Details, *, claims: bool, items: bool
) -> None:
    """Print the score trees of the only report in one profile or all, with its claims and findings."""
    console = stdout()
    (record,) = found.records
    scores = found.scores(record.id)
    for protocol in found.protocols:
        rows = [row for row in scores if (row.protocol, row.judge) == (protocol, judge)]
        by_profile = trees(rows)
        if profile in by_profile:
            by_profile = {profile: by_profile[profile]}
        title = f"{protocol}: {record.id}{by_whom([record], judge)}"
        console.print(score_table(title, by_profile, items=items))
        for note in score_notes(by_profile):
            console.print(note, style="dim")
    for view in details.views:
        print_parts((*view.lines, *view.tables))
    print_parts(item_tables(details.items))
    for about, run in details.agents:
        print_parts(
            (f"{about}: what the agent did", *render_transcript(run, opening=False, texts=False).splitlines())
        )
    if details.claims is not None:
        console.print(claim_summary(details.claims))
        if claims:
            console.print(claim_blocks(details.claims))


def rescore(run: RunDir, allow_modified: AllowModified = False, as_json: AsJson = False) -> None:
    """Compute all scores again from the stored findings."""
    store = RunStore(run)
    read_records(store)  # rejects a folder that is not a run before writing to it
    with locked(run):
        records = load_records(store, rescoring=True)
        unseal_scores(store)
        compute(store, protocols_of(store), records, judges_of(store))
        reseal_scores(store)
    found = Results.load(store, records)
    if as_json:
        print_json([marked(score.model_dump(mode="json")) for score in found.scores()])
        return
    print_marks()
    print_results(found, TableOptions())
