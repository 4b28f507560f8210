"""Observations: what an agent is shown in answer to a request.

Invariant: an observation's text is a function of the observation alone. All text of a page, with its title and URL,
stands in a fence, one passage per fence. Outside the fences there are only fixed words, numbers, and names of letters,
digits, `_`, `.` and `-`.
"""

from __future__ import annotations

from typing import Literal

from local_judge.agents.actions import ErrorKind
from local_judge.base.model import Frozen
from local_judge.prompts import fence

RequestKind = Literal["search", "search_papers", "search_code", "page"]
Lack = Literal[
    "nothing_found", "weak", "not_in_snapshot", "dead", "blocked", "unavailable", "empty", "unsupported_type"
]
"""Reason why the snapshot could not answer. `weak`: no passage found has enough of the query's words. The others,
except `nothing_found`, are statuses of pages."""


class PagePassage(Frozen):
    """Passage or part of a page."""

    url: str
    """Normalised URL."""
    title: str
    published: str | None
    text_digest: str
    """Digest of the page's text, into which the offsets point."""
    start: int
    end: int
    chunks: tuple[str, ...]
    """Ids of its chunks, in page order."""
    text: str
    query: int | None = None
    """Number, from 1, of the query that found it; None if a page was opened."""
    score: float | None = None
    """Score of the search; None if a page was opened."""


class SnapshotRequest(Frozen):
    """One query, or one page, requested from the snapshot."""

    kind: RequestKind
    what: str
    """The query, or the page's normalised URL."""
    lack: Lack | None = None
    """Reason why the snapshot could not answer; None if it could."""


class Observation(Frozen):
    """Answer to one request."""

    tool: str
    note: str = ""
    """Explanation for the judge."""
    shown: tuple[PagePassage, ...] = ()
    error: ErrorKind | None = None
    asked: tuple[SnapshotRequest, ...] = ()


def observation_text(observation: Observation) -> str:
    """Return an observation as text for a judge or an MCP client."""
    blocks = [observation.note] if observation.note else []
    for number, shown in enumerate(observation.shown, start=1):
        of = "" if shown.query is None else f", for query {shown.query}"
        title = f"Passage {number}{of}:" if len(observation.shown) > 1 or of else "Text:"
        blocks.append(fence(_page_text(shown), title))
    return "\n\n".join(blocks)


def _page_text(shown: PagePassage) -> str:
    head = [f"address: {shown.url}"]
    if shown.title:
        head.append(f"title: {' '.join(shown.title.split())[:200]}")
    if shown.published:
        head.append(f"published: {shown.published}")
    return "\n".join([*head, "", shown.text])
