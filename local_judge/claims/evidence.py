"""The texts that a judge is shown: the report, and the part of a page that matters to some claims.

Invariants: all prompts about one report open with the same bytes, so that a server computes them once. Evidence depends
on the page and the claims alone, never on the judge, so that two judges see the same. It is in page order and shows no
sentence twice, although neighbouring chunks share some. A page up to the limit is shown whole, so that every group of
claims that cites it, in every report, shares its prefix.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from indexes.model import Chunk, Page
from indexes.snapshot import Snapshot
from indexes.text.chunk import make_chunks
from local_judge.claims.config import ClaimsConfig
from local_judge.claims.model import Claim, Evidence, Quote
from local_judge.claims.nearest import Stretch, head, joined, merged, surroundings
from local_judge.documents.model import Document
from local_judge.prompts import fence


class SharedReport(NamedTuple):
    """The block that opens a prompt about a report, and the name of that prefix."""

    shared: str
    prefix_key: str


def shared_report(document: Document, shown: Collection[int] | None = None) -> SharedReport:
    """Return the labelled report, fenced. `shown`: indexes of the blocks whose sentences are shown; None for all."""
    part = "" if shown is None else f":{min(shown)}-{max(shown)}"
    return SharedReport(fence(document.labelled(shown), "Report:"), f"report:{document.id}{part}")


def estimate_tokens(text: str) -> int:
    """Length of `text` in tokens without a tokenizer: one per 3.5 characters, one per character from U+2E80 (CJK)."""
    wide = sum(1 for character in text if character >= "\u2e80")
    return wide + -(-(len(text) - wide) * 2 // 7)


class PageEvidence:
    """Evidence of one page for a group of claims, with the text that the judge reads."""

    def __init__(self, page: Page, chunks: Sequence[Chunk], whole: bool) -> None:
        self.page = page
        self.evidence = Evidence(
            url=page.url,
            text_digest=page.text_digest,
            chunks=tuple(chunk.id for chunk in chunks),
            whole_page=whole,
        )
        self.body = page.text if whole else joined(_merged(chunks, page.text), page.text)
        # The address comes from the report, so it is inside the fence too.
        shown = [f"Address: {page.url}", page.title, self.body]
        self.shared = fence("\n\n".join(part for part in shown if part), "Page:")
        self.prefix_key = f"page:{page.url}:{page.text_digest}" + (
            "" if whole else ":" + ",".join(self.evidence.chunks)
        )

    def near(self, quotes: Sequence[Quote]) -> tuple[Evidence, str]:
        """Return the page's title and the surroundings of some sentences, as evidence and as the judge's text."""
        stretches = surroundings(self.page.text, quotes)
        shown = [head(self.page.title), joined(stretches, self.page.text)]
        evidence = Evidence(
            url=self.page.url,
            text_digest=self.page.text_digest,
            chunks=(),
            whole_page=False,
            stretches=stretches,
        )
        return evidence, fence("\n\n".join(part for part in shown if part), "Page:")


def evidence_groups(
    page: Page, claims: Sequence[Claim], snapshot: Snapshot, config: ClaimsConfig
) -> list[tuple[PageEvidence, list[Claim]]]:
    """`claims` of one page in groups, each with what it is judged by."""
    groups = [
        list(claims[i : i + config.claims_per_call]) for i in range(0, len(claims), config.claims_per_call)
    ]
    length = estimate_tokens(page.text)
    whole = PageEvidence(page, snapshot.chunks(page), whole=True)
    return [
        (
            whole
            if length <= config.shown_tokens(len(group))
            else PageEvidence(page, _select(page, group, snapshot, config), whole=False),
            group,
        )
        for group in groups
    ]


def _select(page: Page, claims: Sequence[Claim], snapshot: Snapshot, config: ClaimsConfig) -> list[Chunk]:
    """Return the best passages of each claim, best first in turn, until the limit; in page order.

    Taking turns gives each claim its best passage before any gets its second.
    """
    chunks = snapshot.chunks(page)
    if config.passage_tokens is not None:
        chunks = _joined_chunks(page, chunks, config.passage_tokens)
    ranked = snapshot.passages(
        page, [claim.text for claim in claims], config.passages_per_claim, config.ranker, chunks
    )
    chosen: dict[str, Chunk] = {}
    shown: list[Stretch] = []
    spent, limit = 0, config.shown_tokens(len(claims))
    for rank in range(config.passages_per_claim):
        for passages in ranked:
            if rank >= len(passages):
                continue
            chunk = passages[rank].chunk
            # What a neighbour shows already costs nothing more.
            cost = sum(estimate_tokens(page.text[start:end]) for start, end in _new(chunk, shown))
            if chunk.id in chosen or (chosen and spent + cost > limit):
                continue
            chosen[chunk.id] = chunk
            shown = _merged(chosen.values(), page.text)
            spent += cost
    return sorted(chosen.values(), key=lambda chunk: chunk.start)


def _joined_chunks(page: Page, chunks: Sequence[Chunk], tokens: int) -> tuple[Chunk, ...]:
    """Join consecutive chunks up to a length in estimated tokens; a longer chunk stays as it is."""
    spans: list[Stretch] = []
    for chunk in chunks:
        if spans and estimate_tokens(page.text[spans[-1][0] : chunk.end]) <= tokens:
            spans[-1] = (spans[-1][0], chunk.end)
        else:
            spans.append((chunk.start, chunk.end))
    return make_chunks(page.text, page.text_digest, spans)


def _new(chunk: Chunk, shown: Sequence[Stretch]) -> list[Stretch]:
    """Return the parts of a chunk outside the stretches `shown`, which are in order and apart."""
    parts: list[Stretch] = []
    start = chunk.start
    for low, high in shown:
        if high > start and low < chunk.end:
            parts.append((start, low))
            start = high
    parts.append((start, chunk.end))
    return [(low, high) for low, high in parts if low < high]


def _merged(chunks: Iterable[Chunk], text: str) -> list[Stretch]:
    """Return the stretches that chunks show together."""
    return merged(((chunk.start, chunk.end) for chunk in chunks), text)
