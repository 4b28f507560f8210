"""Verification of given claims against given URLs, without a report.

Invariant: there is one result for each row, in the same order; an unreadable page gives its status, and an unanswered
question a failure.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path

from indexes.model import SourceStatus
from indexes.snapshot import Snapshot
from indexes.urls import normalise_url
from local_judge.base.errors import InputError
from local_judge.base.failures import Failure
from local_judge.base.model import Frozen
from local_judge.base.rows import is_text, read_jsonl, row_id
from local_judge.claims.build import verify_page
from local_judge.claims.config import ClaimsConfig
from local_judge.claims.extract import is_numeric
from local_judge.claims.model import Claim, Label, Verdict
from local_judge.documents.model import Span
from local_judge.judge.judge import Judge
from local_judge.runs.execution.job import Watcher

LONGEST_CLAIM = 20_000
"""Maximum number of characters of a claim; a printed page has about 3,000."""
LONGEST_URL = 8_192
LONGEST_ID = 200
MOST_BYTES = 200_000_000
"""Size limit of a file of claims."""

OF_VERDICT = (
    *("label", "confidence", "confidence_raw", "threshold", "calibration"),
    *("quote_rejected", "rationale", "reliable", "failure", "replies"),
)
"""Fields that a row has from its verdict."""

Watch = Callable[[Judge, int], contextlib.AbstractContextManager[Watcher]]
"""Context opened with the judge and the number of pages; it yields the display of progress."""


class ClaimRow(Frozen):
    """One claim and URL to verify."""

    id: str
    """Id, unique in the file; the line number if it is missing."""
    claim: str
    """Claim, at most 20,000 characters."""
    url: str
    """Page to verify it against."""


class VerifiedRow(Frozen):
    """One row with its verdict."""

    id: str
    claim: str
    url: str
    status: SourceStatus
    """Status of the page."""
    label: Label | None
    """Verdict; null without a page or an answer."""
    confidence: float | None = None
    """Probability by `scored`, calibrated if the judge has a calibration."""
    confidence_raw: float | None = None
    """P(yes) as the judge returned it, if `confidence` is calibrated."""
    threshold: float | None = None
    """Minimum confidence of a supported claim."""
    calibration: str | None = None
    """Id of the calibration."""
    quote: str | None = None
    """Quotation that code has found in the page."""
    quote_span: tuple[int, int] | None = None
    """Offsets of the quotation in the page's text, or in its title."""
    quote_in_title: bool = False
    """True if the offsets are of the title."""
    quote_rejected: str | None = None
    """Quotation by the judge that does not occur in the page."""
    rationale: str = ""
    """Reason given by the judge; empty in the terse form and in `scored`."""
    reliable: bool | None = None
    """True if the judge calls the page a reliable source; None if it was not asked or did not answer."""
    text_digest: str = ""
    """SHA-256 of the page's text."""
    failure: Failure | None = None
    """Kind, detail and attempts of the failure, if there is no verdict."""
    replies: tuple[str, ...] = ()
    """Ledger keys."""


def load_claim_rows(path: Path) -> list[ClaimRow]:
    """Read rows with `claim` and `url`, and optionally `id` (default: the line number).

    Raises:
        InputError: a row has no claim or no valid URL, an id appears twice, or a limit of this module is exceeded.
    """
    if path.is_file() and (size := path.stat().st_size) > MOST_BYTES:
        raise InputError(f"{path}: {size:,} bytes, more than {MOST_BYTES:,}; split the file")
    rows: list[ClaimRow] = []
    seen: set[str] = set()
    for place, row in read_jsonl(path):
        claim, url = row.get("claim"), row.get("url")
        if (
            not isinstance(claim, str)
            or not isinstance(url, str)
            or not (claim.strip() and is_text(claim + url))
        ):
            raise InputError(f"{place}: needs `claim` and `url`, both text and not empty")
        identity = row_id(row, place) or place.rpartition(":")[2]
        for name, text, most in (
            ("claim", claim, LONGEST_CLAIM),
            ("url", url, LONGEST_URL),
            ("id", identity, LONGEST_ID),
        ):
            if len(text) > most:
                raise InputError(
                    f"{place}: {name} of {len(text):,} characters, more than {most:,}; shorten it"
                )
        try:
            normalise_url(url)
        except ValueError as error:
            raise InputError(f"{place}: {error}") from None
        if identity in seen:
            raise InputError(f"{place}: id {identity!r} appears twice")
        seen.add(identity)
        rows.append(ClaimRow(id=identity, claim=" ".join(claim.split()), url=url))
    if not rows:
        raise InputError(f"{path}: no claims in it")
    return rows


async def verify_rows(
    rows: Sequence[ClaimRow],
    snapshot: Snapshot,
    judge: Judge,
    config: ClaimsConfig,
    watch: Watch | None = None,
) -> list[VerifiedRow]:
    """Verify `rows`, page by page; `watch` shows the progress."""
    by_url: dict[str, list[Claim]] = {}
    for row in rows:
        by_url.setdefault(normalise_url(row.url), []).append(claim_of(row))
    pages = {url: snapshot.page(url) for url in by_url}
    readable = [url for url in by_url if pages[url].status == "ok"]
    with contextlib.nullcontext() if watch is None else watch(judge, len(readable)) as watcher:

        async def one(url: str) -> tuple[Verdict, ...]:
            found = await verify_page(pages[url], by_url[url], snapshot, judge, config)
            if watcher is not None:
                watcher.one_done()
            return found

        verified = await asyncio.gather(*(one(url) for url in readable))
    verdicts = {verdict.claim: verdict for page in verified for verdict in page}
    return [_row(row, pages[normalise_url(row.url)].status, verdicts.get(row.id)) for row in rows]


def claim_of(row: ClaimRow) -> Claim:
    """Return a row as a claim without a report."""
    return Claim(
        id=row.id,
        text=row.claim,
        sentence="L1.S1",
        span=Span(start=0, end=0),
        type="A",
        numeric=is_numeric(row.claim),
    )


def _row(row: ClaimRow, status: SourceStatus, verdict: Verdict | None) -> VerifiedRow:
    if verdict is None:
        return VerifiedRow(**row.model_dump(), status=status, label=None)
    quote = verdict.quote
    return VerifiedRow(
        **row.model_dump(),
        **{name: getattr(verdict, name) for name in OF_VERDICT},
        status=status,
        quote=quote.text if quote else None,
        quote_span=(quote.start, quote.end) if quote else None,
        quote_in_title=quote.in_title if quote else False,
        text_digest=verdict.evidence.text_digest if verdict.evidence else "",
    )
