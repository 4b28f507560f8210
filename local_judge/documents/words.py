"""Length of a report and of its blocks, in any language.

Invariant: references, preambles, citation markers, addresses and tags are not counted, so that a text with citations is
no longer than the same text without them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from local_judge.documents.citation_styles import STYLES
from local_judge.documents.model import Block, Document

WORDS_PER_CHARACTERS = (3, 5)
"""Words per number of Chinese or Japanese characters: 3 per 5. A Chinese translation has about 1.5 to 1.8 characters
per English word, so that the same limits are about as strict in both languages."""
_HAN = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
_CHARACTER = re.compile(f"[{_HAN}]")
_WORD = re.compile(rf"(?:(?![{_HAN}_])\w)+(?:['’.,‑-](?:(?![{_HAN}_])\w)+)*")
_ADDRESS = re.compile(r"\]\([^()\s]{0,4096}\)|https?://\S+|<[^<>]{1,400}>")


def count_words(text: str) -> int:
    """Count the words of a text: runs of letters and digits, and a fraction per CJK character, rounded down."""
    text = _ADDRESS.sub(" ", text)
    words, characters = WORDS_PER_CHARACTERS
    return len(_WORD.findall(text)) + len(_CHARACTER.findall(text)) * words // characters


class WordCounter:
    """Word counter for the blocks of one document."""

    def __init__(self, document: Document) -> None:
        pieces: list[str] = []
        end = 0
        for citation in document.citations:
            # The text of a link is part of its sentence; `count_words` removes the address.
            if STYLES[citation.style].cleaned != "words_stay" and citation.span.start >= end:
                pieces.append(document.text[end : citation.span.start])
                pieces.append(" " * (citation.span.end - citation.span.start))
                end = citation.span.end
        self._text = "".join(pieces) + document.text[end:]

    def block(self, block: Block) -> int:
        """Count the words of one block."""
        return count_words(self._text[block.span.start : block.span.end])

    def total(self, blocks: Iterable[Block]) -> int:
        """Count the words of several blocks, without headings."""
        return sum(self.block(block) for block in blocks if block.kind != "heading")


class Size(NamedTuple):
    """Length of a report's body."""

    n_characters: int
    """Number of characters without white space."""
    n_words: int
    """Number of words by `count_words`, without headings."""
    n_sentences: int


def body_size(document: Document) -> Size:
    """Return the length of the blocks with the role `body`."""
    body = [block for block in document.blocks if block.role == "body"]
    indexes = {block.index for block in body}
    return Size(
        n_characters=sum(len("".join(block.text.split())) for block in body),
        n_words=WordCounter(document).total(body),
        n_sentences=sum(sentence.block in indexes for sentence in document.sentences),
    )
