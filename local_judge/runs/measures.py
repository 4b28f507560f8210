"""Scores and lengths of finished runs side by side.

Invariants: a report is one observation of each score, or is counted among those that have none, with the reason; the
same report is never counted twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from local_judge.errors import InputError
from local_judge.runs.records import CaseRecord
from local_judge.runs.scored import Nodes, find_paths, load_scored
from local_judge.scoring.coverage import Coverage, coverage_of
from local_judge.scoring.node import Score

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
    coverage: Coverage
    """Of their scores."""
    n_reports: int
    n_null: int
    """Reports whose score is null."""
    n_unscored: int
    """Reports that could not be evaluated."""
    n_unmeasured: int
    """Reports whose length the run did not record."""


def score_columns(
    runs: Sequence[Path],
    protocol: str,
    profile: str,
    wanted: str | None,
    measure: Measure,
    judge: str | None = None,
) -> list[ScoreColumn]:
    """The scores that `wanted` names, of all reports of `runs`.

    Args:
        runs: run directories.
        protocol: whose scores.
        profile: by which formulas.
        wanted: path of a score (`a/b/c`), or the end of one that fits one score only; None for the roots, and for what
            stands below a root that is alone.
        measure: of length.
        judge: one of several; None for the ensemble.

    Raises:
        RunError: a directory holds no finished run, or not of this protocol or profile; there is no such score.
        InputError: a report stands in two runs.
    """
    cases: list[tuple[str, CaseRecord]] = []
    scored: dict[str, Nodes] = {}
    labels: dict[tuple[str, ...], str] = {}
    seen: dict[tuple[str, str | None], tuple[str, str]] = {}
    for number, run in enumerate(runs, 1):
        records, nodes, _ = load_scored(run, protocol, profile, judge)
        for record in records:
            name = f"{number}:{record.id}"
            cases.append((name, record))
            if record.document is not None:
                before, place = seen.setdefault((record.document, record.task), (name, f"{run}"))
                if before != name:
                    raise InputError(
                        f"report {record.id!r} stands in {place} and in {run}: a report counts once"
                    )
            if record.id in nodes:
                scored[name] = nodes[record.id]
                labels |= {path: node.label for path, node in scored[name].items() if path not in labels}
    return [
        _column(path, labels[path], cases, scored, measure) for path in find_paths(labels, wanted, protocol)
    ]


def _column(
    path: tuple[str, ...],
    label: str,
    cases: Sequence[tuple[str, CaseRecord]],
    scored: Mapping[str, Nodes],
    measure: Measure,
) -> ScoreColumn:
    measured: list[Measured] = []
    scores: list[Score] = []
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
            scores.append(node.score)
    return ScoreColumn(
        path, label, tuple(measured), coverage_of(scores), len(cases), n_null, n_unscored, n_unmeasured
    )


def _length(record: CaseRecord, measure: Measure) -> int:
    """0 where it is not known: a report that was scored has a word at least."""
    return {
        "words": record.n_words,
        "characters": record.n_characters,
        "sentences": record.n_sentences,
    }[measure]
