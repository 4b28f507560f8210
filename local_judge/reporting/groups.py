"""The scores of runs by groups of reports: by topic, domain, language, category, system or run.

Each run is aggregated by itself, as for a system: by the protocol's rule where a group's reports are of one system,
else by the mean over the reports. A group that stands in several runs has the mean over these runs, and their spread.

Invariants: a score of a group stands beside the reports that it is of and what failures leave open; a report that was
not evaluated is unknown, never left out; groups are ranked only by what is known to be better at one end.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from local_judge.base.errors import InputError, RunError
from local_judge.base.model import Frozen
from local_judge.runs.results.attributes import NO_ATTRIBUTES, Attributes, Key, OpenRun, groups_of
from local_judge.runs.results.scored import Nodes, find_path
from local_judge.runs.results.summary import Summary, unknown_on
from local_judge.runs.storage.manifest import judges_of, protocols_of
from local_judge.runs.storage.records import (
    CaseRecord,
    ScoreRecord,
    Steps,
    load_run_scores,
    load_scores,
    scores_over_reports,
)
from local_judge.runs.storage.rescoring import aggregate_records, derived_scores
from local_judge.runs.storage.summaries import ReportCounts
from local_judge.scoring.aggregate import Meanings
from local_judge.scoring.algebra import mean_of
from local_judge.scoring.node import Profile, Scale, Score, ScoreNode
from local_judge.stats.numeric import exact

MEAN_OF = ""
"""The protocol of the mean of other columns."""
MEAN = "mean"


class Column(Frozen):
    """One score."""

    protocol: str
    """`MEAN_OF` for the mean of the others."""
    path: Steps
    label: str
    scale: Scale | None
    """None where it is no measure of a report, or nothing is known of it."""


class Spread(Frozen):
    """Spread of a value over several runs."""

    runs: dict[str, float | None]
    """The value of each run that has the group and the score."""
    sd: float | None
    """Sample standard deviation (n - 1); None for fewer than two values."""
    least: float | None
    most: float | None


class Cell(Summary):
    """One score of one group: of the only run, or the mean over several runs, with the reports of all together."""

    spread: Spread | None = None
    """None where one run has the group."""
    rank: int | None = None
    """Rank from 1 among the groups that differ only in the last attribute; equal values share a rank."""
    rank_change: int | None = None
    """The rank by the first column less this one: positive where this score places the group higher."""


class Group(Frozen):
    """The reports that have the same values."""

    key: dict[str, str | None]
    n_reports: int
    n_evaluated: int
    cells: tuple[Cell | None, ...]
    """One for each column; None if no run of the group has the score."""


class Groups(Frozen):
    """A table of scores."""

    by: tuple[str, ...]
    profile: Profile
    judge: str | None
    runs: tuple[str, ...]
    columns: tuple[Column, ...]
    groups: tuple[Group, ...]


class _Scored(NamedTuple):
    """Scores of one protocol in one run."""

    run: OpenRun
    like: ScoreRecord
    """Names protocol, profile and judge."""
    nodes: Mapping[str, Nodes]
    """Score nodes by report."""


def group_scores(
    runs: Sequence[OpenRun],
    by: Sequence[str],
    profile: Profile = "paper",
    wanted: Sequence[str] = (),
    given: Attributes = NO_ATTRIBUTES,
    *,
    mean: bool = False,
    ranks: bool = False,
) -> Groups:
    """Scores of groups of reports.

    Args:
        runs: finished runs.
        by: names of attributes.
        profile: by whose formulas.
        wanted: scores, as `[PROTOCOL:]PATH`, where `PATH/*` are all that stand directly below one; the roots of all
            protocols where there are none.
        given: attributes beside those that the runs have recorded.
        mean: add the mean of the scores; they must share one scale.
        ranks: rank the groups by each score.

    Raises:
        RunError: there is no such score, or the stored scores are of another version of their protocol.
        InputError: as `groups_of`; scores without a common scale have no mean.
    """
    groups = groups_of(runs, by, given)
    scored = [found for run in runs for found in _scored(run, profile)]
    columns = _columns(scored, wanted)
    rows: list[list[dict[str, Cell]]] = []
    for own in groups.values():
        by_run = {run.name: [one.record for one in own if one.run == run.name] for run in runs}
        rules = {
            (one.run.name, one.like.protocol): _by_rule(one, by_run[one.run.name], profile) for one in scored
        }
        rows.append([_parts(column, scored, by_run, rules) for column in columns])
    if mean:
        _check_scale(columns)
        rows = [[*row, _mean_parts(row)] for row in rows]
        columns.append(Column(protocol=MEAN_OF, path=(MEAN,), label=MEAN, scale=columns[0].scale))
    cells = [[_merged(parts) for parts in row] for row in rows]
    keys = list(groups)
    if ranks:
        cells = _ranked(keys, columns, cells)
    return Groups(
        by=tuple(by),
        profile=profile,
        judge=runs[0].judge,
        runs=tuple(run.name for run in runs),
        columns=tuple(columns),
        groups=tuple(
            Group(
                key=dict(zip(by, key, strict=True)),
                n_reports=len(groups[key]),
                n_evaluated=sum(one.record.status == "done" for one in groups[key]),
                cells=tuple(row),
            )
            for key, row in zip(keys, cells, strict=True)
        ),
    )


def _scored(run: OpenRun, profile: Profile) -> list[_Scored]:
    rows = _scores_of(run, profile)
    return [
        _Scored(
            run,
            next(row for row in rows if row.protocol == name),
            {
                row.case: dict(entry for root in row.scores for entry in root.walk())
                for row in rows
                if row.protocol == name
            },
        )
        for name in dict.fromkeys(row.protocol for row in rows)
    ]


def _scores_of(run: OpenRun, profile: Profile) -> list[ScoreRecord]:
    """Return the scores of all reports by a profile; of an unfinished run, computed from its findings so far."""
    protocols = protocols_of(run.store)
    if run.finished:
        return load_scores(run.store, protocols, (run.judge,), profile=profile)
    done = [record for record in run.records if record.status == "done"]
    judges = judges_of(run.store)
    derived = [row for name in protocols if done for row in derived_scores(run.store, name, done, judges)[0]]
    return [row for row in derived if (row.judge, row.profile) == (run.judge, profile)]


def _by_rule(one: _Scored, records: Sequence[CaseRecord], profile: Profile) -> dict[Steps, ScoreNode]:
    """The protocol's scores over the reports of a group in a run; none where they are of several systems."""
    systems = {record.system for record in records}
    if len(systems) != 1:
        return {}
    rows = aggregate_records(one.run.store, one.like.protocol, records, judges_of(one.run.store))
    stale = next((row for row in rows if row.version != one.like.version), None)
    if stale is not None:
        raise RunError(
            f"{one.run.store.root}: scored by version {one.like.version} of {one.like.protocol}, and this is version "
            f"{stale.version}; `local-judge rescore {one.run.store.root}` scores it again"
        )
    own = [row for row in rows if (row.profile, row.judge) == (profile, one.like.judge)]
    return scores_over_reports(own, one.like, records[0].system)


def _columns(scored: Sequence[_Scored], wanted: Sequence[str]) -> list[Column]:
    """The columns, in the order in which they are asked for."""
    known: dict[str, Nodes] = {}
    meanings: dict[str, Meanings] = {}
    for one in scored:
        same = meanings.setdefault(one.like.protocol, Meanings())
        tasks = {record.id: record.task or record.id for record in one.run.records}
        for case, nodes in one.nodes.items():
            same.add(tasks[case], nodes.items())
        found = known.setdefault(one.like.protocol, {})
        for nodes in one.nodes.values():
            found |= {path: node for path, node in nodes.items() if path not in found}
        over_reports = (
            load_run_scores(one.run.store, [one.like.protocol], (one.like.judge,)) if one.run.finished else []
        )
        for row in over_reports:
            aggregates = (entry for root in row.scores for entry in root.walk())
            found |= {path: node for path, node in aggregates if path not in found and wanted}
    if not known:
        raise RunError("no report has a score by these protocols and this profile")
    roots = [(name, path) for name, nodes in known.items() for path in nodes if len(path) == 1]
    chosen = [pair for text in wanted for pair in _chosen(text, known, meanings)] if wanted else roots
    return [
        Column(protocol=name, path=path, label=known[name][path].label, scale=known[name][path].scale)
        for name, path in dict.fromkeys(chosen)
    ]


def _chosen(
    text: str, known: Mapping[str, Iterable[Steps]], meanings: Mapping[str, Meanings]
) -> list[tuple[str, Steps]]:
    """The scores that `[PROTOCOL:]PATH` names."""
    protocol, colon, rest = text.rpartition(":")
    if colon and protocol not in known:
        raise RunError(f"--score {text}: no scores of {protocol!r}; there are: {', '.join(known)}")
    base = rest.removesuffix("/*")
    asked = tuple(base.split("/"))
    names = [protocol] if colon else list(known)
    having = [name for name in names if any(path[-len(asked) :] == asked for path in known[name])]
    if not having and len(names) > 1:
        raise RunError(f"--score {text}: none of {', '.join(names)} has such a score")
    found: list[tuple[str, Steps]] = []
    for name in having or names:
        path = find_path(known[name], base, name, meanings[name])
        below = [one for one in known[name] if one[:-1] == path]
        if base != rest and below and all(map(meanings[name].varies, below)):
            find_path(below, "/".join(below[0]), name, meanings[name])  # says why it has no value
        below = [one for one in below if not meanings[name].varies(one)]
        found += [(name, one) for one in (below if base != rest else [path])]
    if not found:
        raise RunError(f"--score {text}: nothing stands below it")
    return found


def _parts(
    column: Column,
    scored: Sequence[_Scored],
    by_run: Mapping[str, Sequence[CaseRecord]],
    rules: Mapping[tuple[str, str], Mapping[Steps, ScoreNode]],
) -> dict[str, Cell]:
    """A score of one group in each run that has both."""
    found: dict[str, Cell] = {}
    for one in scored:
        records = by_run[one.run.name]
        if one.like.protocol != column.protocol or not records:
            continue
        rule = rules[one.run.name, column.protocol].get(column.path)
        if rule is None and all(column.path not in nodes for nodes in one.nodes.values()):
            continue  # a score over the reports of one system, which this group has not
        nodes = [one.nodes.get(record.id) for record in records]
        scales = [own[column.path].scale for own in nodes if own is not None and column.path in own]
        unknown = unknown_on(min(filter(None, scales), key=lambda scale: scale.low, default=None))
        scores = [unknown if own is None else _score(own.get(column.path)) for own in nodes]
        found[one.run.name] = Cell.over(scores, rule)
    return found


def _score(node: ScoreNode | None) -> Score:
    """A report's score; undefined where its tree has none."""
    return Score(value=None, n_undefined=1) if node is None else node.score


def _as_score(cell: Cell) -> Score:
    n_failed = cell.n_failed + cell.n_in_part
    return Score(
        value=cell.value,
        n_expected=cell.n_reports,
        n_failed=n_failed,
        known=cell.known,
        low=cell.low,
        high=cell.high,
        note=cell.note if cell.value is None else "",
    )


def _merged(parts: Mapping[str, Cell]) -> Cell | None:
    """The cell of all runs: the mean over the runs, and their spread."""
    cells = list(parts.values())
    if len(cells) < 2:
        return cells[0] if cells else None
    whole = mean_of([_as_score(cell) for cell in cells])
    values = [cell.value for cell in cells if cell.value is not None]
    return _summed(cells, whole).model_copy(
        update={
            "spread": Spread(
                runs={run: cell.value for run, cell in parts.items()},
                sd=statistics.stdev(values) if len(values) > 1 else None,
                least=min(values, default=None),
                most=max(values, default=None),
            )
        }
    )


def _summed(cells: Sequence[Cell], whole: Score) -> Cell:
    counts = ReportCounts(*(sum(getattr(cell, name) for cell in cells) for name in ReportCounts._fields))
    return Cell.of(whole, counts, by_rule=all(cell.by_rule for cell in cells))


def _check_scale(columns: Sequence[Column]) -> None:
    """Refuse a mean of scores that do not mean the same by one number."""
    first = columns[0].scale
    for column in columns:
        scale = column.scale
        name = f"{column.protocol}:{'/'.join(column.path)}"
        if scale is None or scale.high is None or scale.better == "lower":
            raise InputError(f"--mean: {name} has no scale with a best end; choose scores with --score")
        if first is not None and (scale.low, scale.high) != (first.low, first.high):
            raise InputError(
                f"--mean: {name} goes from {scale.low:g} to {scale.high:g}, and others do not; choose scores with "
                "--score"
            )


def _mean_parts(row: Sequence[Mapping[str, Cell]]) -> dict[str, Cell]:
    """The mean of a group's scores in each run that has all of them; without value where one of them has none."""
    found: dict[str, Cell] = {}
    for run in row[0]:
        cells = [parts[run] for parts in row if run in parts]
        if len(cells) == len(row):
            whole = mean_of([_as_score(cell) for cell in cells])
            if any(cell.value is None for cell in cells):
                whole = whole.model_copy(update={"value": None, "note": "one of the scores has no value"})
            most = max(cells, key=lambda cell: cell.n_reports - cell.n_values)
            found[run] = _summed([most], whole).model_copy(update={"by_rule": False})
    return found


def _ranked(
    keys: Sequence[Key], columns: Sequence[Column], rows: Sequence[Sequence[Cell | None]]
) -> list[list[Cell | None]]:
    """The cells with ranks: 1 + the number of groups that are better, of those that share all but the last value."""
    ranks: list[list[int | None]] = []
    for key, row in zip(keys, rows, strict=True):
        peers = [other for name, other in zip(keys, rows, strict=True) if name[:-1] == key[:-1]]
        ranks.append([_rank(column, place, row[place], peers) for place, column in enumerate(columns)])
    return [
        [
            cell
            and cell.model_copy(
                update={
                    "rank": rank,
                    "rank_change": own[0] - rank if place and rank and own[0] else None,
                }
            )
            for place, (cell, rank) in enumerate(zip(row, own, strict=True))
        ]
        for row, own in zip(rows, ranks, strict=True)
    ]


def _rank(
    column: Column, place: int, cell: Cell | None, peers: Sequence[Sequence[Cell | None]]
) -> int | None:
    if column.scale is None or cell is None or cell.value is None:
        return None
    sign = 1 if column.scale.better == "higher" else -1
    others = [one.value for row in peers if (one := row[place]) is not None and one.value is not None]
    own = sign * exact(cell.value)
    return 1 + sum(sign * exact(other) > own for other in others)
