"""One score of each report of a run.

Invariant: every report of the run has an entry, with its score or None; which score is meant is never guessed.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from local_judge.errors import RunError
from local_judge.protocols.scores import Profile, ScoreNode
from local_judge.runs.execute import load_records, load_scores
from local_judge.runs.manifest import protocols_of
from local_judge.runs.store import RunStore


class ScoredReport(NamedTuple):
    """One report."""

    case: str
    """The report's id."""
    task: str | None
    """Id of the task that it answers."""
    system: str | None
    """The agent that wrote it."""
    value: float | None
    """The score; None where the report could not be evaluated or the score is null."""


def scored_reports(run: Path, protocol: str | None, profile: Profile, score: str) -> list[ScoredReport]:
    """A score of all reports of a run, in the run's order.

    Args:
        run: its directory.
        protocol: whose score; None where the run has one protocol only.
        profile: by which formulas.
        score: path of ids (`a/b/c`), or the end of one that fits one score only.

    Raises:
        RunError: no finished run, or it has no such protocol, profile or score.
    """
    store = RunStore(run)
    records = load_records(store)
    name = _protocol(store, protocol)
    rows = load_scores(store, (name,))
    by_case = {row.case: row.scores for row in rows if row.profile == profile}
    if rows and not by_case:
        raise RunError(f"{run}: {name} has no profile {profile!r}")
    nodes = {
        case: {path: node for root in roots for path, node in root.walk()} for case, roots in by_case.items()
    }
    path = _path((path for found in nodes.values() for path in found), score, f"{run}: {name}")
    return [
        ScoredReport(record.id, record.task, record.system, _value(nodes.get(record.id, {}).get(path)))
        for record in records
    ]


def _protocol(store: RunStore, wanted: str | None) -> str:
    names = protocols_of(store)
    if wanted is None and len(names) == 1:
        return names[0]
    if wanted is None or wanted not in names:
        said = "say with --protocol whose scores" if wanted is None else f"has no scores of {wanted!r}"
        raise RunError(f"{store.root}: {said}; there are: {', '.join(names)}")
    return wanted


def _path(paths: Iterable[tuple[str, ...]], wanted: str, place: str) -> tuple[str, ...]:
    known = list(dict.fromkeys(paths))
    asked = tuple(wanted.split("/"))
    found = [asked] if asked in known else [path for path in known if path[-len(asked) :] == asked]
    if len(found) == 1:
        return found[0]
    if not known:
        raise RunError(f"{place}: no report has a score")
    listed = ", ".join("/".join(path) for path in found or [path for path in known if len(path) <= 2])
    raise RunError(f"{place}: score {wanted!r} {'names several' if found else 'is not there'}: {listed}")


def _value(node: ScoreNode | None) -> float | None:
    return None if node is None else node.score.value
