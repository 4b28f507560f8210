"""Tools over a snapshot: search, open, find.

Invariant: a request changes nothing and reads only the snapshot; the same request under the same settings has the same
answer. An answer is bounded: `MOST_QUERIES` times `MOST_PASSAGES` passages of at most `passage_characters`, or one part
of a page.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date
from functools import lru_cache
from importlib.resources import files
from typing import Annotated, cast

from pydantic import Field

from indexes.corpus import Corpus, Filters, Hit
from indexes.model import Chunk, Page
from indexes.search.analysis import Analyser, analysis_of
from indexes.search.searcher import Mode
from indexes.snapshot import Snapshot
from indexes.text.tokens import tokenise
from indexes.urls import UrlError, normalise_url
from local_judge.agents.actions import ErrorKind, Find, Open, Refusal, Request, Search, ToolName
from local_judge.agents.observations import Lack, Observation, PagePassage, SnapshotRequest
from local_judge.base.model import Frozen

_HOSTS: dict[str, list[str]] = json.loads(
    files("local_judge.agents").joinpath("hosts.json").read_text("utf-8")
)


class ToolSettings(Frozen):
    """Tools that are offered, and their limits."""

    tools: Annotated[tuple[ToolName, ...], Field(min_length=1)] = ("search", "open", "find")
    """Tools that are offered."""
    mode: Mode = "bm25"
    """Ranking method of a search."""
    as_of: date | None = None
    """Latest day of the pages that are shown (see `indexes.snapshot`)."""
    passage_characters: int = Field(default=1000, ge=100)
    """Characters of one passage; longer passages are cut."""
    part_characters: int = Field(default=6000, ge=500)
    """Characters of one part of a page. A part ends with a passage, so a single long passage may exceed this."""
    floor: float = Field(default=0.5, ge=0, le=1)
    """Minimum share of a query's information (`indexes.corpus.Corpus.rarity`: rare words count more) that one passage,
    with its title and by stems, must contain. Below it the search counts as unanswered, although its passages are
    shown."""
    hidden: tuple[str, ...] = ()
    """Digests of texts that are never shown, under any URL, and are not reported as gaps."""
    paper_hosts: tuple[str, ...] = tuple(_HOSTS["papers"])
    """Hosts of `search_papers`."""
    code_hosts: tuple[str, ...] = tuple(_HOSTS["code"])
    """Hosts of `search_code`."""


_DEFAULTS = ToolSettings()


@lru_cache(maxsize=4)
def corpus_of(snapshot: Snapshot) -> Corpus:
    """Open the search over a snapshot, once for all reports. Raises IndexDamaged: the index is incomplete."""
    return snapshot.corpus()


class Toolbox:
    """Tools over one snapshot, shared by any number of agents.

    Args:
        snapshot: the snapshot to read.
        settings: the tools that are offered.

    Raises:
        IndexDamaged: the search index is incomplete.
    """

    def __init__(self, snapshot: Snapshot, settings: ToolSettings = _DEFAULTS) -> None:
        self.snapshot = snapshot
        self.settings = settings
        self._corpus = corpus_of(snapshot)

    def run(self, request: Request, calls: int | None = None) -> Observation:
        """Answer a request.

        Args:
            request: request of a tool.
            calls: number of queries or pages that may still be requested, at least 1; None for any number.

        Raises:
            IndexesError: the snapshot is damaged, or lacks the index that `mode` needs.
        """
        match request:
            case Search():
                return self._search(request, calls)
            case Open():
                return self._open(request)
            case Find():
                return self._find(request, calls)

    def _search(self, request: Search, calls: int | None) -> Observation:
        hosts = {
            "search": (),
            "search_papers": self.settings.paper_hosts,
            "search_code": self.settings.code_hosts,
        }[request.tool]
        queries = request.queries[:calls]
        filters = Filters(as_of=self.settings.as_of, hosts=hosts, without_texts=self.settings.hidden)
        found = self._corpus.search(queries, request.k, self.settings.mode, filters)
        places: dict[str, int] = {}
        shown: list[PagePassage] = []
        notes = _cut_short(len(queries), len(request.queries))
        asked: list[SnapshotRequest] = []
        for number, (query, hits) in enumerate(zip(queries, found, strict=True), start=1):
            asked.append(SnapshotRequest(kind=request.tool, what=query, lack=self._lack(query, hits)))
            again: list[int] = []
            for hit in hits:
                if hit.chunk.id in places:
                    again.append(places[hit.chunk.id])
                else:
                    shown.append(self._shown_hit(hit, number))
                    places[hit.chunk.id] = len(shown)
            if not hits:
                notes.append(f"Query {number}: nothing found.")
            if again:
                notes.append(f"Query {number} also found: passage {', '.join(map(str, again))}.")
        return Observation(tool=request.tool, note=" ".join(notes), shown=tuple(shown), asked=tuple(asked))

    def _lack(self, query: str, hits: Sequence[Hit]) -> Lack | None:
        if not hits:
            return "nothing_found"
        rarity = self._corpus.rarity(query)
        best = max(_share(rarity, hit) for hit in hits)
        return "weak" if best < self.settings.floor else None

    def _open(self, request: Open) -> Observation:
        page = self._page(request.tool, request.url)
        if isinstance(page, Observation):
            return page
        chunks = self.snapshot.chunks(page)
        parts = page_parts(chunks, self.settings.part_characters)
        asked = (SnapshotRequest(kind="page", what=page.url),)
        if request.part > len(parts):
            note = f"There is no part {request.part}: this page has {len(parts)}."
            return Observation(tool="open", note=note, error="no_part", asked=asked)
        start, end = parts[request.part - 1]
        own = tuple(chunk.id for chunk in chunks if chunk.end > start and chunk.start < end)
        shown = _shown(page, start, end, own)
        return Observation(
            tool="open", note=f"Part {request.part} of {len(parts)}.", shown=(shown,), asked=asked
        )

    def _find(self, request: Find, calls: int | None) -> Observation:
        page = self._page(request.tool, request.url)
        if isinstance(page, Observation):
            return page
        queries = request.queries[:calls]
        notes = _cut_short(len(queries), len(request.queries))
        shown: dict[str, PagePassage] = {}
        for number, passages in enumerate(self.snapshot.passages(page, queries, request.k), start=1):
            good = [passage for passage in passages if passage.score > 0]
            if not good:
                notes.append(f"Query {number}: no passage of this page has its words.")
            for passage in good:
                chunk = passage.chunk
                if chunk.id not in shown:
                    end = min(chunk.end, chunk.start + self.settings.passage_characters)
                    said = {"query": number, "score": round(passage.score, 6)}
                    shown[chunk.id] = _shown(page, chunk.start, end, (chunk.id,)).model_copy(update=said)
        asked = (SnapshotRequest(kind="page", what=page.url),)
        return Observation(tool="find", note=" ".join(notes), shown=tuple(shown.values()), asked=asked)

    def _page(self, tool: str, url: str) -> Page | Observation:
        written = url.replace("\u2060", "")  # added to text that looks like a control token when it is shown
        try:
            normalise_url(written)
        except UrlError:
            return _error(tool, "bad_arguments", '"url" is not the address of a page.')
        page = self.snapshot.page(written, as_of=self.settings.as_of)
        if page.text_digest and page.text_digest in self.settings.hidden:
            return _error(tool, "no_page", "This page is not shown here.")
        if page.status == "ok":
            return page
        asked = (SnapshotRequest(kind="page", what=page.url, lack=cast("Lack", page.status)),)
        note = f"There is no text of this page here ({page.status}). It cannot be had in another way."
        return _error(tool, "no_page", note).model_copy(update={"asked": asked})

    def _shown_hit(self, hit: Hit, query: int) -> PagePassage:
        text = hit.chunk.text[: self.settings.passage_characters]
        return PagePassage(
            url=hit.url,
            title=hit.title,
            published=hit.published,
            text_digest=hit.text_digest,
            start=hit.chunk.start,
            end=hit.chunk.start + len(text),
            chunks=(hit.chunk.id,),
            text=text,
            query=query,
            score=hit.score,
        )


def refused(refusal: Refusal) -> Observation:
    """Return the observation for an action that cannot be carried out."""
    return _error(refusal.tool, refusal.kind, f"{refusal.why}.")


def page_parts(chunks: Sequence[Chunk], characters: int) -> list[tuple[int, int]]:
    """Return the offsets of the parts of a page, `[start, end)`: chunks joined while they have at most `characters`.

    A part begins where the one before it ends, so that what two chunks share is in one part only.
    """
    parts: list[tuple[int, int]] = []
    for chunk in chunks:
        if parts and chunk.end - parts[-1][0] <= characters:
            parts[-1] = parts[-1][0], chunk.end
        else:
            parts.append((parts[-1][1] if parts else chunk.start, chunk.end))
    return parts


def _shown(page: Page, start: int, end: int, chunks: tuple[str, ...]) -> PagePassage:
    """Return a part of a page without the white space at its ends."""
    text = page.text[start:end]
    start += len(text) - len(text.lstrip())
    text = text.strip()
    return PagePassage(
        url=page.url,
        title=page.title,
        published=page.published,
        text_digest=page.text_digest,
        start=start,
        end=start + len(text),
        chunks=chunks,
        text=text,
    )


def _share(rarity: dict[str, float], hit: Hit) -> float:
    """Return the share of a query's information that a passage with its title has, by stems in its language."""
    analyser = Analyser(analysis_of(hit.language))
    there = {analyser.term(word) for word in tokenise(f"{hit.title}\n{hit.chunk.text}")}
    shared = sum(tells for word, tells in rarity.items() if analyser.term(word) in there)
    return shared / sum(rarity.values()) if rarity else 0.0


def _cut_short(asked: int, wanted: int) -> list[str]:
    return [f"Only {asked} of {wanted} queries were asked: no more may be."] if asked < wanted else []


def _error(tool: str, kind: ErrorKind, note: str) -> Observation:
    return Observation(tool=tool, note=note, error=kind)
