"""Scores and inter-judge agreement, computed from stored findings.

Invariants: everything written here is a pure function of the stored findings, without a judge, a snapshot or the
network. A score of which less than half is known has no value, in every protocol and profile. Agreement has one line
for each metric and each set of judges compared: all of them and, with more than two, each pair. A metric is compared on
the items that some judge lists, whether or not all judges answered.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, combinations
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel

from local_judge.agents.result import EVIDENCE_GAPS, EvidenceGap, merged
from local_judge.base.failures import FailureKind
from local_judge.base.model import Frozen
from local_judge.claims.model import ClaimSet
from local_judge.protocols.base import AnyProtocol, load_protocol
from local_judge.protocols.stated import with_stated
from local_judge.runs.storage.items import claims_file, findings_file
from local_judge.runs.storage.manifest import judges_of, protocols_of
from local_judge.runs.storage.records import (
    CaseRecord,
    RunScoreRecord,
    ScoreRecord,
    failures_in,
    records_by_system,
)
from local_judge.runs.storage.seal import AGREEMENT
from local_judge.runs.storage.store import RunStore
from local_judge.runs.storage.summaries import write_scores
from local_judge.scoring.coverage import known_enough_trees
from local_judge.scoring.node import ScoreNode, placed
from local_judge.stats.agreement.inter_judge import Answer, agreement_of_judges
from local_judge.stats.estimate import Estimate

Scale = Literal["nominal", "ordinal", "interval"]

SEED = 0
"""Fixed random seed of the bootstrap, so that equal findings give equal bytes."""


class AgreementRecord(Frozen):
    """One line of `agreement.jsonl`."""

    protocol: str
    version: str
    metric: str
    """Name of the metric."""
    scale: Scale
    """Type of the answers: labels, ranks or numbers."""
    judges: tuple[str, ...]
    """Judges that are compared."""
    n_reports: int
    """Reports in which some judge lists an item of the metric."""
    n_items: int
    """Items that at least two of the judges answered."""
    n_missing: dict[str, int]
    """Number of items without an answer, by judge."""
    alike: Estimate
    """Share of items with the same answer by all judges, among items that all answered."""
    alike_pairs: Estimate
    """Share of equal answers among all pairs of answers to one item."""
    difference: Estimate | None = None
    """Mean absolute difference in such pairs; None if answers are labels."""
    kappa: Estimate | None = None
    """Cohen's kappa of two judges: unweighted for labels, else with quadratic weights."""
    alpha: Estimate
    """Krippendorff's alpha."""
    seed: int = SEED
    """Random seed for the bootstrap."""


def load_agreement(store: RunStore) -> list[AgreementRecord]:
    """Return the agreement of a run's judges; an empty list if it has one judge."""
    return store.read_models(AGREEMENT, AgreementRecord) if (store.root / AGREEMENT).exists() else []


def rescore(
    store: RunStore, protocols: Sequence[str], records: Sequence[CaseRecord], judges: Sequence[str] = ()
) -> None:
    """Compute all scores from stored findings, and with several judges their agreement, and write them.

    Scores are of the ensemble and, with several judges, of each judge. Findings are read report by report.

    Args:
        store: the run.
        protocols: protocols that were run.
        records: reports of the run.
        judges: names of the judges, if there are several.

    Raises:
        RunError: findings are missing, or a file cannot be written.
    """
    gaps: list[Iterator[EvidenceGap]] = []
    agreement: list[AgreementRecord] = []
    for name in protocols:
        found = _Found(store, load_protocol(name), records, judges)
        write_scores(store, name, records, _score_rows(found), _aggregate_rows(found))
        if found.protocol.searches:
            gaps.append(found.gaps())
        if judges:
            agreement += agreement_rows(found.protocol, found.each(found.files), judges)
    if judges:
        store.write_jsonl(AGREEMENT, agreement)
    if gaps:
        store.write_jsonl(EVIDENCE_GAPS, merged(chain(*gaps)))


def aggregate_records(
    store: RunStore, name: str, records: Sequence[CaseRecord], judges: Sequence[str] = ()
) -> list[RunScoreRecord]:
    """Return a protocol's own scores over some reports of a run, by system; none if it defines no such scores.

    Args:
        store: the run.
        name: name of a protocol that was run.
        records: the reports.
        judges: names of all judges of the run, if there are several.

    Raises:
        RunError: findings are missing.
    """
    return list(_aggregate_rows(_Found(store, load_protocol(name), records, judges)))


def derived_scores(
    store: RunStore, name: str, records: Sequence[CaseRecord], judges: Sequence[str] = ()
) -> tuple[list[ScoreRecord], list[RunScoreRecord]]:
    """Return a protocol's scores of some reports of a run, and its scores over them, without writing them.

    Args:
        store: the run, finished or not.
        name: name of a protocol that was run.
        records: the reports.
        judges: names of all judges of the run, if there are several.

    Raises:
        RunError: findings are missing.
    """
    found = _Found(store, load_protocol(name), records, judges)
    return list(_score_rows(found)), list(_aggregate_rows(found))


def failure_kinds(store: RunStore, records: Sequence[CaseRecord]) -> set[FailureKind]:
    """Return the kinds of the failures in the claim sets and findings of a run."""
    found: set[FailureKind] = set()
    protocols = [load_protocol(name) for name in protocols_of(store)]
    for record in records:
        if record.status != "done" or not record.n_calls_failed:
            continue
        for judge in judges_of(store) or (None,):
            items: list[BaseModel | None] = [
                store.read_item(findings_file(one.name, judge), record.key, one.findings_type)
                for one in protocols
            ]
            items.append(store.find_item(claims_file(judge), record.key, ClaimSet))
            found |= {failure.kind for one in items for failure in failures_in(one)}
    return found


class _Found(NamedTuple):
    """Findings of one protocol about the reports of a run, which are read one report at a time."""

    store: RunStore
    protocol: AnyProtocol
    records: Sequence[CaseRecord]
    """All reports, in the run's order."""
    judges: Sequence[str]
    """Names of the judges, if there are several."""

    @property
    def files(self) -> list[str]:
        """Names of the files, in the judges' order."""
        return [findings_file(self.protocol.name, judge) for judge in self.judges or (None,)]

    def each(self, files: Sequence[str]) -> Iterator[tuple[str, list[Any]]]:
        """Yield the ids of the evaluated reports with their findings in some files."""
        for record in self.records:
            if record.status == "done":
                yield record.id, self.read(record.key, files)

    def read(self, key: str, files: Sequence[str]) -> list[Any]:
        """Return the findings about one report."""
        return [self.store.read_item(file, key, self.protocol.findings_type) for file in files]

    def gaps(self) -> Iterator[EvidenceGap]:
        """Yield the evidence gaps of all judges."""
        return (
            gap for _, all in self.each(self.files) for one in all for gap in self.protocol.evidence_gaps(one)
        )


class _OfSystem(Sequence[Any]):
    """Findings of some judges about each report of a system, read when they are asked for."""

    def __init__(self, found: _Found, keys: Sequence[str], files: Sequence[str]) -> None:
        self._found, self._keys, self._files = found, keys, files

    def __len__(self) -> int:
        return len(self._keys)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return _OfSystem(self._found, self._keys[place], self._files)
        return self._found.read(self._keys[int(place)], self._files)


def _by_judge(found: _Found) -> list[tuple[str | None, list[str]]]:
    """Return the files of the ensemble or the only judge, and with several judges those of each."""
    return [
        (None, found.files),
        *((judge, [file]) for judge, file in zip(found.judges, found.files, strict=False)),
    ]


def _score_rows(found: _Found) -> Iterator[ScoreRecord]:
    """Yield the scores of the ensemble, report by report, then those of each judge."""
    protocol = found.protocol
    for judge, files in _by_judge(found):
        for case, findings in found.each(files):
            for profile in protocol.profiles:
                scores = with_stated(protocol.score(findings, profile), findings[0].stated, profile)
                yield ScoreRecord(
                    case=case,
                    protocol=protocol.name,
                    version=protocol.version,
                    profile=profile,
                    judge=judge,
                    scores=_known(protocol, scores),
                )


def _aggregate_rows(found: _Found) -> Iterator[RunScoreRecord]:
    """Yield the scores of each system over its reports: of the ensemble, then of each judge.

    Systems are in the order of their first report.
    """
    protocol = found.protocol
    for judge, files in _by_judge(found):
        for system, records in records_by_system(found.records).items():
            keys = [record.key for record in records if record.status == "done"]
            n_missing = len(records) - len(keys)
            for profile in protocol.profiles:
                scores = protocol.aggregate(_OfSystem(found, keys, files), profile, n_missing)
                if scores:
                    yield RunScoreRecord(
                        protocol=protocol.name,
                        version=protocol.version,
                        profile=profile,
                        judge=judge,
                        system=system,
                        n_reports=len(records),
                        n_missing=n_missing,
                        scores=_known(protocol, scores, len(keys) / len(records)),
                    )


def _known(protocol: AnyProtocol, scores: tuple[ScoreNode, ...], most: float = 1.0) -> tuple[ScoreNode, ...]:
    return placed(known_enough_trees(scores, most=most), protocol.places)


class _Metric(NamedTuple):
    """Decisions of all judges by one metric."""

    scale: Scale
    reports: dict[str, dict[str, dict[str, Answer]]]
    """Answers by report, item and judge, without the judges that did not answer an item."""


def agreement_rows(
    protocol: AnyProtocol, found: Iterable[tuple[str, Sequence[Any]]], judges: Sequence[str]
) -> list[AgreementRecord]:
    """Return the agreement of `judges` by each metric of a protocol, in the order in which the metrics first occur.

    Args:
        protocol: the protocol.
        found: reports with the findings of each judge, in the judges' order.
        judges: names of the judges.
    """
    metrics: dict[str, _Metric] = {}
    for case, findings in found:
        for judge, own in zip(judges, findings, strict=True):
            for decision in protocol.decisions(own):
                if decision.by == "code":
                    continue
                metric = metrics.setdefault(decision.metric, _Metric(decision.scale, {}))
                answers = metric.reports.setdefault(case, {}).setdefault(decision.item, {})
                if decision.value is not None:
                    answers[judge] = decision.value
    compared = [tuple(judges), *(combinations(judges, 2) if len(judges) > 2 else ())]
    return [
        _agreement(protocol, name, metric, group) for name, metric in metrics.items() for group in compared
    ]


def _agreement(protocol: AnyProtocol, name: str, metric: _Metric, judges: tuple[str, ...]) -> AgreementRecord:
    found = agreement_of_judges(list(metric.reports.values()), judges, metric.scale, seed=SEED)
    return AgreementRecord(
        protocol=protocol.name,
        version=protocol.version,
        metric=name,
        scale=metric.scale,
        judges=judges,
        n_reports=len(metric.reports),
        **found._asdict(),
    )
