"""Scores of a run by report and path.

Invariant: every report of the run has an entry, with its score or None; an ambiguous name of a score is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from local_judge.errors import RunError
from local_judge.runs.manifest import judge_of, protocols_of
from local_judge.runs.records import (
    CaseRecord,
    RunScoreRecord,
    load_records,
    load_run_scores,
    load_scores,
)
from local_judge.runs.store import RunStore
from local_judge.scoring.algebra import mean_of, undefined, unknown
from local_judge.scoring.node import Profile, Score, ScoreNode


class ScoredReport(NamedTuple):
    """One report with one score."""

    case: str
    """Id of the report."""
    task: str | None
    """Id of the task that it answers."""
    system: str | None
    """Agent that wrote it."""
    score: Score | None
    """Score; None if the report could not be evaluated or has no such score."""

    @property
    def value(self) -> float | None:
        """Value of the score, or None."""
        return None if self.score is None else self.score.value


class SystemScore(NamedTuple):
    """One score of one system, as used in every table, ranking and export."""

    system: str | None
    path: tuple[str, ...]
    label: str
    score: Score
    by_rule: bool
    """True if the protocol defines the score over reports, such as by pooling; otherwise it is the mean over
    reports."""
    n_reports: int
    """Reports of the system in the run."""
    n_values: int
    """Reports of the system with a value of their own."""
    values: tuple[float, ...]
    """These values, in the run's order."""


Nodes = dict[tuple[str, ...], ScoreNode]
"""Scores of one report by path."""


class Scored(NamedTuple):
    """Scores of a run by one protocol and profile."""

    records: list[CaseRecord]
    nodes: dict[str, Nodes]
    """Scores by report id, for reports with scores."""
    place: str
    """Run and protocol, for messages."""


def load_scored(run: Path, protocol: str | None, profile: str, judge: str | None = None) -> Scored:
    """Load all scores of a run by one protocol and profile.

    Args:
        run: run directory.
        protocol: name of the protocol; None if the run has only one.
        profile: name of the profile.
        judge: one of several judges; None for the ensemble.

    Raises:
        RunError: there is no finished run, or it has no such protocol, profile or judge.
    """
    store = RunStore(run)
    records = load_records(store)
    name = protocol_of(store, protocol)
    rows = load_scores(store, (name,), (judge_of(store, judge),))
    found = {row.case: row.scores for row in rows if row.profile == profile}
    if rows and not found:
        profiles = ", ".join(dict.fromkeys(row.profile for row in rows))
        raise RunError(f"{run}: {name} has no profile {profile!r}; there are: {profiles}")
    nodes = {case: dict(entry for root in roots for entry in root.walk()) for case, roots in found.items()}
    return Scored(records, nodes, f"{run}: {name}")


def find_path(paths: Iterable[tuple[str, ...]], wanted: str, place: str) -> tuple[str, ...]:
    """Return the path that `wanted` names: a path (`a/b/c`), or the end of exactly one path.

    Raises:
        RunError: it names no path, or several.
    """
    known = list(dict.fromkeys(paths))
    asked = tuple(wanted.split("/"))
    found = [asked] if asked in known else [path for path in known if path[-len(asked) :] == asked]
    if len(found) == 1:
        return found[0]
    if not known:
        raise RunError(f"{place}: no report has a score")
    listed = ", ".join("/".join(path) for path in found or [path for path in known if len(path) <= 2])
    raise RunError(f"{place}: score {wanted!r} {'names several' if found else 'is not there'}: {listed}")


def find_paths(paths: Iterable[tuple[str, ...]], wanted: str | None, place: str) -> list[tuple[str, ...]]:
    """Return the path that `wanted` names; for None the roots, and the children of a single root.

    Raises:
        RunError: as `find_path`, or there are no scores.
    """
    known = list(dict.fromkeys(paths))
    if wanted is not None or not known:
        return [find_path(known, wanted or "", place)]
    roots = [path for path in known if len(path) == 1]
    return [path for path in known if len(path) == 2 or path in roots] if len(roots) == 1 else roots


def scored_reports(
    run: Path, protocol: str | None, profile: Profile, score: str, judge: str | None = None
) -> list[ScoredReport]:
    """Return one score of all reports of a run, in the run's order.

    Args:
        run: run directory.
        protocol: name of the protocol; None if the run has only one.
        profile: name of the profile.
        score: a score, as `find_path` takes it.
        judge: one of several judges; None for the ensemble.

    Raises:
        RunError: there is no finished run, or it has no such protocol, profile, judge or score.
    """
    scored = load_scored(run, protocol, profile, judge)
    path = find_path((path for nodes in scored.nodes.values() for path in nodes), score, scored.place)
    return reports_of(scored, path)


def reports_of(scored: Scored, path: tuple[str, ...]) -> list[ScoredReport]:
    """Return one score of all reports, in the run's order."""
    return [
        ScoredReport(record.id, record.task, record.system, node.score if node else None)
        for record in scored.records
        for node in (scored.nodes.get(record.id, {}).get(path),)
    ]


def system_scores(
    store: RunStore, protocol: str, profile: str, judge: str | None = None
) -> list[SystemScore]:
    """Return every score of every system of a run, systems in the order of their first report.

    A report that could not be evaluated counts as failed, without bounds.

    Args:
        store: a finished run.
        protocol: name of the protocol.
        profile: name of the profile.
        judge: one of several judges; None for the ensemble.

    Raises:
        RunError: as `load_scored`.
    """
    aggregates = [row for row in load_run_scores(store, (protocol,), (judge,)) if row.profile == profile]
    return scores_by_system(load_scored(store.root, protocol, profile, judge), aggregates)


def scores_by_system(scored: Scored, aggregates: Sequence[RunScoreRecord]) -> list[SystemScore]:
    """Return every score of every system, as `system_scores`, from scores that are loaded.

    Args:
        scored: scores of the reports.
        aggregates: the protocol's own scores over reports, of the same profile and judge.
    """
    labels = {path: node.label for nodes in scored.nodes.values() for path, node in nodes.items()}
    found: list[SystemScore] = []
    for system in dict.fromkeys(record.system for record in scored.records):
        own = [record.id for record in scored.records if record.system == system]
        rules = {
            path: node
            for row in aggregates
            if row.system == system
            for root in row.scores
            for path, node in root.walk()
        }
        for path in dict.fromkeys((*labels, *rules)):
            scores = [_score(scored.nodes.get(case, {}).get(path), case in scored.nodes) for case in own]
            values = tuple(score.value for score in scores if score.value is not None)
            rule = rules.get(path)
            found.append(
                SystemScore(
                    system=system,
                    path=path,
                    label=labels[path] if rule is None else rule.label,
                    score=mean_of(scores) if rule is None else rule.score,
                    by_rule=rule is not None,
                    n_reports=len(own),
                    n_values=len(values),
                    values=values,
                )
            )
    return found


def _score(node: ScoreNode | None, evaluated: bool) -> Score:
    """Return a report's score: undefined if the report lacks it, failed if the report has no scores at all."""
    if node is not None:
        return node.score
    return undefined("") if evaluated else unknown(None, None)


def protocol_of(store: RunStore, wanted: str | None) -> str:
    """Return the protocol of this name, or the only one of the run.

    Raises:
        RunError: it was not run, or several were run and none is named.
    """
    names = protocols_of(store)
    if wanted is None and len(names) == 1:
        return names[0]
    if wanted is None or wanted not in names:
        said = "choose a protocol with --protocol" if wanted is None else f"has no scores of {wanted!r}"
        raise RunError(f"{store.root}: {said}; there are: {', '.join(names)}")
    return wanted
