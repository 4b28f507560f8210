"""Data model of a snapshot.

Invariant: every passage points into the text of its page by offsets, every page's text and raw bytes have a
SHA-256, and one digest over the manifest stands for them all.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from local_judge.base.model import Frozen

SourceStatus = Literal["ok", "not_in_snapshot", "dead", "blocked", "unavailable", "empty", "unsupported_type"]
"""Status of a page: readable, or the reason why it is not.

`dead`: the server says that there is no such page, or the host does not exist. `blocked`: the server refuses this
reader, or the fetcher may not ask. `unavailable`: there was no usable answer, and another time there may be one.
"""

_DEAD = frozenset({404, 410})
_BLOCKED = frozenset({401, 402, 403, 407, 418, 429, 451})
"""HTTP statuses by which a server refuses this reader and not the page."""


def status_without_page(http_status: int) -> Literal["dead", "blocked", "unavailable"]:
    """Return the status of an address whose server answers with an HTTP status that is not that of a page."""
    return "dead" if http_status in _DEAD else "blocked" if http_status in _BLOCKED else "unavailable"


class FoundBy(Frozen):
    """Web search with a result that names a page."""

    query: str
    rank: int = Field(ge=1)
    """Position among the results of the query, from 1."""
    engines: tuple[str, ...] = ()
    """Engines that returned the result, by name."""
    at: str
    """Time of the search: ISO 8601 in UTC to the second."""


class Page(Frozen):
    """One URL of a snapshot. `text` is empty unless `status` is `ok`."""

    url: str
    """Normalised."""
    original_url: str
    status: SourceStatus
    reason: str = ""
    """Reason why it is not `ok`, in words."""
    title: str = ""
    text: str = ""
    text_digest: str = ""
    """SHA-256 of the UTF-8 text."""
    raw_digest: str = ""
    """SHA-256 of the bytes that the text was taken from (content encoding undone)."""
    media_type: str = ""
    language: str = ""
    """ISO 639-1 code of the text, `und` where it cannot be told; empty where there is no text."""
    fetched: str | None = None
    """ISO 8601 time of fetching, where known."""
    published: str | None = None
    """ISO 8601 date of publication, where the page says it."""
    final_url: str = ""
    """URL at which redirects ended, as requested; empty without redirects."""
    http_status: int | None = None
    """HTTP status of the response with the page; None for pages that were imported as files."""
    record_digest: str = ""
    """`sha256:` and hex of the block of the archive's record that the text was taken from."""
    found_by: tuple[FoundBy, ...] = ()
    """Web searches that named the page (`snapshot search-web`); empty for a page from another source."""
    changed: str | None = None
    """Day of the last change that the page gives."""
    truncated: bool = False
    """True if only the beginning of the page was stored, so that what is not in the text may be on the page."""


class Chunk(Frozen):
    """A stretch of a page's text on sentence boundaries."""

    id: str
    """`<first 12 hex digits of the text digest>:<start>-<end>`."""
    start: int
    end: int
    text: str


class Passage(Frozen):
    """A chunk with the score that a ranker gave it for one query."""

    chunk: Chunk
    score: float
