"""Scores, and the agreement of judges, from stored findings.

Invariants: whatever is written here is a pure function of what a run has stored: no judge, no snapshot, no network. No
score has a value of which less is known than unknown, in any protocol or profile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from local_judge.agents.result import Wish, merged
from local_judge.agents.wishes import WISHES
from local_judge.protocols.base import (
    Compares,
    Evaluation,
    Findings,
    ScoresOver,
    ScoresOverTogether,
    ScoresTogether,
    Wishes,
    load_protocol,
)
from local_judge.protocols.ensemble import mean_trees
from local_judge.protocols.scores import Profile, ScoreNode, known_enough_trees
from local_judge.runs.inter_judge import AgreementRecord, agreement_rows
from local_judge.runs.records import CaseRecord, RunScoreRecord, ScoreRecord
from local_judge.runs.seal import AGREEMENT
from local_judge.runs.store import RunStore, findings_file

Found = Mapping[str, Sequence[Any]]
"""By report, the findings of each judge, in the judges' order."""


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
        The scores of the reports: of all judges together, and of several also each one's.

    Raises:
        RunError: findings are missing, or a file cannot be written.
    """
    written: list[ScoreRecord] = []
    wishes: list[Wish] | None = None
    agreement: list[AgreementRecord] = []
    for name in protocols:
        protocol = load_protocol(name)
        found = _found(store, protocol, records, judges)
        rows = _score_rows(protocol, found, judges)
        store.write_jsonl(f"scores/{name}.jsonl", rows)
        written += rows
        if isinstance(protocol, ScoresOver):
            store.write_jsonl(
                f"scores/{name}.all.jsonl", _over_rows(protocol, protocol, records, found, judges)
            )
        if isinstance(protocol, Wishes):
            missed = [wish for of_one in found.values() for one in of_one for wish in protocol.wishes(one)]
            wishes = [*(wishes or []), *missed]
        if isinstance(protocol, Compares) and judges:
            agreement += agreement_rows(protocol, protocol.name, protocol.version, found, judges)
    if judges:
        store.write_jsonl(AGREEMENT, agreement)
    if wishes is not None:
        store.write_jsonl(WISHES, merged(wishes))
    return written


def over_records(
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
    if not isinstance(protocol, ScoresOver):
        return []
    return _over_rows(protocol, protocol, records, _found(store, protocol, records, judges), judges)


def _found(
    store: RunStore, protocol: Evaluation[Any], records: Sequence[CaseRecord], judges: Sequence[str]
) -> Found:
    return {
        record.id: [
            store.read_model(findings_file(protocol.name, record.key, judge), protocol.findings)
            for judge in judges or (None,)
        ]
        for record in records
        if record.status == "done"
    }


def _score_rows(protocol: Evaluation[Any], found: Found, judges: Sequence[str]) -> list[ScoreRecord]:
    """The scores of all judges together, report by report, then each judge's."""

    def row(case: str, profile: Profile, judge: str | None, scores: tuple[ScoreNode, ...]) -> ScoreRecord:
        return ScoreRecord(
            case=case,
            protocol=protocol.name,
            version=protocol.version,
            profile=profile,
            judge=judge,
            scores=known_enough_trees(scores),
        )

    rows = [
        row(case, profile, None, _together(protocol, findings, profile))
        for case, findings in found.items()
        for profile in protocol.profiles
    ]
    return rows + [
        row(case, profile, judge, protocol.score(findings[place], profile))
        for place, judge in enumerate(judges)
        for case, findings in found.items()
        for profile in protocol.profiles
    ]


def _together(
    protocol: Evaluation[Any], findings: Sequence[Findings], profile: Profile
) -> tuple[ScoreNode, ...]:
    if len(findings) == 1:
        return protocol.score(findings[0], profile)
    if isinstance(protocol, ScoresTogether):
        return protocol.together(findings, profile)
    return mean_trees([protocol.score(one, profile) for one in findings])


def _over_rows(
    protocol: Evaluation[Any],
    scores: ScoresOver,
    records: Sequence[CaseRecord],
    found: Found,
    judges: Sequence[str],
) -> list[RunScoreRecord]:
    """Each system's scores over its reports, systems in the order of their first report; together, then by judge."""
    rows: list[RunScoreRecord] = []
    for place, judge in ((None, None), *enumerate(judges)):
        for system in dict.fromkeys(record.system for record in records):
            own = [record.id for record in records if record.system == system]
            known = [found[case] for case in own if case in found]
            n_missing = len(own) - len(known)
            rows += [
                RunScoreRecord(
                    protocol=protocol.name,
                    version=protocol.version,
                    profile=profile,
                    judge=judge,
                    system=system,
                    n_reports=len(own),
                    n_missing=n_missing,
                    scores=known_enough_trees(
                        _over_together(scores, known, profile, n_missing)
                        if place is None and judges
                        else scores.over([findings[place or 0] for findings in known], profile, n_missing),
                        most=len(known) / len(own),
                    ),
                )
                for profile in protocol.profiles
            ]
    return rows


def _over_together(
    protocol: ScoresOver, known: Sequence[Sequence[Any]], profile: Profile, n_missing: int
) -> tuple[ScoreNode, ...]:
    if isinstance(protocol, ScoresOverTogether):
        return protocol.over_together(known, profile, n_missing)
    if not known:
        return protocol.over((), profile, n_missing)
    return mean_trees([protocol.over(findings, profile, n_missing) for findings in zip(*known, strict=True)])
