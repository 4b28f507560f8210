"""Finding a judge's quotation in a page or in a report.

Invariant: a quotation is accepted only where the page has the same characters, up to white space, letter case and
typographic variants of quotes, dashes and full-width forms, and where it does not begin inside a word or a number, nor
end inside a number: "legal" is not quoted from "illegal", nor "5 percent" from "25 percent". Its offsets are those of
the page's own text.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from local_judge.claims.model import Quote

_SAME = str.maketrans(
    {"“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "‘": "'", "’": "'", "–": "-", "—": "-", "−": "-"}
)
_EDGES = "\"'.…,;:!?。，；：！？-  \n\t*"
_WORD = re.compile(r"[^\W_\u0590-\U0010ffff]$")
"""A letter or digit of the scripts that put spaces between words and nothing before them: Latin, Greek, Cyrillic."""
_NUMBER_BEFORE = re.compile(r"\d[.,]?$")
_NUMBER_AFTER = re.compile(r"[.,]?\d")
_LABEL = re.compile(r"\s*\[?\bL\d+\.S\d+\b\]?:?\s*")
MIN_CHARACTERS = 8
"""Shorter quotations prove nothing: "the" occurs in every page."""


def _folded(text: str) -> tuple[str, list[int]]:
    """`text` in comparable form, and for each of its characters the offset that it came from."""
    characters: list[str] = []
    offsets: list[int] = []
    space = True
    for offset, character in enumerate(text):
        if character == "\u2060":  # put into control tokens where a text is shown to a judge (`layout.fence`)
            continue
        if character.isspace():
            if not space:
                characters.append(" ")
                offsets.append(offset)
            space = True
            continue
        space = False
        for folded in unicodedata.normalize("NFKC", character).translate(_SAME).casefold():
            characters.append(folded)
            offsets.append(offset)
    return "".join(characters), offsets


def _cuts(text: str, start: int, end: int) -> bool:
    """True if `text[start:end]` begins inside a word or a number, or ends inside a number.

    It may end inside a word, where a judge ran into its limit.
    """
    before, first, last, after = (
        text[max(start - 2, 0) : start],
        text[start],
        text[end - 1],
        text[end : end + 2],
    )
    if _WORD.search(before) and _WORD.match(first):
        return True
    return bool(
        (first.isdigit() and _NUMBER_BEFORE.search(before)) or (last.isdigit() and _NUMBER_AFTER.match(after))
    )


class CheckedQuote(NamedTuple):
    """A judge's quotation, found or rejected; neither where the judge gave none."""

    quote: Quote | None
    rejected: str | None
    """Quotation by the judge that does not occur in the text."""


class QuoteFinder:
    """Looks quotations up in one page; folds the page once."""

    def __init__(self, text: str, title: str = "") -> None:
        self._places = [(text, *_folded(text), False), (title, *_folded(title), True)]

    def find(self, quotation: str) -> Quote | None:
        """Return the first place of `quotation` in the page's text, else in its title; None if there is none.

        Punctuation at the quotation's ends is not compared, since judges add full stops and ellipses.
        """
        wanted = _folded(quotation)[0].strip(_EDGES)
        for text, folded, offsets, in_title in self._places:
            if not wanted or len(wanted) < min(MIN_CHARACTERS, len(folded.strip())):
                continue
            place = folded.find(wanted)
            while place >= 0 and _cuts(folded, place, place + len(wanted)):
                place = folded.find(wanted, place + 1)
            if place < 0:
                continue
            start = offsets[place]
            end = offsets[place + len(wanted) - 1] + 1
            return Quote(text=text[start:end], start=start, end=end, in_title=in_title)
        return None

    def check(self, quotation: str, *, labelled: bool = False) -> CheckedQuote:
        """Return the place of a quotation, or its words where the text does not have them.

        Args:
            quotation: what the judge gave; empty for none.
            labelled: whether it is of a report, and may hold labels: see `find_labelled`.
        """
        quote = find_labelled(self, quotation) if labelled else self.find(quotation)
        return CheckedQuote(quote, quotation if quotation.strip() and quote is None else None)


def find_labelled(finder: QuoteFinder, quotation: str) -> Quote | None:
    """Find a quotation of a labelled report: labels `Lx.Sy` may come before and between its sentences."""
    # Between two sentences, a label replaces a blank or, in Chinese, nothing.
    quoted = _LABEL.sub(" ", quotation).strip()
    return finder.find(quoted) or finder.find(_LABEL.sub("", quotation)) if quoted else None
