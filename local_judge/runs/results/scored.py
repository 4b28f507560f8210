"""Scores of a run by report and path.

Invariant: every report of the run has an entry, with its score or None; an ambiguous name of a score is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import NamedTuple

from local_judge.base.errors import RunError
from local_judge.runs.results.joining import Method
from local_judge.runs.storage.manifest import judge_of, protocols_of
from local_judge.runs.storage.records import CaseRecord, Steps, each_node, each_score, load_records
from local_judge.runs.storage.store import RunStore
from local_judge.runs.storage.summaries import SystemScore, load_system_scores
from local_judge.scoring.aggregate import Meanings
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
    label: str | None = None
    """Label of the score; None without a score."""

    @property
    def value(self) -> float | None:
        """Value of the score, or None."""
        return None if self.score is None else self.score.value


Nodes = dict[tuple[str, ...], ScoreNode]
"""Scores of one report by path."""


class Scored(NamedTuple):
    """Scores of a run by one protocol and profile."""

    records: list[CaseRecord]
    nodes: dict[str, Nodes]
    """Scores by report id, for reports with scores."""
    place: str
    """Run and protocol, for messages."""

    def meanings(self) -> Meanings:
        """Return which of the loaded scores mean the same in all tasks."""
        return meanings_of([self])


def meanings_of(every: Iterable[Scored]) -> Meanings:
    """Return which scores mean the same in all tasks of some runs."""
    found = Meanings()
    for scored in every:
        tasks = {record.id: record.task or record.id for record in scored.records}
        for case, nodes in scored.nodes.items():
            found.add(tasks[case], nodes.items())
    return found


def load_scored(
    run: Path,
    protocol: str | None,
    profile: str,
    judge: str | None = None,
    paths: Collection[Steps] | None = None,
) -> Scored:
    """Load scores of a run by one protocol and profile.

    Args:
        run: run directory.
        protocol: name of the protocol; None if the run has only one.
        profile: name of the profile.
        judge: one of several judges; None for the ensemble.
        paths: scores to load, without their parts; None loads all.

    Raises:
        RunError: there is no finished run, or it has no such protocol, profile or judge.
    """
    store = RunStore(run)
    records = load_records(store)
    name, chosen = protocol_of(store, protocol), judge_of(store, judge)
    place = f"{run}: {name}"
    system_scores(store, name, profile, chosen)  # refuses an unknown profile
    if paths is not None:
        return Scored(records, dict(each_node(store, name, profile, chosen, set(paths))), place)
    nodes = {
        row.case: dict(entry for root in row.scores for entry in root.walk())
        for row in each_score(store, name, (chosen,), profile=profile)
    }
    return Scored(records, nodes, place)


def find_path(
    paths: Iterable[tuple[str, ...]], wanted: str, place: str, meanings: Meanings | None = None
) -> tuple[str, ...]:
    """Return the path that `wanted` names: a path (`a/b/c`), or the end of exactly one path.

    Args:
        paths: the scores that there are.
        wanted: the name.
        place: run and protocol, for messages.
        meanings: which paths mean the same in all tasks; None if all do.

    Raises:
        RunError: it names no path, or several, or items that differ between tasks.
    """
    known = list(dict.fromkeys(paths))
    asked = tuple(wanted.split("/"))
    found = [asked] if asked in known else [path for path in known if path[-len(asked) :] == asked]
    if found and meanings is not None and all(map(meanings.varies, found)):
        raise RunError(
            f"{place}: score {wanted!r} is a different item in each task and has no value over tasks; `show --report` "
            "prints it for one report, items.csv for all"
        )
    if meanings is not None:
        known = [path for path in known if not meanings.varies(path)]
        found = [path for path in found if not meanings.varies(path)]
    if len(found) == 1:
        return found[0]
    if not known:
        raise RunError(f"{place}: no report has a score")
    listed = ", ".join("/".join(path) for path in found or [path for path in known if len(path) <= 2])
    raise RunError(
        f"{place}: score {wanted!r} {'names several' if found else 'is not there; there are'}: {listed}"
    )


def find_paths(
    paths: Iterable[tuple[str, ...]], wanted: str | None, place: str, meanings: Meanings
) -> list[tuple[str, ...]]:
    """Return the path that `wanted` names; for None the roots, and the children of a single root.

    Raises:
        RunError: as `find_path`, or there are no scores.
    """
    known = list(dict.fromkeys(paths))
    if wanted is not None or not known:
        return [find_path(known, wanted or "", place, meanings)]
    known = [path for path in known if not meanings.varies(path)]
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
    store = RunStore(run)
    load_records(store)
    name = protocol_of(store, protocol)
    path = report_path(store, name, profile, score, judge)
    return reports_of(load_scored(run, name, profile, judge, [path]), path)


def method_reports(method: Method, protocol: str | None, profile: Profile, score: str) -> list[ScoredReport]:
    """Return one score of all reports of a judge, run by run; arguments and errors as `scored_reports`."""
    return [
        report
        for source in method.sources
        for report in scored_reports(source.run, protocol, profile, score, source.judge)
    ]


def report_path(
    store: RunStore, protocol: str, profile: Profile, wanted: str, judge: str | None = None
) -> tuple[str, ...]:
    """Return the path of a score of reports, as `find_path` takes it; errors as `scored_reports`."""
    known = [row.path for row in report_scores(store, protocol, profile, judge)]
    asked = tuple(wanted.split("/"))
    if any(path[-len(asked) :] == asked for path in known):
        return find_path(known, wanted, f"{store.root}: {protocol}")
    scored = load_scored(store.root, protocol, profile, judge)
    every = (path for nodes in scored.nodes.values() for path in nodes)
    return find_path([*known, *every], wanted, scored.place, scored.meanings())


def reports_of(scored: Scored, path: tuple[str, ...]) -> list[ScoredReport]:
    """Return one score of all reports, in the run's order."""
    nodes = [scored.nodes.get(record.id, {}).get(path) for record in scored.records]
    return [
        ScoredReport(record.id, record.task, record.system, node and node.score, node.label if node else None)
        for record, node in zip(scored.records, nodes, strict=True)
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
        RunError: there is no finished run, or it has no such protocol, profile or judge.
    """
    load_records(store)
    rows = load_system_scores(store, (protocol_of(store, protocol),), (judge_of(store, judge),))
    found = [row for row in rows if row.profile == profile]
    if rows and not found:
        profiles = "|".join(dict.fromkeys(row.profile for row in rows))
        raise RunError(f"{store.root}: {protocol} has no profile {profile!r}; give --profile {profiles}")
    return [row for row in found if not row.all_systems]


def stored_profiles(store: RunStore, protocol: str, judge: str | None = None) -> frozenset[str]:
    """Return the profiles of a protocol's stored scores; an imported run can lack one that the protocol defines."""
    rows = load_system_scores(store, (protocol,), (judge_of(store, judge),))
    return frozenset(row.profile for row in rows)


def report_scores(
    store: RunStore, protocol: str, profile: str, judge: str | None = None
) -> list[SystemScore]:
    """Return the scores of systems that reports have too; arguments and errors as `system_scores`."""
    return [row for row in system_scores(store, protocol, profile, judge) if not row.rule_only]


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
