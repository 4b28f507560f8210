"""Reports, verdicts and answers of two finished runs, matched with each other.

Invariant: a report of one run is matched with at most one of the other; what has no match is counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from local_judge.base.errors import InputError
from local_judge.claims.model import ClaimSet, Verdict
from local_judge.protocols.base import ItemRow, load_protocol
from local_judge.runs.results.attributes import OpenRun
from local_judge.runs.results.scored import Scored, ScoredReport
from local_judge.runs.storage.items import claims_file, findings_file
from local_judge.runs.storage.records import CaseRecord
from local_judge.stats.paired import Pair

Place = tuple[str, ...]
"""Path of a score."""


class MatchedReports(NamedTuple):
    """Reports of two runs."""

    pairs: tuple[tuple[CaseRecord, CaseRecord], ...]
    by: str
    """Key that matches them: `id`, `task and system`, or `task`."""
    n_first: int
    """Reports of the first run without a match."""
    n_second: int


class StoredVerdict(NamedTuple):
    """Verdict on one claim by one page."""

    claim: str
    """Text of the claim."""
    verdict: Verdict


def matched_reports(first: OpenRun, second: OpenRun) -> MatchedReports:
    """Return the reports of two runs in pairs: by id, else by task and system, else by task.

    Raises:
        InputError: no report of one run matches one of the other.
    """
    keys: tuple[tuple[str, Callable[[CaseRecord], Hashable]], ...] = (
        ("id", lambda record: record.id),
        ("task and system", lambda record: record.task and record.system and (record.task, record.system)),
        ("task", lambda record: record.task),
    )
    for by, key in keys:
        ones, others = _by_key(first.records, key), _by_key(second.records, key)
        pairs = tuple((one, others[name]) for name, one in ones.items() if name in others)
        if pairs:
            return MatchedReports(
                pairs, by, len(first.records) - len(pairs), len(second.records) - len(pairs)
            )
    raise InputError(
        f"{first.store.root} and {second.store.root}: no report of one is in the other; reports are matched by id, or "
        "by task if each run has one report per task"
    )


def _by_key(
    records: Sequence[CaseRecord], key: Callable[[CaseRecord], Hashable]
) -> dict[Hashable, CaseRecord]:
    """Return the reports whose key no other report of the run has."""
    counts = Counter(map(key, records))
    return {key(record): record for record in records if key(record) and counts[key(record)] == 1}


def score_pairs(matched: MatchedReports, first: Scored, second: Scored) -> dict[Place, list[Pair]]:
    """Return the values of every score on both sides, for reports with both."""
    found: dict[Place, list[Pair]] = {}
    for one, other in matched.pairs:
        nodes = second.nodes.get(other.id, {})
        for path, node in first.nodes.get(one.id, {}).items():
            pairs = found.setdefault(path, [])
            value, against = node.score.value, nodes[path].score.value if path in nodes else None
            if value is not None and against is not None:
                pairs.append(Pair(one.task or one.id, value, against))
    return found


def system_pairs(reports: Sequence[ScoredReport]) -> dict[tuple[str, str], list[Pair]]:
    """Return the values of a score of each two systems by task; of several reports on a task, their mean."""
    values: dict[str, dict[str, list[float]]] = {}
    for report in reports:
        if report.system is not None and report.value is not None:
            values.setdefault(report.system, {}).setdefault(report.task or report.case, []).append(
                report.value
            )
    return {
        (one, other): [
            Pair(task, _mean(own), _mean(values[other][task]))
            for task, own in values[one].items()
            if task in values[other]
        ]
        for one, other in combinations(values, 2)
    }


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def verdicts_by_claim(
    run: OpenRun, record: CaseRecord, judge: str | None
) -> dict[tuple[str, str], StoredVerdict]:
    """Return the verdicts on a report's claims by text and page; of equal claims, the first."""
    claims = None
    if record.status == "done":
        claims = run.store.find_item(claims_file(judge), record.key, ClaimSet)
    if claims is None:
        return {}
    texts = {claim.id: claim.text for claim in claims.claims}
    found: dict[tuple[str, str], StoredVerdict] = {}
    for verdict in claims.verdicts:
        text = texts[verdict.claim]
        found.setdefault((" ".join(text.split()), verdict.url), StoredVerdict(text, verdict))
    return found


def items_by_question(
    run: OpenRun, record: CaseRecord, protocol: str, judge: str | None
) -> Mapping[tuple[str, str, str], ItemRow]:
    """Return the answers to a protocol's questions about a report by metric, item and page."""
    if record.status != "done":
        return {}
    loaded = load_protocol(protocol)
    findings = run.store.read_item(findings_file(protocol, judge), record.key, loaded.findings_type)
    return {(row.metric, row.item, row.url or ""): row for row in loaded.items(findings)}
