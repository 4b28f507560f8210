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


def covering(document: Document, quote: Quote) -> tuple[str, ...]:
    """Ids of the citations that cover a quotation of the report, one for each sentence; none if a sentence has none."""
    touched = [
        sentence
        for sentence in document.sentences
        if sentence.span.start < quote.end and quote.start < sentence.span.end
    ]
    found: dict[str, None] = {}
    for sentence in touched:
        citation = _at_end_of_block(document, sentence) or _behind(document, sentence, quote)
        if citation is None:
            return ()
        found[citation.id] = None
    return tuple(found)


def _behind(document: Document, sentence: Sentence, quote: Quote) -> Citation | None:
    """A citation of the sentence with none of the quoted words behind it."""
    end = min(quote.end, sentence.span.end)
    return next((one for one in reversed(_counting(document, sentence)) if _ends(document, one, end)), None)


def _at_end_of_block(document: Document, sentence: Sentence) -> Citation | None:
    last = next(one for one in reversed(document.sentences) if one.block == sentence.block)
    found = [one for one in _counting(document, last) if _ends(document, one, last.span.end)]
    return found[-1] if found else None


def _counting(document: Document, sentence: Sentence) -> list[Citation]:
    citations = map(document.citation, sentence.citations)
    return [citation for citation in citations if citation.state != "dangling"]


def _ends(document: Document, citation: Citation, end: int) -> bool:
    """Whether no word stands between a citation and `end`, but for other citations."""
    between = document.text[citation.span.end : max(end, citation.span.end)]
    for other in sorted(
        (one.span for one in document.citations if citation.span.end <= one.span.start < end),
        key=lambda span: -span.start,
    ):
        at = other.start - citation.span.end
        between = between[:at] + between[at + other.end - other.start :]
    return not _WORD.search(between)
