"""What stands around the sentences that a claim is nearest to.

Invariant: stretches of the page's text in page order that do not touch; they depend on the page and the sentences
alone, and hold each of them whole.
"""

from __future__ import annotations

from collections.abc import Sequence

from sentencex import get_sentence_boundaries

from indexes.model import Page
from local_judge.claims.model import Quote
from local_judge.claims.stretches import Stretch, merged

LONGEST = 300
"""Characters of a neighbouring sentence, those that are next to it: what has no full stop for pages is no sentence."""


class Surroundings:
    """The sentences of one page, so that they are found once for all claims about it."""

    def __init__(self, page: Page) -> None:
        self._text = page.text
        self._sentences: list[Stretch] = []
        for found in get_sentence_boundaries("en", page.text):
            sentence = page.text[found["start_index"] : found["end_index"]]
            if sentence.strip():
                end = found["end_index"] - len(sentence) + len(sentence.rstrip())
                self._sentences.append((found["end_index"] - len(sentence.lstrip()), end))

    def of(self, quotes: Sequence[Quote]) -> tuple[Stretch, ...]:
        """The quotes, each with the sentence before and the sentence after it; what overlaps or touches is one."""
        return tuple(merged((self._around(quote) for quote in quotes), self._text))

    def _around(self, quote: Quote) -> Stretch:
        before = [start for start, end in self._sentences if end <= quote.start]
        after = [end for start, end in self._sentences if start >= quote.end]
        low = max(before[-1], quote.start - LONGEST) if before else quote.start
        high = min(after[0], quote.end + LONGEST) if after else quote.end
        return low, high
