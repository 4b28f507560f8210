"""Results of a run as flat tables: reports, scores, systems, claims, items and calls.

Invariants: a table has the same columns with the same types whatever the run contains; numbers are the stored ones;
texts of reports, pages and judges are unchanged, so that whoever shows them escapes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, cast, get_args

from local_judge.base.errors import RunError
from local_judge.claims.model import ClaimSet, Quote, Source
from local_judge.ledger.ledger import Ledger
from local_judge.ledger.requests import Identified, canonical
from local_judge.protocols.base import load_protocol
from local_judge.rubric.answers import ItemRow
from local_judge.runs.results.summary import Summary, number_of
from local_judge.runs.storage.items import claims_file, findings_file
from local_judge.runs.storage.manifest import judge_of, judges_of, protocols_of, read_manifest
from local_judge.runs.storage.records import CaseRecord, load_records, load_scores
from local_judge.runs.storage.store import RunStore
from local_judge.runs.storage.summaries import SystemScore, load_system_scores
from local_judge.scoring.node import Profile
from serving.types import EngineIdentity

TableName = Literal["reports", "scores", "systems", "claims", "items", "calls"]
TABLES: Final[tuple[TableName, ...]] = get_args(TableName)

Texts = tuple[str, ...]
"""Type of a column with several texts in a cell."""

_SCORE: Mapping[str, type] = {
    "value": float,
    "numerator": float,
    "denominator": float,
    "n_expected": int,
    "n_failed": int,
    "n_undefined": int,
    "known": float,
    "low": float,
    "high": float,
    "interval_low": float,
    "interval_high": float,
    "note": str,
}
"""Fields of `scoring.node.Score`, in their order."""

_IDENTITY = {"protocol", "version", "profile", "judge"}

_QUOTE: Mapping[str, type] = {
    "quotation": str,
    "quotation_start": int,
    "quotation_end": int,
    "quotation_in_title": bool,
    "quotation_rejected": str,
}

COLUMNS: Mapping[TableName, Mapping[str, type]] = {
    "reports": {
        "report": str,
        "task": str,
        "system": str,
        "status": str,
        "detail": str,
        "n_words": int,
        "n_sentences": int,
        "n_unread_citations": int,
        "n_sources": int,
        "n_sources_read": int,
        "n_calls_failed": int,
    },
    "scores": {
        "report": str,
        "task": str,
        "system": str,
        "protocol": str,
        "version": str,
        "profile": str,
        "judge": str,
        "path": str,
        "label": str,
        **_SCORE,
    },
    "systems": {
        "system": str,
        "n_reports": int,
        "n_values": int,
        "n_reports_failed": int,
        "n_reports_in_part": int,
        "n_reports_undefined": int,
        "aggregate": str,
        "protocol": str,
        "version": str,
        "profile": str,
        "judge": str,
        "path": str,
        "label": str,
        **_SCORE,
    },
    "claims": {
        "report": str,
        "task": str,
        "system": str,
        "judge": str,
        "claim": str,
        "text": str,
        "sentence": str,
        "type": str,
        "numeric": bool,
        "checkable": bool,
        "salient": bool,
        "url": str,
        "source_status": str,
        "verdict": str,
        "failure": str,
        "confidence": float,
        "confidence_raw": float,
        "threshold": float,
        "reliable": bool,
        **_QUOTE,
        "rationale": str,
        "method": str,
        "replies": Texts,
    },
    "items": {
        "report": str,
        "task": str,
        "system": str,
        "protocol": str,
        "judge": str,
        "metric": str,
        "item": str,
        "text": str,
        "label": str,
        "value": float,
        "failure": str,
        **_QUOTE,
        "rationale": str,
        "url": str,
        "details": str,
        "replies": Texts,
    },
    "calls": {
        "key": str,
        "judge": str,
        "model": str,
        "kind": str,
        "question": str,
        "reply": str,
        "logprobs": str,
        "reasoning": str,
        "finish_reason": str,
        "failure": str,
        "prompt_tokens": int,
        "cached_tokens": int,
        "completion_tokens": int,
        "seconds": float,
        "created": str,
        "draw": int,
        "attempt": int,
    },
}
"""Columns of each table with their types; a cell without a value is None, of `Texts` it is empty."""

Row = dict[str, Any]


def joined(cell: Any) -> Any:
    """Return a cell of `Texts` as one text, with spaces between them; any other cell unchanged."""
    return " ".join(cast("Texts", cell)) if isinstance(cell, tuple) else cell


def report_rows(store: RunStore) -> list[Row]:
    """Return one row for each report, in input order."""
    return [
        {**_of(record), **{name: getattr(record, name) for name in list(COLUMNS["reports"])[3:]}}
        for record in load_records(store)
    ]


def score_rows(store: RunStore, profile: Profile = "paper", judge: str | None = None) -> list[Row]:
    """Return one row for each score of each report.

    Args:
        store: a finished run.
        profile: formulas of the scores; protocols without this profile have no rows.
        judge: one of several judges; None for the ensemble or the only judge.

    Raises:
        RunError: the run is not finished or was modified, or it has no such judge.
    """
    protocols, chosen = protocols_of(store), judge_of(store, judge)
    records = {record.id: record for record in load_records(store)}
    return [
        {
            **_of(records[row.case]),
            **row.model_dump(include=_IDENTITY),
            "path": "/".join(path),
            "label": node.label,
            **node.score.model_dump(),
            **number_of(node.score),
        }
        for row in load_scores(store, protocols, (chosen,), profile=profile)
        for root in row.scores
        for path, node in root.walk()
    ]


def system_rows(store: RunStore, profile: Profile = "paper", judge: str | None = None) -> list[Row]:
    """Return one row for each score of each system over its reports; arguments and errors as `score_rows`."""
    protocols, chosen = protocols_of(store), judge_of(store, judge)
    load_records(store)
    return [
        system_row(row)
        for row in load_system_scores(store, protocols, (chosen,))
        if row.profile == profile and not row.all_systems
    ]


def system_row(row: SystemScore) -> Row:
    """Return the columns of one score of a system."""
    return {
        **row.model_dump(include={"system", "n_reports", "n_values", *_IDENTITY}),
        "n_reports_failed": row.n_failed,
        "n_reports_in_part": row.n_in_part,
        "n_reports_undefined": row.n_undefined,
        "aggregate": "rule" if row.by_rule else "mean",
        "path": "/".join(row.path),
        "label": row.label,
        **row.score.model_dump(),
        **Summary.of_system(row).number,
    }


def claim_rows(store: RunStore, judge: str | None = None) -> list[Row]:
    """Return one row for each claim and each page that it cites; one row for a claim that cites none.

    Args:
        store: a finished run.
        judge: one of several judges; None for all of them.

    Raises:
        RunError: as `score_rows`.
    """
    return [
        row
        for record, name, file_name in _judged(store, judge)
        if (found := store.find_item(claims_file(file_name), record.key, ClaimSet)) is not None
        for row in _claims(found, {**_of(record), "judge": name})
    ]


def item_rows(store: RunStore, judge: str | None = None) -> list[Row]:
    """Return one row for each answer to a protocol's question; arguments and errors as `claim_rows`."""
    protocols = [load_protocol(name) for name in protocols_of(store)]
    return [
        {**_of(record), "protocol": protocol.name, "judge": name, **_item(one)}
        for record, name, file_name in _judged(store, judge)
        for protocol in protocols
        for one in protocol.items(
            store.read_item(findings_file(protocol.name, file_name), record.key, protocol.findings_type)
        )
    ]


def call_rows(store: RunStore, ledger: Path | None = None) -> list[Row]:
    """Return one row for each call of the run's judges that a ledger has, answered or failed.

    Judges that are one model with different sampling share the name of their calls: `a, b`.

    Args:
        store: a run, finished or not.
        ledger: the ledger, if it is not in the run directory. One that other runs share has their calls too.

    Raises:
        RunError: there is no ledger.
        LedgerError: it cannot be read, or a reply is damaged.
    """
    path = ledger or store.ledger
    if not path.exists():
        raise RunError(f"{path}: no such ledger; name the ledger of the run (`--ledger` of its command)")
    judges: dict[str, list[str]] = {}
    for judge in read_manifest(store).get("judges", []):
        identity = EngineIdentity.model_validate(judge["identity"])
        judges.setdefault(Identified.of(identity).json, []).append(judge["name"])
    with Ledger.open(path, read_only=True) as replies:
        return [row for key in replies.request_keys() for row in _call(replies, key, judges)]


def _of(record: CaseRecord) -> Row:
    return {"report": record.id, "task": record.task, "system": record.system}


def _judged(store: RunStore, judge: str | None) -> Iterator[tuple[CaseRecord, str | None, str | None]]:
    """Yield each evaluated report with the name of each judge, and the name in its file names."""
    chosen, several = judge_of(store, judge), judges_of(store)
    judges: list[dict[str, Any]] = read_manifest(store).get("judges", [])
    names: Sequence[tuple[str | None, str | None]] = [(name, name) for name in several]
    if not several:
        names = [(judges[0]["name"] if judges else None, None)]
    for record in load_records(store):
        for name, file_name in names:
            if record.status == "done" and chosen in (None, file_name):
                yield record, name, file_name


def _claims(found: ClaimSet, of: Row) -> Iterator[Row]:
    sources: dict[str, list[Source]] = {}
    for source in found.sources:
        for claim in source.claims:
            sources.setdefault(claim, []).append(source)
    verdicts = {(verdict.claim, verdict.url): verdict for verdict in found.verdicts}
    for claim in found.claims:
        for source in sources.get(claim.id) or [None]:
            verdict = verdicts.get((claim.id, source.url)) if source else None
            yield {
                **of,
                "claim": claim.id,
                **claim.model_dump(include={"text", "sentence", "type", "numeric", "checkable", "salient"}),
                "url": source.url if source else None,
                "source_status": source.status if source else None,
                "verdict": verdict.label if verdict else None,
                "failure": verdict.failure.kind if verdict and verdict.failure else None,
                "confidence": verdict.confidence if verdict else None,
                "confidence_raw": verdict.confidence_raw if verdict else None,
                "threshold": verdict.threshold if verdict else None,
                "reliable": verdict.reliable if verdict else None,
                **_quote(verdict.quote if verdict else None, verdict.quote_rejected if verdict else None),
                "rationale": verdict.rationale if verdict else None,
                "method": verdict.method if verdict else None,
                "replies": verdict.replies if verdict else (),
            }


def _item(one: ItemRow) -> Row:
    number = isinstance(one.value, int | float)
    return {
        "metric": one.metric,
        "item": one.item,
        "text": one.text,
        "label": None if number else one.value,
        "value": one.value if number else None,
        "failure": one.failure.kind if one.failure else None,
        **_quote(one.quote, one.quote_rejected),
        "rationale": one.rationale,
        "url": one.url,
        "details": "\n".join(one.details),
        "replies": one.replies,
    }


def _quote(quote: Quote | None, rejected: str | None) -> Row:
    return {
        "quotation": quote.text if quote else None,
        "quotation_start": quote.start if quote else None,
        "quotation_end": quote.end if quote else None,
        "quotation_in_title": quote.in_title if quote else None,
        "quotation_rejected": rejected,
    }


def _call(ledger: Ledger, key: str, judges: Mapping[str, Sequence[str]]) -> Iterator[Row]:
    asked = ledger.request(key)
    if asked.judge.json not in judges:
        return
    reply, failures = ledger.get(key), ledger.failures(key)
    yield {
        "key": key,
        "judge": ", ".join(judges[asked.judge.json]),
        "model": asked.judge.identity.model,
        "kind": asked.kind,
        "question": asked.prompt.own,
        "reply": reply.text if reply else None,
        "logprobs": None if reply is None or reply.logprobs is None else canonical(reply.logprobs),
        "reasoning": reply.reasoning if reply else None,
        "finish_reason": reply.finish_reason if reply else None,
        "failure": failures[-1].kind if failures and reply is None else None,
        "prompt_tokens": reply.usage.prompt_tokens if reply else None,
        "cached_tokens": reply.usage.cached_tokens if reply else None,
        "completion_tokens": reply.usage.completion_tokens if reply else None,
        "seconds": reply.latency if reply else None,
        "created": reply.created if reply else None,
        "draw": asked.draw,
        "attempt": asked.attempt,
    }
