"""Citations that cover a quoted statement, and citations that belong to it.

A citation covers the words before it in its sentence. A citation at the end of a paragraph, list item or table row
covers all sentences before it there (a remark in LiveResearchBench, Figure 11).

Invariant: a citation without an entry covers nothing. Words are covered only if all sentences that they touch are. A
citation belongs to a statement if it is in a sentence that the statement touches, or covers it from the end of its
block.
"""

from __future__ import annotations

import re

from local_judge.claims.model import Quote
from local_judge.documents.model import Citation, Document, Sentence

_WORD = re.compile(r"\w")
_EDGES = " \t\n.,;:[](){}<>^【】"
_MARK = re.compile(r"\[[^\[\]]*\]|【[^】]*】|https?://[^\s()\[\]<>]+")
"""One of several citations that were copied together, such as `[1][2]`."""


def covering(document: Document, quote: Quote) -> tuple[str, ...] | None:
    """Return the ids of the citations that cover a quotation, one for each sentence; empty if a sentence has none.

    Returns None if the words are in no sentence: a heading or a list of references states nothing.
    """
    touched = _touched_sentences(document, quote)
    if not touched:
        return None
    found: dict[str, None] = {}
    for sentence in touched:
        behind = _at_end_of_block(document, sentence) or _behind(document, sentence, quote)
        if not behind:
            return ()
        found[behind[-1].id] = None
    return tuple(found)


def named_beside(document: Document, quote: Quote, words: str) -> tuple[str, ...]:
    """Return the ids of the citations that belong to a quotation and that `words` names.

    Args:
        document: the report.
        quote: statement of the report.
        words: one or several citations as a judge copied them, each by its mark, its key, the text of a link, its
            URL or the URL of its entry.
    """
    wanted = {one.strip(_EDGES) for one in (words, *_MARK.findall(words))}
    found: dict[str, None] = {}
    for sentence in _touched_sentences(document, quote):
        with_it = map(document.citation, sentence.citations)
        for citation in (*with_it, *_at_end_of_block(document, sentence)):
            mark = document.text[citation.span.start : citation.span.end]
            names = (mark, mark.partition("](")[0], citation.key, citation.url, citation.original_url)
            if not wanted.isdisjoint(name.strip(_EDGES) for name in names if name is not None):
                found[citation.id] = None
    return tuple(found)


def _touched_sentences(document: Document, quote: Quote) -> list[Sentence]:
    return [
        sentence
        for sentence in document.sentences
        if sentence.span.start < quote.end and quote.start < sentence.span.end
    ]


def _behind(document: Document, sentence: Sentence, quote: Quote) -> list[Citation]:
    """Return the citations of the sentence that come after the quoted words."""
    return _ending(document, sentence, min(quote.end, sentence.span.end))


def _at_end_of_block(document: Document, sentence: Sentence) -> list[Citation]:
    """Return the citations that end the block of the sentence."""
    last = next(one for one in reversed(document.sentences) if one.block == sentence.block)
    return _ending(document, last, last.span.end)


def _ending(document: Document, sentence: Sentence, end: int) -> list[Citation]:
    """Return the citations of a sentence that have an entry and no word between them and `end`."""
    text, edge = document.text, end
    # Citations are not words. Start from the last, so that consecutive citations are skipped in one pass.
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
