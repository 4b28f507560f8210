"""Data model of a parsed report.

Invariant: every object has a span of character offsets in `Document.text`, `text[span.start:span.end]`; what could not
be resolved has a named state.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property
from typing import Literal

from local_judge.base.model import Frozen


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
"""Role of a block: `preamble` is text around the report (chat wrapper, agent chatter, contents, next questions),
`references` is a reference section."""

CitationState = Literal["resolved", "dangling", "no_url"]
"""State of a citation: `dangling` if no reference entry has its key, `no_url` if the entry has no URL, DOI or arXiv
id."""

CitationForm = Literal[
    "link", "bare_url", "footnote", "number", "superscript", "glued", "anchor", "command", "tool", "author_year",
]  # fmt: skip
"""Form of a mark: a row of `citation_styles`. `glued` is a digit after a word or full stop, `anchor` a link within the
report, `command` a citation of TeX or pandoc, `tool` an internal mark of an agent such as `【12†L3-L9】`, whose sources
are often not in the text."""

ReferenceState = Literal["cited", "uncited"]


class Citation(Frozen):
    """Marker in the text with one target. `[1, 3]` is two citations with the same span."""

    id: str
    """`c1`, `c2`, … in reading order."""
    style: CitationForm
    key: str
    """Key of the source: `3` for `[3]` and for the middle of `[2-4]`, the URL for a link, `Kim 2024` for
    author-year."""
    span: Span
    state: CitationState
    reference: str | None = None
    """Id of the reference entry, if any."""
    url: str | None = None
    """Normalised URL, if resolved."""
    original_url: str | None = None
    """URL as written."""


class Source(Frozen):
    """Source that accompanies a report, as many search agents return them beside the text."""

    key: str | None = None
    """Key that marks in the text name. If no source has a key, each has its position in the sequence, from 1, or
    from 0 if the text counts so."""
    address: str
    title: str | None = None


BESIDE = -2
"""Section of the sources beside a report's text."""


class Reference(Frozen):
    """Entry of a reference section, footnote definition, or source beside the text."""

    id: str
    """`r1`, `r2`, … in reading order, over all sections."""
    key: str | None
    """Number or footnote label of the entry; None in unnumbered lists."""
    text: str
    """Text as written; title and address of a source beside the text."""
    span: Span
    """Empty, at the end of the text, for a source beside it."""
    section: int
    """0-based index of the reference section; -1 for footnote definitions outside any section, `BESIDE` for sources
    beside the text."""
    url: str | None = None
    """Normalised URL, from a URL, DOI or arXiv id."""
    original_url: str | None = None
    state: ReferenceState = "uncited"


class Sentence(Frozen):
    """Labelled sentence of the body."""

    label: str
    """`Lx.Sy`: 1-based block and sentence-in-block numbers. Headings have no sentences."""
    block: int
    """0-based index into `Document.blocks`."""
    text: str
    span: Span
    citations: tuple[str, ...] = ()
    """Ids of the citations of this sentence, in order; a marker directly after the full stop belongs to it."""


class Block(Frozen):
    """Block of the Markdown tree, in reading order; nested lists are flattened to their items."""

    index: int
    """0-based index; labels count from 1, so that block 0 is L1."""
    kind: BlockKind
    role: BlockRole
    span: Span
    text: str
    level: int = 0
    """Heading level 1 to 6, list depth from 1, else 0."""
    section: tuple[int, ...] = ()
    """Indexes of the headings of the sections that contain this block, outermost first."""


class Document(Frozen):
    """Parsed report."""

    id: str
    """SHA-256 of the text and of the sources beside it, first 16 hex digits."""
    text: str
    language: str
    """ISO 639-1 code of the main language, `und` if unknown."""
    blocks: tuple[Block, ...]
    sentences: tuple[Sentence, ...]
    citations: tuple[Citation, ...]
    references: tuple[Reference, ...]
    notes: tuple[str, ...] = ()
    """Remarks: `chat_wrapper`, `agent_chatter`, `no_citations`, `no_references`, `refusal`, …"""

    def citation(self, citation_id: str) -> Citation:
        """Return the citation with this id; raise KeyError if there is none."""
        return self._by_id[citation_id]

    @cached_property
    def _by_id(self) -> dict[str, Citation]:
        return {citation.id: citation for citation in self.citations}

    def labelled(self, shown: Collection[int] | None = None) -> str:
        """Return the report as shown to judges: headings, and one line `Lx.Sy: sentence` per sentence.

        Reference sections and preambles are omitted. All protocols use this text, so that their prompts share a prefix.

        Args:
            shown: Indexes of the blocks whose sentences are shown, for a report that does not fit whole; headings are
                always shown. None shows all blocks.
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
