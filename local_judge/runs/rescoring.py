"""Scores, and the agreement of judges, from stored findings.

Invariants: whatever is written here is a pure function of what a run has stored: no judge, no snapshot, no network. No
score has a value of which less is known than unknown, in any protocol or profile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from local_judge.agents.result import EVIDENCE_GAPS, EvidenceGap, merged
from local_judge.protocols.base import AnyProtocol, load_protocol
from local_judge.runs.inter_judge import AgreementRecord, agreement_rows
from local_judge.runs.records import CaseRecord, RunScoreRecord, ScoreRecord
from local_judge.runs.seal import AGREEMENT
from local_judge.runs.store import RunStore, findings_file
from local_judge.scoring.coverage import known_enough_trees
from local_judge.scoring.node import Profile, ScoreNode, placed

Found = Mapping[str, Sequence[Any]]
"""The findings of each judge, in the judges' order, by report."""


def rescore(
    store: RunStore, protocols: Sequence[str], records: Sequence[CaseRecord], judges: Sequence[str] = ()
) -> list[ScoreRecord]:
    """Compute all scores from stored findings and write them; of several judges, also how far they agree.

    Args:
        store: the run.
        protocols: those that were run.
        records: its reports.
        judges: names of the judges, where there are several.

    Returns:
        The scores of the reports: of the ensemble, and where there are several judges of each one.

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
            agreement += agreement_rows(protocol, found, judges)
    if judges:
        store.write_jsonl(AGREEMENT, agreement)
    if gaps is not None:
        store.write_jsonl(EVIDENCE_GAPS, merged(gaps))
    return written


def aggregate_records(
    store: RunStore, name: str, records: Sequence[CaseRecord], judges: Sequence[str] = ()
) -> list[RunScoreRecord]:
    """A protocol's scores over some reports of a run, one system at a time; none where it has no rule of its own.

    Args:
        store: the run.
        name: the protocol, which was run.
        records: the reports.
        judges: names of all judges of the run, where there are several.

    Raises:
        RunError: findings are missing.
    """
    protocol = load_protocol(name)
    return _aggregate_rows(protocol, records, _found(store, protocol, records, judges), judges)


def _found(
    store: RunStore, protocol: AnyProtocol, records: Sequence[CaseRecord], judges: Sequence[str]
) -> Found:
    return {
        record.id: [
            store.read_model(findings_file(protocol.name, record.key, judge), protocol.findings_type)
            for judge in judges or (None,)
        ]
        for record in records
        if record.status == "done"
    }


def _score_rows(protocol: AnyProtocol, found: Found, judges: Sequence[str]) -> list[ScoreRecord]:
    """The scores of the ensemble, report by report, then those of each judge."""

    def row(case: str, profile: Profile, judge: str | None, scores: tuple[ScoreNode, ...]) -> ScoreRecord:
        return ScoreRecord(
            case=case,
            protocol=protocol.name,
            version=protocol.version,
            profile=profile,
            judge=judge,
            scores=placed(known_enough_trees(scores), protocol.places),
        )

    rows = [
        row(case, profile, None, protocol.score(findings, profile))
        for case, findings in found.items()
        for profile in protocol.profiles
    ]
    return rows + [
        row(case, profile, judge, protocol.score([findings[place]], profile))
        for place, judge in enumerate(judges)
        for case, findings in found.items()
        for profile in protocol.profiles
    ]


def _aggregate_rows(
    protocol: AnyProtocol, records: Sequence[CaseRecord], found: Found, judges: Sequence[str]
) -> list[RunScoreRecord]:
    """The scores of each system over its reports: of the ensemble, then of each judge.

    Systems stand in the order of their first report.
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
                            scores=placed(
                                known_enough_trees(scores, most=len(known) / len(own)), protocol.places
                            ),
                        )
                    )
    return rows
