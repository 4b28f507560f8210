"""A parsed report.

Invariant: every object points back into `Document.text` by character offsets,
`text[span.start:span.end]`, and nothing is guessed: what could not be resolved carries a named state.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property
from typing import Literal

from serving.types import Frozen


class DocumentError(Exception):
    """Base of all errors of this package; every message is one line for the user."""


class UnreadableReport(DocumentError):
    """The input is not a report: empty, binary, not UTF-8, or too large.

    A poor report (no citations, only a list of references, an unknown language) is no error: it is parsed, and
    `Document.notes` says what it lacks.
    """


class Span(Frozen):
    """Half-open character range `[start, end)` in the report's text."""

    start: int
    end: int


BlockKind = Literal["heading", "paragraph", "list_item", "table_row", "table_header", "code", "quote", "html"]

BlockRole = Literal["body", "preamble", "references"]
"""`preamble` is chat wrapper or agent chatter before the report; `references` is a reference section."""

CitationState = Literal["resolved", "dangling", "no_url"]
"""`dangling`: its key names no reference entry. `no_url`: the entry exists but gives no URL, DOI or
arXiv id."""

ReferenceState = Literal["cited", "uncited"]


class Citation(Frozen):
    """One marker in the text resolved to one target. `[1, 3]` makes two citations with the same span."""

    id: str
    """`c1`, `c2`, … in reading order."""
    style: str
    """Name of a row of `citation_styles`."""
    key: str
    """What it names: `3` for `[3]` and for the middle of `[2-4]`, the URL for a link, `Kim 2024` for
    author-year."""
    span: Span
    state: CitationState
    reference: str | None = None
    """Id of the reference entry, where one was named."""
    url: str | None = None
    """Normalised URL, where resolved."""
    original_url: str | None = None
    """The URL as written."""


class Reference(Frozen):
    """One entry of a reference section, or one footnote definition."""

    id: str
    """`r1`, `r2`, … in the order of the text, over all sections."""
    key: str | None
    """The number or footnote label that the entry bears; None for unnumbered lists."""
    text: str
    span: Span
    section: int
    """0-based index of the reference section; footnote definitions outside any section have -1."""
    url: str | None = None
    """Normalised; from an explicit URL, a DOI or an arXiv id."""
    original_url: str | None = None
    state: ReferenceState = "uncited"


class Sentence(Frozen):
    """One labelled unit of the body."""

    label: str
    """`Lx.Sy`: 1-based block and sentence-in-block numbers. Headings have no sentences."""
    block: int
    """0-based index into `Document.blocks`."""
    text: str
    span: Span
    citations: tuple[str, ...] = ()
    """Ids of the citations on this sentence, in order; a marker that stands right after the full stop
    belongs here."""


class Block(Frozen):
    """One block of the Markdown tree, in reading order; nested lists are flattened to their items."""

    index: int
    """0-based; labels count from 1, so block 0 is L1."""
    kind: BlockKind
    role: BlockRole
    span: Span
    text: str
    level: int = 0
    """Heading level 1 to 6, list depth from 1, else 0."""
    section: tuple[int, ...] = ()
    """Indexes of the headings above this block, outermost first: the section it belongs to."""


class Document(Frozen):
    """A report as data."""

    id: str
    """SHA-256 of the text, first 16 hex digits."""
    text: str
    language: str
    """ISO 639-1 code of the main language, `und` if it could not be told."""
    blocks: tuple[Block, ...]
    sentences: tuple[Sentence, ...]
    citations: tuple[Citation, ...]
    references: tuple[Reference, ...]
    notes: tuple[str, ...] = ()
    """What a reader should know: `chat_wrapper`, `agent_chatter`, `no_citations`, `no_references`,
    `refusal`, …"""

    def citation(self, citation_id: str) -> Citation:
        """The citation with this id. Raises KeyError."""
        return self._by_id[citation_id]

    @cached_property
    def _by_id(self) -> dict[str, Citation]:
        return {citation.id: citation for citation in self.citations}

    def labelled(self, shown: Collection[int] | None = None) -> str:
        """The report as judges read it: headings as written, each other line `Lx.Sy: sentence`, blocks apart.

        Reference sections and preambles are left out. One text for every protocol, so that all their prompts
        share it as a prefix.

        Args:
            shown: indexes of the blocks whose sentences are shown, for a report that does not fit whole; headings
                always are. None shows all.
        """
        by_block: dict[int, list[Sentence]] = {}
        for sentence in self.sentences:
            by_block.setdefault(sentence.block, []).append(sentence)
        parts: list[str] = []
        for block in self.blocks:
            if block.role != "body":
                continue
            if block.kind == "heading":
                parts.append("#" * max(block.level, 1) + " " + block.text.strip())
            elif block.index in by_block and (shown is None or block.index in shown):
                parts.append("\n".join(f"{s.label}: {s.text}" for s in by_block[block.index]))
        return "\n\n".join(parts)
