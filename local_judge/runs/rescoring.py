"""Scores and inter-judge agreement, computed from stored findings.

Invariants: everything written here is a pure function of the stored findings, without a judge, a snapshot or the
network. A score of which less than half is known has no value, in every protocol and profile. Agreement has one line
for each metric and each set of judges compared: all of them and, with more than two, each pair. A metric is compared on
the items that some judge lists, whether or not all judges answered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel

from local_judge.agents.result import EVIDENCE_GAPS, EvidenceGap, merged
from local_judge.claims.model import ClaimSet
from local_judge.judge.failures import FailureKind
from local_judge.protocols.base import AnyProtocol, load_protocol
from local_judge.runs.items import claims_file, findings_file
from local_judge.runs.manifest import judges_of, protocols_of
from local_judge.runs.records import CaseRecord, RunScoreRecord, ScoreRecord, failures_in
from local_judge.runs.seal import AGREEMENT
from local_judge.runs.store import RunStore
from local_judge.scoring.coverage import known_enough_trees
from local_judge.scoring.node import ScoreNode, placed
from local_judge.stats.agreement.inter_judge import Answer, agreement_of_judges
from local_judge.stats.estimate import Estimate
from serving.types import Frozen

Found = Mapping[str, Sequence[Any]]
"""Findings of each judge, in the judges' order, by report."""

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
) -> list[ScoreRecord]:
    """Compute all scores from stored findings, and with several judges their agreement, and write them.

    Args:
        store: the run.
        protocols: protocols that were run.
        records: reports of the run.
        judges: names of the judges, if there are several.

    Returns:
        Scores of the reports: of the ensemble and, with several judges, of each judge.

    Raises:
        RunError: findings are missing, or a file cannot be written.
    """
    written: list[ScoreRecord] = []
    gaps: list[EvidenceGap] | None = None
    agreement: list[AgreementRecord] = []
    for name in protocols:
        protocol = load_protocol(name)
        found = _found(store, protocol, records, judges)
        rows = _score_rows(protocol, found, judges)
        store.write_jsonl(f"scores/{name}.jsonl", rows)
        written += rows
        aggregates = _aggregate_rows(protocol, records, found, judges)
        if aggregates:
            store.write_jsonl(f"scores/{name}.all.jsonl", aggregates)
        if protocol.searches:
            gaps = [
                *(gaps or []),
                *(gap for all in found.values() for one in all for gap in protocol.evidence_gaps(one)),
            ]
        if judges:
            agreement += _agreement_rows(protocol, found, judges)
    if judges:
        store.write_jsonl(AGREEMENT, agreement)
    if gaps is not None:
        store.write_jsonl(EVIDENCE_GAPS, merged(gaps))
    return written


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
    protocol = load_protocol(name)
    return _aggregate_rows(protocol, records, _found(store, protocol, records, judges), judges)


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
    protocol = load_protocol(name)
    found = _found(store, protocol, records, judges)
    return _score_rows(protocol, found, judges), _aggregate_rows(protocol, records, found, judges)


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


def _found(
    store: RunStore, protocol: AnyProtocol, records: Sequence[CaseRecord], judges: Sequence[str]
) -> Found:
    return {
        record.id: [
            store.read_item(findings_file(protocol.name, judge), record.key, protocol.findings_type)
            for judge in judges or (None,)
        ]
        for record in records
        if record.status == "done"
    }


def _score_rows(protocol: AnyProtocol, found: Found, judges: Sequence[str]) -> list[ScoreRecord]:
    """Return the scores of the ensemble, report by report, then those of each judge."""
    return [
        ScoreRecord(
            case=case,
            protocol=protocol.name,
            version=protocol.version,
            profile=profile,
            judge=judge,
            scores=_known(
                protocol, protocol.score(findings if place is None else [findings[place]], profile)
            ),
        )
        for place, judge in ((None, None), *enumerate(judges))
        for case, findings in found.items()
        for profile in protocol.profiles
    ]


def _aggregate_rows(
    protocol: AnyProtocol, records: Sequence[CaseRecord], found: Found, judges: Sequence[str]
) -> list[RunScoreRecord]:
    """Return the scores of each system over its reports: of the ensemble, then of each judge.

    Systems are in the order of their first report.
    """
    rows: list[RunScoreRecord] = []
    for place, judge in ((None, None), *enumerate(judges)):
        for system in dict.fromkeys(record.system for record in records):
            own = [record.id for record in records if record.system == system]
            known = [found[case] for case in own if case in found]
            of_judge = known if place is None else [[findings[place]] for findings in known]
            for profile in protocol.profiles:
                scores = protocol.aggregate(of_judge, profile, len(own) - len(known))
                if scores:
                    rows.append(
                        RunScoreRecord(
                            protocol=protocol.name,
                            version=protocol.version,
                            profile=profile,
                            judge=judge,
                            system=system,
                            n_reports=len(own),
                            n_missing=len(own) - len(known),
                            scores=_known(protocol, scores, len(known) / len(own)),
                        )
                    )
    return rows


def _known(protocol: AnyProtocol, scores: tuple[ScoreNode, ...], most: float = 1.0) -> tuple[ScoreNode, ...]:
    return placed(known_enough_trees(scores, most=most), protocol.places)


class _Metric(NamedTuple):
    """Decisions of all judges by one metric."""

    scale: Scale
    reports: dict[str, dict[str, dict[str, Answer]]]
    """Answers by report, item and judge, without the judges that did not answer an item."""


def _agreement_rows(protocol: AnyProtocol, found: Found, judges: Sequence[str]) -> list[AgreementRecord]:
    """Return the agreement of `judges` by each metric of a protocol, in the order in which the metrics first occur."""
    metrics: dict[str, _Metric] = {}
    for case, findings in found.items():
        for judge, own in zip(judges, findings, strict=True):
            for decision in protocol.decisions(own):
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
