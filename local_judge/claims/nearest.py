"""The sentence of a page that is nearest to a claim.

Invariant: it depends on the page and the claim alone, never on a judge; it is a stretch of the page's text.
"""

from __future__ import annotations

from collections.abc import Sequence

from sentencex import get_sentence_boundaries

from indexes.model import Chunk, Page
from indexes.snapshot import Snapshot
from indexes.text.tokens import tokenise
from local_judge.claims.config import ClaimsConfig
from local_judge.claims.model import Claim, Quote


def nearest_sentences(
    page: Page, claims: Sequence[Claim], snapshot: Snapshot, config: ClaimsConfig
) -> list[Quote | None]:
    """For each claim, of the passage that the within-page ranker puts first, the sentence nearest to it.

    None where the page has no text.
    """
    ranked = snapshot.passages(page, [claim.text for claim in claims], 1, config.ranker)
    return [
        best_sentence(passages[0].chunk, claim.text) if passages else None
        for claim, passages in zip(claims, ranked, strict=True)
    ]


def best_sentence(chunk: Chunk, claim: str) -> Quote:
    """The sentence of `chunk` that shares most words with `claim`; of equals, the first."""
    wanted = set(tokenise(claim))
    best = Quote(text=chunk.text, start=chunk.start, end=chunk.end)
    most = 0
    for found in get_sentence_boundaries("en", chunk.text):
        sentence = chunk.text[found["start_index"] : found["end_index"]]
        shared = len(wanted & set(tokenise(sentence)))
        if shared > most:
            most = shared
            text = sentence.strip()
            start = chunk.start + found["start_index"] + sentence.index(text)
            best = Quote(text=text, start=start, end=start + len(text))
    return best
