"""Scores of a run over the reports of each system, computed in one pass over the scores of its reports.

    value       the protocol's own score over the reports of a system if it defines one, else the mean of the values
    by rule     the protocol's own score is not that mean (`ScoreNode.mean`)
    interval    of a mean, 95 % percentile bootstrap interval over reports (seed 0); of more than `DRAWN` values the
                interval that it tends to, mean +- 1.96 sd / sqrt(n)

Invariants: memory grows with the number of scores, systems and tasks, not of reports; a report that could not be
evaluated counts as failed in each score; a path that means different things in different tasks has no score; equal
scores give equal bytes, with whatever version of NumPy.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from local_judge.base.model import Frozen
from local_judge.runs.storage.records import (
    ENSEMBLE,
    CaseRecord,
    Judges,
    RunScoreRecord,
    ScoreRecord,
    Steps,
    records_by_system,
    score_file,
)
from local_judge.runs.storage.store import RunStore
from local_judge.scoring.aggregate import Meanings
from local_judge.scoring.algebra import Mean, undefined, unknown
from local_judge.scoring.coverage import failed, in_part, with_reason
from local_judge.scoring.node import Profile, Score, ScoreNode, evaluated, headlines, noted
from local_judge.stats.estimate import DRAWS, LEVEL, Resamples, percentile

DRAWN = 2_000
"""Largest number of values of which a bootstrap is drawn. Of more, its interval and the normal one differ by less than
two runs of the bootstrap with other seeds."""


NOT_SCORED, NOT_EVALUATED = "not asked of these reports", "the reports could not be evaluated"


class ReportCounts(NamedTuple):
    """Number of reports behind a value."""

    n_reports: int
    n_values: int
    """Reports with a value."""
    n_failed: int
    """Reports without a value because of failures, including those that were not read or not scored."""
    n_in_part: int
    """Reports whose value rests on a part of the answers."""
    n_undefined: int
    """Reports without a value by the formula itself, or for which the score was not asked."""


class SystemScore(Frozen):
    """One score of one system, as used in every table, ranking and export.

    It is a line of `scores/<protocol>.systems.jsonl`.
    """

    protocol: str
    version: str
    profile: Profile
    judge: str | None = None
    """Name of the judge, if there are several; None for the ensemble or the only judge."""
    system: str | None = None
    """Agent that wrote the reports; None if the input names none."""
    all_systems: bool = False
    """True for the reports of all systems together; only of the overall scores, and only if there are several
    systems."""
    path: tuple[str, ...]
    label: str
    headline: bool = False
    """The score sums up a report."""
    rule_only: bool = False
    """No report has a score of its own by this path."""
    by_rule: bool = False
    """True if the protocol defines the score over reports in another way than as their mean, such as by pooling."""
    score: Score
    n_reports: int
    """Reports of the system in the run."""
    n_values: int = 0
    """Reports of the system with a value of their own."""
    n_failed: int = 0
    """Reports without a value because of failures."""
    n_in_part: int = 0
    """Reports whose value rests on a part of the answers."""
    n_undefined: int = 0
    """Reports without a value by the formula, or for which the score was not asked."""
    interval: tuple[float, float] | None = None
    """Interval of a mean over at least two values."""

    @property
    def counts(self) -> ReportCounts:
        """Numbers of reports."""
        return ReportCounts(self.n_reports, self.n_values, self.n_failed, self.n_in_part, self.n_undefined)


class Summing:
    """Summary of one score over reports, which takes one report at a time."""

    def __init__(self) -> None:
        self._mean = Mean()
        self._n_values = self._n_failed = self._n_in_part = 0
        self._evaluated: dict[str, None] = {}
        self._values = array("d")
        self._centre = self._squares = 0.0

    def add(self, score: Score, times: int = 1) -> None:
        """Add the score of a report; `times` adds one without value and bounds several times."""
        self._mean.add(score, times)
        self._n_in_part += in_part(score)
        self._n_failed += times * failed(score)
        if part := evaluated(score):
            self._evaluated[part] = None
        if score.value is not None:
            self._n_values += 1
            if self._n_values <= DRAWN:
                self._values.append(score.value)
            # Welford 1962: the sum of squared differences from the mean, without cancellation.
            off = score.value - self._centre
            self._centre += off / self._n_values
            self._squares += off * (score.value - self._centre)

    @property
    def n(self) -> int:
        """Number of reports."""
        return self._mean.n

    def score(self) -> Score:
        """Return the mean over the reports, with their notes that they are of a part of their parts."""
        found = with_reason(self._mean.score())
        return noted(found, *self._evaluated) if self._evaluated and self.n > 1 else found

    def counts(self) -> ReportCounts:
        """Return the numbers of reports."""
        n_undefined = self.n - self._n_values - self._n_failed
        return ReportCounts(self.n, self._n_values, self._n_failed, self._n_in_part, n_undefined)

    def interval(self) -> tuple[float, float] | None:
        """Return the interval of the mean; None for fewer than two values."""
        n = self._n_values
        if n <= DRAWN:
            return mean_interval(self._values)
        half = NormalDist().inv_cdf((1 + LEVEL / 100) / 2) * math.sqrt(self._squares) / n
        return self._centre - half, self._centre + half


def mean_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """Return the percentile bootstrap interval of the mean over reports; None for fewer than two values."""
    n = len(values)
    if n < 2:
        return None
    # Sums from left to right: they have the same bits on every machine.
    means = sorted((np.asarray(values)[_draws(n)].cumsum(axis=1)[:, -1] / n).tolist())
    rest = (100 - LEVEL) / 2
    return percentile(means, rest), percentile(means, 100 - rest)


@lru_cache(8)
def _draws(n: int) -> NDArray[np.uint16]:
    """Return the draws of a bootstrap over `n` reports, by draw and report; many scores have the same ones."""
    return np.array([*Resamples(n, DRAWS, 0)], dtype=np.uint16)


class _Scored(NamedTuple):
    """Scores of all reports by one protocol, profile and judge."""

    like: ScoreRecord | RunScoreRecord
    labels: dict[Steps, str]
    heads: set[Steps]
    sums: dict[str | None, dict[Steps, Summing]]
    """Sums by system and path."""
    whole: dict[Steps, Summing]
    """Sums of all systems together, by path of a root."""
    n_scored: dict[str | None, int]
    """Reports with scores, by system."""
    meanings: Meanings


class Summaries:
    """Scores over reports, from the scores of a run's reports in its order.

    Args:
        records: all reports of the run.
    """

    def __init__(self, records: Sequence[CaseRecord]) -> None:
        self._systems: dict[str, str | None] = {record.id: record.system for record in records}
        self._tasks = {record.id: record.task or record.id for record in records}
        self._n = {system: len(own) for system, own in records_by_system(records).items()}
        self._found: dict[tuple[str, Profile, str | None], _Scored] = {}

    def watched(self, rows: Iterable[ScoreRecord]) -> Iterator[ScoreRecord]:
        """Yield score records, and add each."""
        for row in rows:
            self.add(row)
            yield row

    def add(self, row: ScoreRecord) -> None:
        """Add the scores of a report."""
        found, system = self._of(row), self._systems[row.case]
        found.n_scored[system] = found.n_scored.get(system, 0) + 1
        sums = found.sums.setdefault(system, {})
        found.heads.update((root.id,) for root in headlines(row.scores))
        nodes = [entry for root in row.scores for entry in root.walk()]
        found.meanings.add(self._tasks[row.case], nodes)
        for path, node in nodes:
            found.labels[path] = node.label
            if path not in sums:
                sums[path] = Summing()
            sums[path].add(node.score)
            if len(path) == 1 and len(self._n) > 1:
                found.whole.setdefault(path, Summing()).add(node.score)

    def _of(self, like: ScoreRecord | RunScoreRecord) -> _Scored:
        key = (like.protocol, like.profile, like.judge)
        if key not in self._found:
            self._found[key] = _Scored(like, {}, set(), {}, {}, {}, Meanings())
        return self._found[key]

    def scores(self, aggregates: Sequence[RunScoreRecord]) -> Iterator[SystemScore]:
        """Yield every score of every system, systems in the order of their first report.

        Args:
            aggregates: the protocols' own scores over reports, which replace means.
        """
        for row in aggregates:
            self._of(row)  # without any report that has scores
        for found in self._found.values():
            rules = _rules(found.like, aggregates)
            shared = [path for path in found.labels if not found.meanings.varies(path)]
            for system, n in self._n.items():
                own, sums = rules.get(system, {}), found.sums.get(system, {})
                for path in dict.fromkeys((*shared, *own)):
                    summed = _with_missing(sums.get(path), n, found.n_scored.get(system, 0))
                    yield _system_score(found, path, summed, own.get(path), system=system)
            n_scored = sum(found.n_scored.values())
            for path, summed in found.whole.items():
                whole = _with_missing(summed, sum(self._n.values()), n_scored)
                yield _system_score(found, path, whole, None, all_systems=True)


def _with_missing(summed: Summing | None, n: int, n_scored: int) -> Summing:
    """Add the reports without the score: undefined if they have others, failed if they have none."""
    summed = summed or Summing()
    if n_scored > summed.n:
        summed.add(undefined(NOT_SCORED), n_scored - summed.n)
    if n > summed.n:
        summed.add(unknown(None, None, NOT_EVALUATED), n - summed.n)
    return summed


def _rules(
    like: ScoreRecord | RunScoreRecord, aggregates: Sequence[RunScoreRecord]
) -> dict[str | None, dict[Steps, ScoreNode]]:
    key = (like.protocol, like.profile, like.judge)
    own = [row for row in aggregates if (row.protocol, row.profile, row.judge) == key]
    return {row.system: {path: node for root in row.scores for path, node in root.walk()} for row in own}


def _system_score(
    found: _Scored,
    path: Steps,
    summed: Summing,
    rule: ScoreNode | None,
    *,
    system: str | None = None,
    all_systems: bool = False,
) -> SystemScore:
    score = summed.score() if rule is None else rule.score
    by_rule = rule is not None and not rule.mean
    return SystemScore(
        protocol=found.like.protocol,
        version=found.like.version,
        profile=found.like.profile,
        judge=found.like.judge,
        system=system,
        all_systems=all_systems,
        path=path,
        label=rule.label if rule is not None and path not in found.labels else found.labels[path],
        headline=path in found.heads,
        rule_only=path not in found.labels,
        by_rule=by_rule,
        score=score,
        interval=summed.interval() if not by_rule and score.value is not None else None,
        **summed.counts()._asdict(),
    )


def summarised(
    records: Sequence[CaseRecord], scores: Iterable[ScoreRecord], aggregates: Sequence[RunScoreRecord] = ()
) -> list[SystemScore]:
    """Return the scores over reports that `Summaries` makes of the reports' scores."""
    found = Summaries(records)
    for row in scores:
        found.add(row)
    return list(found.scores(aggregates))


def write_scores(
    store: RunStore,
    protocol: str,
    records: Sequence[CaseRecord],
    scores: Iterable[ScoreRecord],
    aggregates: Iterable[RunScoreRecord] = (),
) -> None:
    """Write a protocol's scores of the reports of a run, and the scores over reports that follow from them.

    Args:
        store: the run.
        protocol: name of the protocol.
        records: all reports of the run.
        scores: scores of the evaluated reports.
        aggregates: the protocol's own scores over reports.

    Raises:
        RunError: a file cannot be written.
    """
    found = Summaries(records)
    store.write_jsonl(score_file(protocol), found.watched(scores))
    own = list(aggregates)
    if own:
        store.write_jsonl(f"scores/{protocol}.all.jsonl", own)
    store.write_jsonl(system_file(protocol), found.scores(own))


def system_file(protocol: str) -> str:
    """Return the name of the file of a protocol's scores over reports."""
    return f"scores/{protocol}.systems.jsonl"


def load_system_scores(
    store: RunStore, protocols: Sequence[str], judges: Judges = ENSEMBLE
) -> list[SystemScore]:
    """Return the stored scores over reports of some protocols and judges."""
    rows = [row for name in protocols for row in store.read_models(system_file(name), SystemScore)]
    return [row for row in rows if row.judge in judges]
