"""Quotations of an agent's answer, looked up in the pages that it was shown.

Invariant: a quotation is `found` only if the run showed a part of that page and the page's text contains it
(`claims.quotes`) at the offsets given. A page that the run did not show is no evidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Annotated, Literal

from pydantic import Field

from indexes.snapshot import Snapshot
from indexes.urls import UrlError, normalise_url
from local_judge.agents.observations import Observation
from local_judge.agents.result import Transcript
from local_judge.base.model import Frozen
from local_judge.claims.model import Quote
from local_judge.claims.quotes import QuoteFinder


class Citation(Frozen):
    """Page and quotation, as a judge gives them."""

    url: Annotated[str, Field(min_length=1)]
    quote: Annotated[str, Field(max_length=500)]


class CheckedCitation(Frozen):
    """Citation after it was looked up."""

    url: str
    """Normalised URL, if it is one."""
    status: Literal["found", "not_in_page", "not_shown"]
    """`not_in_page`: the page does not have these words. `not_shown`: nothing of that page was shown in the run."""
    quote: str
    """Text of the page if it was found, otherwise the judge's text."""
    title: str = ""
    text_digest: str = ""
    """Digest of the page's text."""
    start: int | None = None
    """Offsets of the quotation in the page's text, or in its title."""
    end: int | None = None
    in_title: bool = False


def quote_of(citation: CheckedCitation) -> Quote | None:
    """Return the quotation of a citation with its place in the page; None if the page does not have it."""
    if citation.start is None or citation.end is None:
        return None
    return Quote(text=citation.quote, start=citation.start, end=citation.end, in_title=citation.in_title)


def check_citations(
    citations: Sequence[Citation], transcript: Transcript, snapshot: Snapshot
) -> tuple[CheckedCitation, ...]:
    """Look each citation up, in order.

    Args:
        citations: citations of the answer.
        transcript: transcript of the run that gave it.
        snapshot: snapshot that the run read.

    Raises:
        DigestMismatch: a page's text was altered.
    """
    return check_shown(citations, transcript.observations, snapshot, transcript.tools.as_of)


def check_shown(
    citations: Sequence[Citation],
    observations: Sequence[Observation],
    snapshot: Snapshot,
    as_of: date | None = None,
) -> tuple[CheckedCitation, ...]:
    """Look up citations in what tools showed without an agent. Raises DigestMismatch."""
    shown = {one.url for observation in observations for one in observation.shown}
    return tuple(_checked(one, shown, snapshot, as_of) for one in citations)


def _checked(one: Citation, shown: set[str], snapshot: Snapshot, as_of: date | None) -> CheckedCitation:
    try:
        url = normalise_url(one.url.replace("\u2060", ""))
    except UrlError:
        return CheckedCitation(url=one.url, status="not_shown", quote=one.quote)
    page = snapshot.page(url, as_of=as_of)
    if url not in shown and page.url not in shown:
        return CheckedCitation(url=url, status="not_shown", quote=one.quote)
    found = QuoteFinder(page.text, page.title).find(one.quote)
    checked = CheckedCitation(
        url=page.url, status="not_in_page", quote=one.quote, title=page.title, text_digest=page.text_digest
    )
    if found is None:
        return checked
    place = {"start": found.start, "end": found.end, "in_title": found.in_title}
    return checked.model_copy(update={"status": "found", "quote": found.text, **place})
