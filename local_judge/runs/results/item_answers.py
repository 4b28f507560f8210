"""Answers of judges to the items of reports, as people label them.

Items are a protocol's (`runs.tables.item_rows`), the winners of its comparisons (`winner`) and the verdicts of the
claim set (`claims`).

Invariant: an answer that failed has no value; an ensemble answers only what its protocol decides for all judges
together, which is who wins a comparison.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, get_args

from indexes.urls import UrlError, normalise_url
from local_judge.claims.model import ClaimSet, Label
from local_judge.protocols.base import AnyProtocol, load_protocol
from local_judge.runs.results.joining import Method, Source
from local_judge.runs.results.labels import HumanLabel
from local_judge.runs.results.ratings import Unit
from local_judge.runs.results.scored import protocol_of
from local_judge.runs.storage.items import claims_file, findings_file
from local_judge.runs.storage.manifest import judges_of, protocols_of, read_manifest
from local_judge.runs.storage.records import CaseRecord, load_records
from local_judge.runs.storage.store import RunStore
from local_judge.scoring.node import Profile
from local_judge.stats.agreement.inter_judge import Answer

CLAIMS, WINNER = "claims", "winner"
"""Metrics of the claim set's verdicts and of the comparisons of reports."""

_VERDICTS: Mapping[Label, HumanLabel | None] = {
    "supported": "supported",
    "partial": "partial",
    "contradicted": "contradicted",
    "not_found": "unsupported",
    "off_topic": "unsupported",
    "unusable": None,
}


VOCABULARY: Mapping[str, Sequence[str]] = {
    CLAIMS: get_args(HumanLabel),
    WINNER: ("report", "other", "tie"),
}
"""Answers of the metrics that every run has in common."""


class ItemAnswer(NamedTuple):
    """One answer of a judge."""

    metric: str
    item: str
    url: str
    text: str
    value: Answer | None


def answers_of(method: Method, protocol: str | None, profile: Profile) -> Mapping[Unit, Sequence[ItemAnswer]]:
    """Return all answers of a judge by report: under its id, and under its task and system."""
    found: dict[Unit, list[ItemAnswer]] = {}
    for source in method.sources:
        store = RunStore(source.run)
        names = protocols_of(store) if protocol is None else (protocol_of(store, protocol),)
        protocols = [load_protocol(name) for name in names]
        for record in load_records(store):
            if record.status == "done":
                answers = list(_of_report(store, record, source, protocols, profile, method.ensemble))
                units: list[Unit] = [(record.id,)]
                if record.task is not None and record.system is not None:
                    units.append((record.task, record.system))
                for unit in units:
                    found.setdefault(unit, []).extend(answers)
    return found


def _of_report(
    store: RunStore,
    record: CaseRecord,
    source: Source,
    protocols: Sequence[AnyProtocol],
    profile: Profile,
    ensemble: bool,
) -> Iterator[ItemAnswer]:
    judges = judges_of(store) if ensemble else (source.judge,)
    for protocol in protocols:
        findings = [
            store.read_item(findings_file(protocol.name, judge), record.key, protocol.findings_type)
            for judge in judges
        ]
        for row in protocol.items(findings[0]) if not ensemble else ():
            yield ItemAnswer(row.metric, row.item, item_url(row.url), row.text, row.value)
        for contest in protocol.contests(findings, profile):
            text = f"{record.id} compared with {contest.case or contest.opponent}"
            yield ItemAnswer(WINNER, contest.case or contest.opponent, "", text, _winner(contest.points))
    claims = None if ensemble else store.find_item(claims_file(source.judge), record.key, ClaimSet)
    if claims is not None:
        texts = {claim.id: claim.text for claim in claims.claims}
        for verdict in claims.verdicts:
            value = None if verdict.label is None else _VERDICTS[verdict.label]
            yield ItemAnswer(CLAIMS, verdict.claim, item_url(verdict.url), texts[verdict.claim], value)


def _winner(points: Sequence[float | None]) -> str | None:
    """Return who won most of the games: `report`, `other` or `tie`; None if one failed."""
    known = [one for one in points if one is not None]
    if len(known) != len(points) or not known:
        return None
    total = math.fsum(known) - len(known) / 2
    return "tie" if total == 0 else "report" if total > 0 else "other"


def judge_names(method: Method) -> set[str]:
    """Return the names of a judge in its runs."""
    if method.ensemble:
        return set()
    return {
        judge["name"]
        for source in method.sources
        for judge in read_manifest(RunStore(source.run)).get("judges", [])
        if source.judge in (None, judge["name"])
    }


def item_url(url: str | None) -> str:
    """Return the URL of an item, normalised; empty without one."""
    try:
        return normalise_url(url) if url else ""
    except UrlError:
        return url or ""
