"""Matches between systems in finished runs.

Invariants: a judge's comparison counts once, whichever run contains it; only scores by the same judges on the same task
are compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from local_judge.base.errors import InputError, RunError
from local_judge.protocols.base import load_protocol
from local_judge.runs.results.joining import by_judges, identities
from local_judge.runs.results.scored import SystemScore, find_path, protocol_of, scored_reports, system_scores
from local_judge.runs.storage.items import findings_file
from local_judge.runs.storage.manifest import judge_of, judges_of, protocols_of
from local_judge.runs.storage.records import load_records
from local_judge.runs.storage.store import RunStore
from local_judge.scoring.coverage import Coverage, coverage_of
from local_judge.scoring.node import Profile, Score
from local_judge.stats.numeric import exact
from local_judge.stats.ranking import Match


class Matches(NamedTuple):
    """All matches, and the reports that are in none."""

    matches: tuple[Match, ...]
    protocol: str
    unevaluated: tuple[str, ...]
    """Ids of reports without findings or without a score."""
    own: int = 0
    """Number of comparisons of a system with itself, which are not matches."""
    scores: Mapping[str, SystemScore] = {}
    """Score of each system, for a ranking by scores of one run."""
    coverage: Coverage | None = None
    """Coverage of the scores, for a ranking by scores."""


def compared(
    runs: Sequence[Path], protocol: str | None, profile: Profile, judge: str | None = None
) -> Matches:
    """Return the comparisons that a protocol made in `runs`.

    Args:
        runs: run directories.
        protocol: name of the protocol; None if only one of the first run compares reports.
        profile: profile whose rule decides a comparison.
        judge: one of several judges; None for the ensemble.

    Raises:
        RunError: a directory contains no finished run, no such judge or no comparison.
        InputError: two runs contain the same comparison by a judge.
    """
    matches: list[Match] = []
    without: list[str] = []
    seen: dict[tuple[str, str, frozenset[str]], tuple[int, Path]] = {}
    own = 0
    name = protocol or _comparing(runs[0])
    for number, run in enumerate(runs):
        store = RunStore(run)
        loaded = load_protocol(name) if name in protocols_of(store) else None
        if loaded is None or not loaded.compares_reports:
            raise RunError(f"{run}: {name} compared no reports there; give --score to compare scores")
        chosen = judge_of(store, judge)
        judges = identities(store, chosen)
        names = (chosen,) if chosen is not None else judges_of(store) or (None,)
        for record in load_records(store):
            if record.status != "done" or record.document is None:
                without.append(record.id)
                continue
            findings = [
                store.read_item(findings_file(name, one), record.key, loaded.findings_type) for one in names
            ]
            task, system = record.task or record.id, record.system or record.id
            for contest in loaded.contests(findings, profile):
                # Two reports may have the same text, so the systems are part of the key.
                sides = frozenset((f"{system} {record.document}", f"{contest.opponent} {contest.document}"))
                for identity in judges:
                    there, before = seen.setdefault((identity, task, sides), (number, run))
                    if there != number:
                        raise InputError(
                            f"{run}: {record.id!r} and {contest.opponent!r} were compared by the same judge in "
                            f"{before}: a comparison counts once"
                        )
                if contest.opponent == system:
                    own += 1
                    continue
                matches.append(Match(task, system, contest.opponent, contest.points, contest.consistent))
    if not matches:
        raise RunError(
            f"{runs[0]}: {name} compared no reports of two systems; give --score to compare scores"
        )
    return Matches(tuple(matches), name, tuple(without), own)


def _comparing(run: Path) -> str:
    """Return the only protocol of a run that compares reports."""
    names = protocols_of(RunStore(run))
    found = [name for name in names if load_protocol(name).compares_reports]
    if len(found) == 1:
        return found[0]
    if found:
        raise RunError(
            f"{run}: several protocols compared reports; choose one with --protocol: {', '.join(found)}"
        )
    raise RunError(
        f"{run}: no protocol compared reports ({', '.join(names)}); give --score to compare scores"
    )


def by_scores(
    runs: Sequence[Path], protocol: str | None, profile: Profile, score: str, judge: str | None = None
) -> Matches:
    """Return a match for each two systems on a task: the higher score wins, equal scores tie.

    Args:
        runs: run directories; runs of the same judges are combined.
        protocol: name of the protocol; None if the runs have only one.
        profile: name of the profile.
        score: a score, as `runs.scored.find_path` takes it.
        judge: one of several judges; None for the ensemble.

    Raises:
        RunError: there is no finished run, no such protocol, profile, score or judge, or no task with scores of two
            systems.
        InputError: two runs of the same judges contain the same report of a system.
    """
    groups: dict[tuple[int, str], list[tuple[str, str, Fraction | None]]] = {}
    scores: list[Score] = []
    labels: dict[str, Path] = {}
    without: list[str] = []
    for judges, joined in enumerate(by_judges(runs, judge)):
        seen: dict[tuple[str | None, str], tuple[int, Path]] = {}
        for number, run in enumerate(joined):
            for report in scored_reports(run, protocol, profile, score, judge):
                there, before = seen.setdefault((report.system, report.case), (number, run))
                if there != number:
                    raise InputError(
                        f"report {report.case!r} stands in {before} and in {run}: a report counts once"
                    )
                if report.value is None:
                    without.append(report.case)
                if report.score is not None:
                    scores.append(report.score)
                compared_by = None if report.value is None else exact(report.value)
                entry = (report.system or report.case, report.case, compared_by)
                groups.setdefault((judges, report.task or report.case), []).append(entry)
                if report.label is not None:
                    labels.setdefault(report.label, run)
    if len(labels) > 1:
        places = " and ".join(map(str, list(labels.values())[:2]))
        raise RunError(f"score {score!r}: {places} have different items there; rank them apart")
    matches = [
        Match(task, one, other, (_points(first, second),))
        for (_, task), entries in groups.items()
        for (one, _, first), (other, _, second) in combinations(entries, 2)
        if one != other
    ]
    if not matches:
        raise RunError(f"{runs[0]}: no task with reports of two systems")
    name = protocol_of(RunStore(runs[0]), protocol)
    return Matches(
        tuple(matches),
        name,
        tuple(without),
        scores=_of_systems(runs[0], name, profile, score, judge) if len(runs) == 1 else {},
        coverage=coverage_of(scores),
    )


def _of_systems(
    run: Path, protocol: str, profile: Profile, score: str, judge: str | None
) -> dict[str, SystemScore]:
    """Return the score of each named system in one run."""
    found = system_scores(RunStore(run), protocol, profile, judge)
    path = find_path((row.path for row in found), score, str(run))
    return {row.system: row for row in found if row.path == path and row.system is not None}


def _points(one: Fraction | None, other: Fraction | None) -> float | None:
    if one is None or other is None:
        return None
    return 0.5 if one == other else float(one > other)
