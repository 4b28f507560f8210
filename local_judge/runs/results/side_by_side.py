"""Scores of several finished runs side by side: with the lengths of their reports, or by several judges.

Invariants: a report counts once; with lengths, it is one observation of each score or is counted with the reason why it
is not; by judges, the same id and system mean the same text and task in every run, and a judge that judged a report
twice counts as two, so that it is compared with itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from local_judge.base.errors import InputError
from local_judge.runs.results.joining import Differ, join_runs
from local_judge.runs.results.scored import Nodes, Scored, find_paths, load_scored, meanings_of, protocol_of
from local_judge.runs.storage.records import CaseRecord
from local_judge.runs.storage.store import RunStore
from local_judge.scoring.coverage import Coverage, coverage_of
from local_judge.scoring.node import Profile, Score
from local_judge.stats.agreement.stability import JudgedReport

Measure = Literal["words", "characters", "sentences"]


class Measured(NamedTuple):
    """One report with one score and its length."""

    id: str
    """Number of its run and its own id."""
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
    """Coverage of the measured reports' scores."""
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
    """Return the scores named by `wanted`, of all reports of `runs`, with the reports' lengths.

    Args:
        runs: run directories.
        protocol: name of the protocol.
        profile: name of the profile.
        wanted: a score, as `find_paths` takes it.
        measure: unit of length.
        judge: one of several judges; None for the ensemble.

    Raises:
        RunError: a directory contains no finished run, or none of this protocol or profile; or there is no such score.
        InputError: two runs contain the same report.
    """
    cases: list[tuple[str, CaseRecord]] = []
    loaded = [load_scored(run, protocol, profile, judge) for run in runs]
    scored: dict[str, Nodes] = {}
    labels: dict[tuple[str, ...], str] = {}
    seen: dict[tuple[str, str | None], tuple[str, str]] = {}
    for number, (run, (records, nodes, _)) in enumerate(zip(runs, loaded, strict=True), 1):
        for record in records:
            name = f"{number}:{record.id}"
            cases.append((name, record))
            if record.document is not None:
                before, place = seen.setdefault((record.document, record.task), (name, f"{run}"))
                if before != name:
                    raise InputError(
                        f"report {record.id!r} is in {place} and in {run}, and a report counts once; omit one"
                    )
            if record.id in nodes:
                scored[name] = nodes[record.id]
                labels |= {path: node.label for path, node in scored[name].items() if path not in labels}
    return [
        _column(path, labels[path], cases, scored, measure)
        for path in find_paths(labels, wanted, protocol, meanings_of(loaded))
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
        length: int = getattr(record, f"n_{measure}")  # 0 if unknown: a scored report has at least one word
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


class JudgedColumn(NamedTuple):
    """One score of all reports, by several judges."""

    path: tuple[str, ...]
    reports: tuple[JudgedReport, ...]
    coverage: Coverage
    """Coverage of the scores of all judges."""


class JudgedRuns(NamedTuple):
    """Scores of the same reports by several judges."""

    protocol: str
    judges: tuple[str, ...]
    """Names of the judges: of their `runs.joining.Method`s."""
    columns: tuple[JudgedColumn, ...]
    reason: str
    """Reason why the runs are several judges, in one line; empty for one run."""


def judged_runs(
    runs: Sequence[Path],
    protocol: str | None,
    profile: Profile,
    wanted: str | None,
    differ: Differ | None = None,
) -> JudgedRuns:
    """Return the scores named by `wanted`, of all reports of `runs`, by each judge.

    Args:
        runs: run directories.
        protocol: name of the protocol; None if the runs have only one.
        profile: name of the profile.
        wanted: a score, as `find_paths` takes it.
        differ: as of `join_runs`.

    Raises:
        RunError: a directory contains no finished run, or none of this protocol or profile; or there is no such score.
        InputError: there is only one judge, runs have different protocols, a report has another text or task in another
            run, or `join_runs` refuses the runs.
    """
    joining = join_runs(runs, differ=differ)
    methods = [one for one in joining.methods if not one.ensemble]
    if len(methods) < 2:
        raise InputError(
            f"{runs[0]}: one judge scored its reports; give a run with several judges, or several runs"
        )
    names = {run: protocol_of(RunStore(run), protocol) for run in runs}
    for run, name in names.items():
        if name != names[runs[0]]:
            raise InputError(
                f"{run}: has scores of {name!r}, and {runs[0]} of {names[runs[0]]!r}; name one with --protocol"
            )
    known: dict[str, tuple[CaseRecord, Path]] = {}
    given: dict[str, dict[str, Nodes]] = {}
    loaded: list[Scored] = []
    for method in methods:
        own = given.setdefault(method.name, {})
        for source in method.sources:
            scored = load_scored(source.run, names[source.run], profile, source.judge)
            loaded.append(scored)
            for record in scored.records:
                key = f"{record.id}\0{record.system or ''}"  # in the order of the ids
                before, place = known.setdefault(key, (record, source.run))
                if (before.document, before.task) != (record.document, record.task):
                    raise InputError(
                        f"report {record.id!r} has another text or another task in {place} than in {source.run}"
                    )
                if record.id in scored.nodes:
                    own[key] = scored.nodes[record.id]
    paths = (path for nodes in given.values() for own in nodes.values() for path in own)
    columns = [
        JudgedColumn(
            path,
            tuple(
                JudgedReport(id, record.task, _scores(id, path, given)) for id, (record, _) in known.items()
            ),
            coverage_of(own[path].score for nodes in given.values() for own in nodes.values() if path in own),
        )
        for path in find_paths(paths, wanted, f"{runs[0]}: {names[runs[0]]}", meanings_of(loaded))
    ]
    return JudgedRuns(names[runs[0]], tuple(given), tuple(columns), joining.reason)


def _scores(id: str, path: tuple[str, ...], given: dict[str, dict[str, Nodes]]) -> dict[str, float]:
    return {
        judge: node.score.value
        for judge, nodes in given.items()
        if (node := nodes.get(id, {}).get(path)) is not None and node.score.value is not None
    }
