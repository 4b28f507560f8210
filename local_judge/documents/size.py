"""How long a report is.

Invariant: references and what stands around the report are not counted: a report is no longer for citing more.
"""

from __future__ import annotations

from typing import NamedTuple

from local_judge.documents.model import Document
from local_judge.documents.words import WordCounter


class Size(NamedTuple):
    """The length of a report's body."""

    n_characters: int
    """Without white space."""
    n_words: int
    """As `documents.words` counts them, headings apart."""
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
