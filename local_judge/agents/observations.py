"""What an agent is shown in answer to a request.

Invariant: an observation's text is a function of the observation alone. Whatever comes from a page, its title and
address included, stands in a fence of its own, one passage of one page in each; outside of the fences stand only words
of this project, numbers, and names with nothing in them but letters, digits, `_`, `.` and `-`.
"""

from __future__ import annotations

from typing import Literal

from local_judge.agents.actions import ErrorKind
from local_judge.judge.layout import fence
from serving.types import Frozen

RequestKind = Literal["search", "search_papers", "search_code", "page"]
Lack = Literal["nothing_found", "weak", "not_in_snapshot", "dead", "blocked", "empty", "unsupported_type"]
"""Why the snapshot could not answer. `weak`: no passage found has enough of the query's words. The others but
`nothing_found` are a page's status."""


class PagePassage(Frozen):
    """A stretch of a page."""

    url: str
    """Normalised."""
    title: str
    published: str | None
    text_digest: str
    """Of the page's text, which the offsets point into."""
    start: int
    end: int
    chunks: tuple[str, ...]
    """Ids of the chunks that it is of, in page order."""
    text: str
    query: int | None = None
    """Number from 1 of the query that found it; None where a page was opened."""
    score: float | None = None
    """On the scale of the search; None where a page was opened."""


class SnapshotRequest(Frozen):
    """One query, or one page, that was asked of the snapshot."""

    kind: RequestKind
    what: str
    """The query, or the page's normalised address."""
    lack: Lack | None = None
    """Why the snapshot could not answer; None where it could."""


class Observation(Frozen):
    """The answer to one request."""

    tool: str
    note: str = ""
    """In words, for the judge."""
    shown: tuple[PagePassage, ...] = ()
    error: ErrorKind | None = None
    asked: tuple[SnapshotRequest, ...] = ()


def observation_text(observation: Observation) -> str:
    """An observation as a judge, or a program that asks over MCP, reads it."""
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
