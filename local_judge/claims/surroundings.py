"""The surroundings of the sentences that a claim is nearest to.

Invariant: stretches of the page's text in page order that do not touch; they depend on the page and the sentences
alone, and hold each of them whole. No word and no number is cut.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sentencex import get_sentence_boundaries

from local_judge.claims.model import Quote
from local_judge.claims.stretches import Stretch, merged

LONGEST = 300
"""Characters of a neighbouring sentence, those that are next to it: what has no full stop for pages is no sentence."""
WINDOW = 4 * LONGEST
"""Characters on either side in which a neighbour is looked for: finding the sentences of a whole page takes time that
grows with the square of its longest line."""

_BREAK = re.compile(r"(?<!\d)\s+|\s+(?!\d)|(?<=[，、；：。！？])")
"""Where a text may be cut: not within a word, nor within a number that has spaces for its thousands."""


def surroundings(text: str, quotes: Sequence[Quote]) -> tuple[Stretch, ...]:
    """The quotes, each with the sentence before and the sentence after it; what overlaps or touches is one."""
    return tuple(merged((_around(text, quote) for quote in quotes), text))


def head(text: str) -> str:
    """A text up to `LONGEST` characters."""
    return text if len(text) <= LONGEST else text[: _end(text, 0, LONGEST)]


def _around(text: str, quote: Quote) -> Stretch:
    before = [
        start for start, end in _sentences(text, quote.start - WINDOW, quote.start) if end <= quote.start
    ]
    after = [end for start, end in _sentences(text, quote.end, quote.end + WINDOW) if start >= quote.end]
    low, high = (before or [quote.start])[-1], (after or [quote.end])[0]
    if low < quote.start - LONGEST:
        low = _start(text, quote.start - LONGEST, quote.start)
    if high > quote.end + LONGEST:
        high = _end(text, quote.end, quote.end + LONGEST)
    return low, high


def _sentences(text: str, low: int, high: int) -> list[Stretch]:
    """The sentences of a part of the text, without the white space around them."""
    low = max(low, 0)
    found: list[Stretch] = []
    for one in get_sentence_boundaries("en", text[low:high]):
        start, end = low + one["start_index"], low + one["end_index"]
        sentence = text[start:end]
        if sentence.strip():
            found.append((end - len(sentence.lstrip()), start + len(sentence.rstrip())))
    return found


def _start(text: str, low: int, high: int) -> int:
    """The first place from `low` on where a word begins; `high` if there is none."""
    found = _BREAK.search(text, low, high)
    return found.end() if found else high


def _end(text: str, low: int, high: int) -> int:
    """The last place up to `high` where a word ends; `low` if there is none."""
    return max(
        (found.start() for found in _BREAK.finditer(text, low, high + 1) if found.start() <= high),
        default=low,
    )
