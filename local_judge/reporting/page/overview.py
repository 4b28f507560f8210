"""Numbers of a page: systems, scores, groups, labels and the agreement of judges.

Invariant: every number comes from the function that the terminal and the exports use
(`runs.summaries.load_system_scores`, `reporting.groups.group_scores`), so all of them agree.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from local_judge.base.model import Frozen
from local_judge.protocols.base import load_protocol
from local_judge.reporting.differences import SystemDifference, system_differences
from local_judge.reporting.group_tables import Labels, label_counts
from local_judge.reporting.groups import Groups, group_scores
from local_judge.reporting.health import problem_text
from local_judge.reporting.warnings import RunWarning, run_warnings, stored_claims
from local_judge.runs.results.attributes import NO_ATTRIBUTES, Attributes, OpenRun, groups_of
from local_judge.runs.results.joining import run_names
from local_judge.runs.results.scored import Nodes, Scored, meanings_of
from local_judge.runs.storage.manifest import judges_of, protocols_of, read_manifest
from local_judge.runs.storage.records import Steps, load_records, load_scores
from local_judge.runs.storage.rescoring import AgreementRecord, derived_scores, load_agreement
from local_judge.runs.storage.resume import is_finished, unfinished_records
from local_judge.runs.storage.store import RunStore
from local_judge.runs.storage.summaries import SystemScore, load_system_scores, summarised
from local_judge.scoring.coverage import known_share
from local_judge.scoring.node import VERTICALS, Profile, Scale, ScoreNode, headlines

DEEPEST = 3
"""Number of ids of the longest path that has a column: dimension, sub-dimension, and one level below."""
GROUPED_BY = ("topic", "language", "category", "domain")
"""Attributes by which the page groups scores, where reports have them."""


class RunFacts(Frozen):
    """Origin of the results of one run."""

    name: str
    protocols: tuple[str, ...]
    judges: tuple[str, ...]
    models: tuple[str, ...]
    """Model of each judge, as its server names it."""
    snapshot: str | None
    """Digest of the snapshot; None if no claims were verified."""
    version: str
    """Version of the program that derived the results."""
    date: str | None
    """Day that the run was told to take as today."""
    n_reports: int
    """Reports of the run, evaluated or not."""
    n_evaluated: int
    finished: bool


class Column(Frozen):
    """One score."""

    protocol: str
    path: Steps
    label: str
    scale: Scale | None
    """None for counts, differences and diagnostics."""
    vertical: str
    """DREAM's vertical in words; empty if it has none."""
    headline: bool
    """The score sums up a report."""
    parent: int | None
    """Index of the column above."""


class Cell(Frozen):
    """One score of one row."""

    value: float | None
    low: float | None = None
    high: float | None = None
    """Lowest and highest value that failures leave possible."""
    interval: tuple[float, float] | None = None
    """95 % bootstrap interval of the mean over reports, or the score's own interval."""
    known: float | None = None
    """Share from 0 to 1 of what the value rests on that is known."""
    by_rule: bool = False
    """The protocol's own rule over reports gives the value; otherwise it is a mean over reports."""
    n_values: int = 0
    note: str = ""


class Row(Frozen):
    """One system as one judge, or the ensemble, scored it in one run."""

    run: int
    """Index of the run."""
    judge: str | None
    """Name of one of several judges; None for the ensemble or the only judge."""
    system: str | None
    name: str
    """Name that tells the row from all others."""
    n_reports: int
    n_evaluated: int
    n_sources: int
    n_sources_read: int
    n_calls_failed: int
    n_in_part: int
    """Reports of which citations were not read."""
    cells: tuple[Cell | None, ...]
    """One for each column; None if the row lacks the score."""


class ReportRow(Frozen):
    """One report of one run."""

    run: int
    id: str
    system: str | None
    task: str | None
    attributes: dict[str, str]
    n_words: int
    n_sources: int
    n_sources_read: int
    n_calls_failed: int
    status: str
    detail: str
    problems: tuple[str, ...]
    """Citations that were not read, by kind of problem."""
    values: tuple[float | None, ...]
    """Value of each headline column: of the ensemble, if there are several judges."""


class Sliced(Frozen):
    """Scores by an attribute and the system."""

    by: str
    found: Groups


class Agreement(Frozen):
    """Agreement of the judges of one run."""

    run: int
    rows: tuple[AgreementRecord, ...]


class Differences(Frozen):
    """Mean differences of all pairs of systems of one run, paired by task."""

    run: int
    rows: tuple[SystemDifference, ...]


class Overview(Frozen):
    """All numbers of a page except those of single claims and items."""

    profile: Profile
    runs: tuple[RunFacts, ...]
    warnings: tuple[RunWarning, ...]
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    reports: tuple[ReportRow, ...]
    groups: tuple[Sliced, ...]
    labels: tuple[Labels, ...]
    """Distributions by run and system; empty if a run has several judges."""
    agreement: tuple[Agreement, ...]
    differences: tuple[Differences, ...]


class Loaded(NamedTuple):
    """Scores of one protocol by one judge in one run."""

    run: int
    """Index of the run."""
    judge: str | None
    protocol: str
    scored: Scored
    systems: list[SystemScore]


class Results(NamedTuple):
    """Runs with their scores, read once for all parts of a page."""

    runs: Sequence[OpenRun]
    profile: Profile
    loaded: Sequence[Loaded]

    def trees(self, run: int, judge: str | None, report: str) -> dict[str, Nodes]:
        """Return the scores of one report by protocol."""
        return {
            one.protocol: one.scored.nodes.get(report, {})
            for one in self.loaded
            if (one.run, one.judge) == (run, judge)
        }


def load_results(paths: Sequence[Path], profile: Profile = "paper") -> Results:
    """Read the scores of one or several runs.

    Args:
        paths: run directories.
        profile: formulas; a protocol without this profile is shown by its only one.

    Raises:
        RunError: a directory contains no run, or the run was modified.
        InputError: a directory is given twice.
    """
    runs = [
        _opened(path, name) for path, name in zip(paths, run_names(paths, "a run counts once"), strict=True)
    ]
    found = [one for place, run in enumerate(runs) for one in _loaded(place, run, profile)]
    return Results(runs, profile, found)


def _opened(path: Path, name: str) -> OpenRun:
    """Open a run; of an unfinished one, the reports that are complete so far."""
    store = RunStore(path)
    if is_finished(store):
        return OpenRun(name, store, None, load_records(store))
    return OpenRun(name, store, None, unfinished_records(store, judges_of(store)))


def _loaded(place: int, run: OpenRun, profile: Profile) -> Iterator[Loaded]:
    judges = judges_of(run.store)
    for protocol in protocols_of(run.store):
        having = load_protocol(protocol).profiles
        used = profile if profile in having else having[0]
        if is_finished(run.store):
            rows = load_scores(run.store, (protocol,), (None, *judges), profile=used)
            systems = load_system_scores(run.store, (protocol,), (None, *judges))
        else:
            rows, aggregates = derived_scores(run.store, protocol, run.records, judges)
            systems = summarised(run.records, rows, aggregates)
        for judge in (None, *judges):
            nodes = {
                row.case: dict(entry for root in row.scores for entry in root.walk())
                for row in rows
                if (row.profile, row.judge) == (used, judge)
            }
            scored = Scored(run.records, nodes, f"{run.store.root}: {protocol}")
            own = [row for row in systems if (row.profile, row.judge) == (used, judge)]
            yield Loaded(place, judge, protocol, scored, [row for row in own if not row.all_systems])


def overview(found: Results, given: Attributes = NO_ATTRIBUTES) -> Overview:
    """Return the numbers of one or several runs, side by side.

    Args:
        found: the runs.
        given: attributes beside those that the runs have recorded.
    """
    runs, loaded = found.runs, found.loaded
    columns = _columns(loaded)
    return Overview(
        profile=found.profile,
        runs=tuple(_facts(run) for run in runs),
        warnings=tuple(_warnings(runs)),
        columns=tuple(columns),
        rows=tuple(_rows(runs, loaded, columns)),
        reports=tuple(_reports(runs, loaded, columns)),
        groups=tuple(_sliced(runs, columns, found.profile, given)),
        labels=_labels(runs),
        agreement=tuple(
            Agreement(run=place, rows=tuple(rows))
            for place, run in enumerate(runs)
            if (rows := load_agreement(run.store))
        ),
        differences=tuple(
            Differences(run=place, rows=rows)
            for place, run in enumerate(runs)
            if is_finished(run.store) and (rows := system_differences(run, found.profile))
        ),
    )


def _facts(run: OpenRun) -> RunFacts:
    manifest = read_manifest(run.store)
    judges: list[dict[str, Any]] = manifest.get("judges", [])
    return RunFacts(
        name=run.name,
        protocols=protocols_of(run.store),
        judges=tuple(judge["name"] for judge in judges),
        models=tuple(judge["identity"]["model"] for judge in judges),
        snapshot=manifest.get("snapshot"),
        version=manifest.get("local_judge", ""),
        date=manifest["config"].get("date"),
        n_reports=manifest["reports"]["n"] or len(run.records),
        n_evaluated=sum(record.status == "done" for record in run.records),
        finished=is_finished(run.store),
    )


def _warnings(runs: Sequence[OpenRun]) -> Iterator[RunWarning]:
    for run in runs:
        before = f"{run.name}: " if len(runs) > 1 else ""
        for one in run_warnings(run.store, run.records, claims=stored_claims(run.store, run.records)):
            yield one.model_copy(update={"text": before + one.text})


def _columns(loaded: Sequence[Loaded]) -> list[Column]:
    """Return the scores of all protocols down to `DEEPEST` ids, parents before their children.

    A score that means different things in different tasks, such as an item of a task's checklist, has no column.
    """
    found: dict[tuple[str, Steps], tuple[ScoreNode, Scale | None]] = {}
    meanings = {
        name: meanings_of(one.scored for one in loaded if one.protocol == name)
        for name in {one.protocol for one in loaded}
    }
    head: set[tuple[str, Steps]] = set()
    for one in loaded:
        for nodes in one.scored.nodes.values():
            for root in headlines([node for path, node in nodes.items() if len(path) == 1]):
                head.add((one.protocol, (root.id,)))
            for path, node in nodes.items():
                _take(found, one.protocol, path, node)
        for row in one.systems:
            if (one.protocol, row.path) not in found and len(row.path) <= DEEPEST:
                found[one.protocol, row.path] = (
                    ScoreNode(id=row.path[-1], label=row.label, score=row.score),
                    None,
                )
    keys = [key for key in found if not meanings[key[0]].varies(key[1])]
    place = {key: number for number, key in enumerate(keys)}
    return [
        Column(
            protocol=protocol,
            path=path,
            label=found[protocol, path][0].label,
            scale=found[protocol, path][1],
            vertical=VERTICALS[vertical] if (vertical := found[protocol, path][0].vertical) else "",
            headline=(protocol, path) in head,
            parent=place.get((protocol, path[:-1])),
        )
        for protocol, path in keys
    ]


def _take(
    found: dict[tuple[str, Steps], tuple[ScoreNode, Scale | None]],
    protocol: str,
    path: Steps,
    node: ScoreNode,
) -> None:
    if len(path) > DEEPEST:
        return
    if (protocol, path) not in found:
        above = found.get((protocol, path[:-1]))
        scale = node.scale or (above[1] if above is not None and not node.aside else None)
        found[protocol, path] = node, scale


def _rows(runs: Sequence[OpenRun], loaded: Sequence[Loaded], columns: Sequence[Column]) -> Iterator[Row]:
    several = len(runs) > 1
    for place, run in enumerate(runs):
        for judge in (None, *judges_of(run.store)):
            cells: dict[tuple[str | None, str, Steps], SystemScore] = {
                (row.system, one.protocol, row.path): row
                for one in loaded
                if (one.run, one.judge) == (place, judge)
                for row in one.systems
            }
            for system in dict.fromkeys(record.system for record in run.records):
                own = [record for record in run.records if record.system == system]
                name = system or (
                    "all reports" if len({r.system for r in run.records}) == 1 else "no system named"
                )
                parts = [name, *([run.name] if several else []), *([judge] if judge else [])]
                yield Row(
                    run=place,
                    judge=judge,
                    system=system,
                    name=" · ".join(parts),
                    n_reports=len(own),
                    n_evaluated=sum(record.status == "done" for record in own),
                    n_sources=sum(record.n_sources for record in own),
                    n_sources_read=sum(record.n_sources_read for record in own),
                    n_calls_failed=sum(record.calls_failed(judge) for record in own),
                    n_in_part=sum(bool(record.problems) for record in own),
                    cells=tuple(
                        _cell(cells.get((system, column.protocol, column.path))) for column in columns
                    ),
                )


def _cell(row: SystemScore | None) -> Cell | None:
    """Return a score of a system, with the interval that the tables of a run print."""
    if row is None:
        return None
    score = row.score
    ends = row.interval
    if ends is None and score.interval_low is not None and score.interval_high is not None:
        ends = score.interval_low, score.interval_high
    return Cell(
        value=score.value,
        low=score.low,
        high=score.high,
        interval=ends,
        known=known_share(score),
        by_rule=row.by_rule,
        n_values=row.n_values,
        note=score.note,
    )


def _reports(
    runs: Sequence[OpenRun], loaded: Sequence[Loaded], columns: Sequence[Column]
) -> Iterator[ReportRow]:
    shown = [column for column in columns if column.headline]
    for place, run in enumerate(runs):
        nodes = {one.protocol: one.scored.nodes for one in loaded if (one.run, one.judge) == (place, None)}
        for record in run.records:
            values: list[float | None] = []
            for column in shown:
                node = nodes.get(column.protocol, {}).get(record.id, {}).get(column.path)
                values.append(None if node is None else node.score.value)
            yield ReportRow(
                run=place,
                id=record.id,
                system=record.system,
                task=record.task,
                attributes=record.attributes,
                n_words=record.n_words,
                n_sources=record.n_sources,
                n_sources_read=record.n_sources_read,
                n_calls_failed=record.n_calls_failed,
                status=record.status,
                detail=record.detail,
                problems=tuple(map(problem_text, record.problems)),
                values=tuple(values),
            )


def _sliced(
    runs: Sequence[OpenRun], columns: Sequence[Column], profile: Profile, given: Attributes
) -> Iterator[Sliced]:
    """Yield the headline scores by attribute and system, for attributes with at least two values."""
    if not all(is_finished(run.store) for run in runs):
        return
    wanted = [f"{column.protocol}:{'/'.join(column.path)}" for column in columns if column.headline]
    for name in GROUPED_BY:
        values = {record.attributes.get(name) for run in runs for record in run.records}
        if len(values) > 1 and wanted:
            yield Sliced(by=name, found=group_scores(runs, [name, "system"], profile, wanted, given))


def _labels(runs: Sequence[OpenRun]) -> tuple[Labels, ...]:
    if any(judges_of(run.store) for run in runs):
        return ()
    by = ["run", "system"]
    if all(record.system is None for run in runs for record in run.records):
        by = ["run"]
    return label_counts(runs, by, groups_of(runs, by))
