"""Citations that cover a quoted statement, and those that stand with it.

A citation covers the words before it in its sentence. One at the end of a paragraph, list item or table row covers all
sentences before it there (the paper's remark on its figure 11).

Invariant: a citation that leads to no entry covers nothing; words are covered only if all sentences that they touch
are. A citation stands with a statement if it is in a sentence that the statement touches, or covers it from the end of
its block.
"""

from __future__ import annotations

import re

from local_judge.claims.model import Quote
from local_judge.documents.model import Citation, Document, Sentence

_WORD = re.compile(r"\w")
_EDGES = " \t\n.,;:[](){}<>^【】"
_MARK = re.compile(r"\[[^\[\]]*\]|【[^】]*】|https?://[^\s()\[\]<>]+")
"""A citation among several that were copied together, such as `[1][2]`."""


def covering(document: Document, quote: Quote) -> tuple[str, ...] | None:
    """Ids of the citations that cover a quotation of the report, one for each sentence; none if a sentence has none.

    None where the words are part of no sentence: those of a heading or of a list of references state nothing.
    """
    touched = _touched(document, quote)
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
    """Ids of the citations that stand with a quotation and are what `words` names; none where none is.

    Args:
        document: the report.
        quote: a statement of it.
        words: a citation, or several in a row, as a judge copied them: of each the mark, its key, the text of a link,
            or an address of its own or of its entry.
    """
    wanted = {one.strip(_EDGES) for one in (words, *_MARK.findall(words))}
    found: dict[str, None] = {}
    for sentence in _touched(document, quote):
        with_it = map(document.citation, sentence.citations)
        for citation in (*with_it, *_at_end_of_block(document, sentence)):
            mark = document.text[citation.span.start : citation.span.end]
            names = (mark, mark.partition("](")[0], citation.key, citation.url, citation.original_url)
            if not wanted.isdisjoint(name.strip(_EDGES) for name in names if name is not None):
                found[citation.id] = None
    return tuple(found)


def _touched(document: Document, quote: Quote) -> list[Sentence]:
    return [
        sentence
        for sentence in document.sentences
        if sentence.span.start < quote.end and quote.start < sentence.span.end
    ]


def _behind(document: Document, sentence: Sentence, quote: Quote) -> list[Citation]:
    """The citations of the sentence with none of the quoted words behind them."""
    return _ending(document, sentence, min(quote.end, sentence.span.end))


def _at_end_of_block(document: Document, sentence: Sentence) -> list[Citation]:
    """The citations that end the block of the sentence."""
    last = next(one for one in reversed(document.sentences) if one.block == sentence.block)
    return _ending(document, last, last.span.end)


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
