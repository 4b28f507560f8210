"""Scores and lengths of finished runs side by side.

Invariants: a report is one observation of each score, or is counted among those that have none, with the reason; the
same report is never counted twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from local_judge.errors import InputError
from local_judge.protocols.scores import ScoreNode
from local_judge.runs.execute import CaseRecord, ScoreRecord, load_records, load_scores
from local_judge.runs.manifest import protocols_of
from local_judge.runs.store import RunStore

Measure = Literal["words", "characters", "sentences"]


class Measured(NamedTuple):
    """One report with one score."""

    id: str
    """Its run's name and its own id."""
    task: str | None
    system: str | None
    length: int
    score: float


class ScoreColumn(NamedTuple):
    """One score of all reports."""

    path: tuple[str, ...]
    label: str
    measured: tuple[Measured, ...]
    n_reports: int
    n_null: int
    """Reports whose score is null."""
    n_unscored: int
    """Reports that could not be evaluated."""
    n_unmeasured: int
    """Reports whose length the run did not record."""


def score_columns(
    runs: Sequence[Path], protocol: str, profile: str, wanted: str | None, measure: Measure
) -> list[ScoreColumn]:
    """The scores that `wanted` names, of all reports of `runs`.

    Args:
        runs: run directories.
        protocol: whose scores.
        profile: by which formulas.
        wanted: path of a score (`a/b/c`), or the end of one that fits one score only; None for the roots, and for what
            stands below a root that is alone.
        measure: of length.

    Raises:
        RunError: a directory holds no finished run.
        InputError: a run without this protocol or profile, a report in two runs, or a score that there is not.
    """
    cases: list[tuple[str, CaseRecord]] = []
    scored: dict[str, Mapping[tuple[str, ...], ScoreNode]] = {}
    labels: dict[tuple[str, ...], str] = {}
    seen: dict[tuple[str | None, str | None], str] = {}
    for number, run in enumerate(runs, 1):
        store = RunStore(run)
        records = load_records(store)
        rows = _rows(store, protocol, profile)
        for record in records:
            name = f"{number}:{record.id}"
            cases.append((name, record))
            before = (
                seen.setdefault((record.document, record.task), f"{run}") if record.document else f"{run}"
            )
            if before != f"{run}":
                raise InputError(
                    f"report {record.id!r} stands in {before} and in {run}; a report counts once"
                )
            if record.id in rows:
                nodes = dict(entry for root in rows[record.id].scores for entry in root.walk())
                scored[name] = nodes
                labels |= {path: node.label for path, node in nodes.items() if path not in labels}
    return [_column(path, labels[path], cases, scored, measure) for path in _paths(labels, wanted, protocol)]


def _rows(store: RunStore, protocol: str, profile: str) -> dict[str, ScoreRecord]:
    names = protocols_of(store)
    if protocol not in names:
        raise InputError(f"{store.root}: has no scores of {protocol!r}; there are: {', '.join(names)}")
    rows = load_scores(store, (protocol,))
    found = {row.case: row for row in rows if row.profile == profile}
    if rows and not found:
        profiles = ", ".join(dict.fromkeys(row.profile for row in rows))
        raise InputError(f"{store.root}: {protocol} has no profile {profile!r}; there are: {profiles}")
    return found


def _paths(labels: Mapping[tuple[str, ...], str], wanted: str | None, protocol: str) -> list[tuple[str, ...]]:
    if not labels:
        raise InputError(f"no report of these runs has scores of {protocol!r}")
    roots = [path for path in labels if len(path) == 1]
    if wanted is None:
        return [path for path in labels if len(path) == 2 or path in roots] if len(roots) == 1 else roots
    asked = tuple(wanted.split("/"))
    found = [asked] if asked in labels else [path for path in labels if path[-len(asked) :] == asked]
    if len(found) != 1:
        among = found or [path for path in labels if len(path) <= 2]
        listed = ", ".join("/".join(path) for path in among)
        raise InputError(f"score {wanted!r} {'names several' if found else 'is not there'}: {listed}")
    return found


def _column(
    path: tuple[str, ...],
    label: str,
    cases: Sequence[tuple[str, CaseRecord]],
    scored: Mapping[str, Mapping[tuple[str, ...], ScoreNode]],
    measure: Measure,
) -> ScoreColumn:
    measured: list[Measured] = []
    n_null = n_unscored = n_unmeasured = 0
    for name, record in cases:
        node = scored.get(name, {}).get(path)
        length = _length(record, measure)
        if name not in scored:
            n_unscored += 1
        elif node is None or node.score.value is None:
            n_null += 1
        elif not length:
            n_unmeasured += 1
        else:
            measured.append(Measured(name, record.task, record.system, length, node.score.value))
    return ScoreColumn(path, label, tuple(measured), len(cases), n_null, n_unscored, n_unmeasured)


def _length(record: CaseRecord, measure: Measure) -> int:
    """0 where it is not known: a report that was scored has a word at least."""
    return {
        "words": record.n_words,
        "characters": record.n_characters,
        "sentences": record.n_sentences,
    }[measure]
