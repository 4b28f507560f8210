"""Reports, verdicts and answers of two finished runs, matched with each other.

Invariant: a report of one run is matched with at most one of the other; what has no match is counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

from local_judge.base.errors import InputError
from local_judge.claims.model import ClaimSet
from local_judge.protocols.base import load_protocol
from local_judge.runs.results.attributes import OpenRun
from local_judge.runs.results.scored import Scored, ScoredReport
from local_judge.runs.storage.items import claims_file, findings_file
from local_judge.runs.storage.records import CaseRecord

Place = tuple[str, ...]
"""Path of a score."""
Values = dict[tuple[str, str], float]
"""Values of a score by task and report; the report is empty for a mean over the reports of a task."""
Sides = tuple[Values, Values]
"""Values of a score in two runs, with the task and id of the report in the first run."""


class MatchedReports(NamedTuple):
    """Reports of two runs."""

    pairs: tuple[tuple[CaseRecord, CaseRecord], ...]
    by: str
    """Key that matches them: `id`, `task and system`, or `task`."""
    n_first: int
    """Reports of the first run without a match."""
    n_second: int


class Answer(NamedTuple):
    """Verdict on one claim by one page, or answer to one question of a protocol."""

    text: str
    """Claim or question."""
    url: str
    value: str | float | None
    """Label or number; None if it failed."""
    confidence: float | None = None
    metric: str = ""
    item: str = ""


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


def score_values(matched: MatchedReports, first: Scored, second: Scored) -> dict[Place, Sides]:
    """Return the values of every score on both sides by task, or else report, and report."""
    found: dict[Place, Sides] = {}
    for pair in matched.pairs:
        key = (pair[0].task or pair[0].id, pair[0].id)
        for path in first.nodes.get(pair[0].id, {}):
            found.setdefault(path, ({}, {}))
        for side, record, scored in zip((0, 1), pair, (first, second), strict=True):
            for path, node in scored.nodes.get(record.id, {}).items():
                if path in found and node.score.value is not None:
                    found[path][side][key] = node.score.value
    return found


def system_values(reports: Sequence[ScoredReport]) -> dict[str, Values]:
    """Return the values of a score by system and task; of several reports on a task, their mean."""
    values: dict[str, dict[tuple[str, str], list[float]]] = {}
    for report in reports:
        if report.system is not None and report.value is not None:
            task = report.task or report.case
            values.setdefault(report.system, {}).setdefault((task, ""), []).append(report.value)
    return {
        system: {key: sum(scores) / len(scores) for key, scores in tasks.items()}
        for system, tasks in values.items()
    }


def verdicts_of(run: OpenRun, record: CaseRecord) -> dict[tuple[str, ...], Answer]:
    """Return the verdicts on a report's claims by text and page; of equal claims, the first."""
    claims = None
    if record.status == "done":
        claims = run.store.find_item(claims_file(run.judge), record.key, ClaimSet)
    if claims is None:
        return {}
    texts = {claim.id: claim.text for claim in claims.claims}
    found: dict[tuple[str, ...], Answer] = {}
    for verdict in claims.verdicts:
        text = texts[verdict.claim]
        answer = Answer(text, verdict.url, verdict.label, verdict.confidence)
        found.setdefault((" ".join(text.split()), verdict.url), answer)
    return found


def answers_of(run: OpenRun, record: CaseRecord, protocol: str) -> dict[tuple[str, ...], Answer]:
    """Return the answers to a protocol's questions about a report by metric, item and page."""
    if record.status != "done":
        return {}
    loaded = load_protocol(protocol)
    findings = run.store.read_item(findings_file(protocol, run.judge), record.key, loaded.findings_type)
    return {
        (row.metric, row.item, row.url or ""): Answer(
            row.text, row.url or "", row.value, None, row.metric, row.item
        )
        for row in loaded.items(findings)
    }
