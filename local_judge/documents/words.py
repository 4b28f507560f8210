"""Length of a report and of its blocks, whatever the language.

Invariant: references and what stands around the report are not counted, and what is not prose of the report (citation
markers, addresses, tags) counts nothing: a cited text is no longer than the same text without its citations.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from local_judge.documents.citation_styles import STYLES
from local_judge.documents.model import Block, Document

WORDS_PER_CHARACTERS = (3, 5)
"""Three words for five Chinese or Japanese characters: a translation into Chinese has some 1.5 to 1.8 characters for
each English word, so that the same limits are about as strict in both languages."""
_HAN = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
_CHARACTER = re.compile(f"[{_HAN}]")
_WORD = re.compile(rf"(?:(?![{_HAN}_])\w)+(?:['’.,‑-](?:(?![{_HAN}_])\w)+)*")
_ADDRESS = re.compile(r"\]\([^()\s]{0,4096}\)|https?://\S+|<[^<>]{1,400}>")


def count_words(text: str) -> int:
    """Words of a text: runs of letters and digits, and a fraction for each CJK character, rounded down."""
    text = _ADDRESS.sub(" ", text)
    words, characters = WORDS_PER_CHARACTERS
    return len(_WORD.findall(text)) + len(_CHARACTER.findall(text)) * words // characters


class WordCounter:
    """Counts the words of one document's blocks."""

    def __init__(self, document: Document) -> None:
        pieces: list[str] = []
        end = 0
        for citation in document.citations:
            # A link's text is read as part of its sentence; its address goes in `count_words`.
            if STYLES[citation.style].cleaned != "words_stay" and citation.span.start >= end:
                pieces.append(document.text[end : citation.span.start])
                pieces.append(" " * (citation.span.end - citation.span.start))
                end = citation.span.end
        self._text = "".join(pieces) + document.text[end:]

    def block(self, block: Block) -> int:
        """Words of one block."""
        return count_words(self._text[block.span.start : block.span.end])

    def total(self, blocks: Iterable[Block]) -> int:
        """Words of all of them, headings apart."""
        return sum(self.block(block) for block in blocks if block.kind != "heading")


class Size(NamedTuple):
    """The length of a report's body."""

    n_characters: int
    """Without white space."""
    n_words: int
    """As `count_words` counts them, headings apart."""
    n_sentences: int


def body_size(document: Document) -> Size:
    """The length of the blocks with role `body`."""
    body = [block for block in document.blocks if block.role == "body"]
    indexes = {block.index for block in body}
    return Size(
        n_characters=sum(len("".join(block.text.split())) for block in body),
        n_words=WordCounter(document).total(body),
        n_sentences=sum(sentence.block in indexes for sentence in document.sentences),
    )
