"""Which citations cover a quoted statement.

A citation covers the words before it in its sentence. One at the end of a paragraph, list item or table row covers all
sentences before it there (the paper's remark on its figure 11).

Invariant: a citation that leads to no entry covers nothing; words are covered only if all sentences that they touch
are.
"""

from __future__ import annotations

import re

from local_judge.claims.model import Quote
from local_judge.documents.model import Citation, Document, Sentence

_WORD = re.compile(r"\w")


def covering(document: Document, quote: Quote) -> tuple[str, ...] | None:
    """Ids of the citations that cover a quotation of the report, one for each sentence; none if a sentence has none.

    None where the words are part of no sentence: those of a heading or of a list of references state nothing.
    """
    touched = [
        sentence
        for sentence in document.sentences
        if sentence.span.start < quote.end and quote.start < sentence.span.end
    ]
    if not touched:
        return None
    found: dict[str, None] = {}
    for sentence in touched:
        citation = _at_end_of_block(document, sentence) or _behind(document, sentence, quote)
        if citation is None:
            return ()
        found[citation.id] = None
    return tuple(found)


def _behind(document: Document, sentence: Sentence, quote: Quote) -> Citation | None:
    """A citation of the sentence with none of the quoted words behind it."""
    found = _ending(document, sentence, min(quote.end, sentence.span.end))
    return found[-1] if found else None


def _at_end_of_block(document: Document, sentence: Sentence) -> Citation | None:
    last = next(one for one in reversed(document.sentences) if one.block == sentence.block)
    found = _ending(document, last, last.span.end)
    return found[-1] if found else None


def _ending(document: Document, sentence: Sentence, end: int) -> list[Citation]:
    """The citations of a sentence that lead to an entry and have no word between them and `end`."""
    text, edge = document.text, end
    # Citations are no words. From the last on, so that many in a row are looked at once.
    before = (one.span for one in document.citations if one.span.start < end)
    for span in sorted(before, key=lambda span: span.end, reverse=True):
        if _WORD.search(text, span.end, edge):
            break
        edge = min(edge, span.start)
    return [
        citation
        for citation in map(document.citation, sentence.citations)
        if citation.state != "dangling" and not _WORD.search(text, citation.span.end, edge)
    ]
