"""The sentences of a page that are nearest to a claim.

Invariant: they depend on the page and the claim alone, never on a judge; each is a stretch of the page's text that has
words of the claim.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sentencex import get_sentence_boundaries

from indexes.model import Chunk, Page
from indexes.snapshot import Snapshot
from indexes.text.tokens import tokenise
from local_judge.claims.config import ClaimsConfig
from local_judge.claims.model import Claim, Quote

LEAST_NEW = 2
"""Words of the claim that a second sentence has and the first has not."""


def nearest_sentences(
    page: Page, claims: Sequence[Claim], snapshot: Snapshot, config: ClaimsConfig
) -> list[tuple[Quote, ...]]:
    """For each claim, of the passages that the within-page ranker puts first, the sentences nearest to it.

    Returns:
        For each claim as `nearest_of` of these passages.
    """
    texts = [claim.text for claim in claims]
    ranked = snapshot.passages(page, texts, config.passages_per_claim, config.ranker)
    return [
        nearest_of([passage.chunk for passage in passages], text)
        for passages, text in zip(ranked, texts, strict=True)
    ]


def nearest_of(chunks: Sequence[Chunk], claim: str) -> tuple[Quote, ...]:
    """The sentence that shares most words with the claim, then the one that shares most of the other words.

    The second is left out where it would add fewer than `LEAST_NEW` words: most claims rest on one sentence. Of equals
    the first, in the order of the chunks. Empty where no sentence shares a word.
    """
    sentences = [(quote, set(tokenise(quote.text))) for quote in dict.fromkeys(_sentences(chunks))]
    wanted = set(tokenise(claim))
    found: list[Quote] = []
    for least in (1, LEAST_NEW):
        quote, words = max(sentences, key=lambda one: len(wanted & one[1]), default=(None, set[str]()))
        if quote is None or len(wanted & words) < least:
            break
        found.append(quote)
        wanted -= words
    return tuple(found)


def _sentences(chunks: Sequence[Chunk]) -> Iterator[Quote]:
    for chunk in chunks:
        for found in get_sentence_boundaries("en", chunk.text):
            sentence = chunk.text[found["start_index"] : found["end_index"]]
            text = sentence.strip()
            if text:
                start = chunk.start + found["start_index"] + sentence.index(text)
                yield Quote(text=text, start=start, end=start + len(text))
