"""Finding a judge's quotation in a page.

Invariant: a quotation is accepted only where the page has the same characters, up to white space, letter case and
typographic variants of quotes, dashes and full-width forms; its offsets are those of the page's own text.
"""

from __future__ import annotations

import unicodedata

from local_judge.claims.model import Quote

_SAME = str.maketrans(
    {"“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "‘": "'", "’": "'", "–": "-", "—": "-", "−": "-"}
)
_EDGES = "\"'.…,;:!?。，；：！？-  \n\t*"
MIN_CHARACTERS = 8
"""Shorter quotations prove nothing: "the" occurs in every page."""


def _folded(text: str) -> tuple[str, list[int]]:
    """`text` in comparable form, and for each of its characters the offset that it came from."""
    characters: list[str] = []
    offsets: list[int] = []
    space = True
    for offset, character in enumerate(text):
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


class QuoteFinder:
    """Looks quotations up in one page; folds the page once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._folded, self._offsets = _folded(text)

    def find(self, quotation: str) -> Quote | None:
        """The first place of `quotation` in the page, or None if it does not occur there.

        Punctuation at the quotation's ends is not compared, since judges add full stops and ellipses.
        """
        wanted = _folded(quotation)[0].strip(_EDGES)
        if len(wanted) < min(MIN_CHARACTERS, max(len(self._folded.strip()), 1)):
            return None
        place = self._folded.find(wanted)
        if place < 0:
            return None
        start = self._offsets[place]
        end = self._offsets[place + len(wanted) - 1] + 1
        return Quote(text=self._text[start:end], start=start, end=end)
