"""The sentences of a page that are nearest to a claim, and their surroundings.

Invariants: both depend on the page and the claim alone, never on a judge. Surroundings are spans of the page's text in
page order that do not touch, and that contain each of the nearest sentences whole; no word and no number is cut.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from sentencex import get_sentence_boundaries

from indexes.model import Chunk, Page
from indexes.snapshot import Snapshot
from indexes.text.tokens import tokenise
from local_judge.claims.config import ClaimsConfig
from local_judge.claims.model import Claim, Quote

LEAST_NEW = 2
"""Minimum number of the claim's words that the second sentence adds to the first."""
GAP = "[…]"
"""Mark between stretches that are not adjacent in the page."""
LONGEST = 300
"""Maximum characters of a neighbouring sentence: longer text has lost its full stops."""
WINDOW = 4 * LONGEST
"""Characters on either side in which neighbours are searched. The time to split a page into sentences grows with the
square of its longest line."""

_BREAK = re.compile(r"(?<!\d)\s+|\s+(?!\d)|(?<=[，、；：。！？])")
"""Places where a text may be cut: not within a word, nor within a number with spaces for its thousands."""

Stretch = tuple[int, int]
"""Offsets `[start, end)` into a page's text."""


def nearest_sentences(
    page: Page, claims: Sequence[Claim], snapshot: Snapshot, config: ClaimsConfig
) -> list[tuple[Quote, ...]]:
    """Return, for each claim, the sentences nearest to it in the passages that the ranker puts first."""
    texts = [claim.text for claim in claims]
    ranked = snapshot.passages(page, texts, config.passages_per_claim, config.ranker)
    return [
        nearest_of([passage.chunk for passage in passages], text)
        for passages, text in zip(ranked, texts, strict=True)
    ]


def nearest_of(chunks: Sequence[Chunk], claim: str) -> tuple[Quote, ...]:
    """Return the sentence that shares most words with the claim, then the one that shares most of the other words.

    The second is left out if it adds fewer than `LEAST_NEW` words: most claims rest on one sentence. Of equals the
    first counts, in the order of the chunks. Empty if no sentence shares a word.
    """
    sentences = [(quote, set(tokenise(quote.text))) for quote in dict.fromkeys(_quotes(chunks))]
    wanted = set(tokenise(claim))
    found: list[Quote] = []
    for least in (1, LEAST_NEW):
        quote, words = max(sentences, key=lambda one: len(wanted & one[1]), default=(None, set[str]()))
        if quote is None or len(wanted & words) < least:
            break
        found.append(quote)
        wanted -= words
    return tuple(found)


def _quotes(chunks: Sequence[Chunk]) -> Iterator[Quote]:
    for chunk in chunks:
        for start, end in _sentences(chunk.text, 0, len(chunk.text)):
            yield Quote(text=chunk.text[start:end], start=chunk.start + start, end=chunk.start + end)


def merged(stretches: Iterable[Stretch], text: str) -> list[Stretch]:
    """Sort stretches in page order; join those that overlap or have only white space between them."""
    found: list[Stretch] = []
    for start, end in sorted(stretches):
        if found and not text[found[-1][1] : start].strip():
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return found


def joined(stretches: Sequence[Stretch], text: str) -> str:
    """Join the text of merged stretches, with `GAP` between them."""
    return f"\n{GAP}\n".join(text[start:end].strip() for start, end in stretches)


def surroundings(text: str, quotes: Sequence[Quote]) -> tuple[Stretch, ...]:
    """Return each quote with the sentence before and the sentence after it; what overlaps or touches is one stretch."""
    return tuple(merged((_around(text, quote) for quote in quotes), text))


def head(text: str) -> str:
    """Cut a text to at most `LONGEST` characters, between words."""
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
    """Split a part of a text into sentences, without the white space around them."""
    low = max(low, 0)
    found: list[Stretch] = []
    for one in get_sentence_boundaries("en", text[low:high]):
        start, end = low + one["start_index"], low + one["end_index"]
        sentence = text[start:end]
        if sentence.strip():
            found.append((end - len(sentence.lstrip()), start + len(sentence.rstrip())))
    return found


def _start(text: str, low: int, high: int) -> int:
    """Return the first place after `low` where a word begins; `high` if there is none."""
    found = _BREAK.search(text, low, high)
    return found.end() if found else high


def _end(text: str, low: int, high: int) -> int:
    """Return the last place up to `high` where a word ends; `low` if there is none."""
    return max(
        (found.start() for found in _BREAK.finditer(text, low, high + 1) if found.start() <= high),
        default=low,
    )
