"""The chunks of one page ranked for queries.

Invariant: same chunks and queries, same order on every machine; ties are broken by position in the page.

The formula is BM25+ (Lv and Zhai, 2011) as `rank-bm25` computes it. Its IDF, `ln((N + 1) / n)`, is positive
for every term, which the few chunks of one page need: the `BM25Okapi` of the same library gives a term in one
of two chunks the weight `ln(1.5 / 1.5) = 0`, and one in more than half of them a floor taken from the
average, which can be negative; its `BM25L` multiplies by the term frequency once more than the paper. The
constant that BM25+ adds to every chunk, matching or not, is taken off again, so that a score of 0 means that
no word is shared.

The encoder of the dense ranker is that of the corpus index (`indexes.search.local`): a local model, nothing looked up
on a hub, libraries imported on first use.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol

from rank_bm25 import BM25Plus  # pyright: ignore[reportMissingTypeStubs]

from indexes.model import Chunk, Passage
from indexes.search.encoder import Encoder
from indexes.search.local import LocalEncoder
from indexes.text.tokens import tokenise

RankerName = Literal["bm25", "dense"]


class Ranker(Protocol):
    """Scores texts against queries."""

    def scores(self, texts: Sequence[str], queries: Sequence[str]) -> list[list[float]]:
        """One list a query with one score a text, higher is better."""
        ...


class Bm25Ranker:
    """BM25+ over the words of `tokens.tokenise`. A word repeated in a query counts once."""

    k1 = 1.5
    b = 0.75
    delta = 1

    def scores(self, texts: Sequence[str], queries: Sequence[str]) -> list[list[float]]:
        """One list a query with one score a text; 0 where they share no word."""
        corpus = [tokenise(text) for text in texts]
        if not any(corpus):
            return [[0.0] * len(texts) for _ in queries]
        index: Any = BM25Plus(corpus, k1=self.k1, b=self.b, delta=self.delta)
        idf: dict[str, float] = index.idf
        scored: list[list[float]] = []
        for query in queries:
            words = [word for word in dict.fromkeys(tokenise(query)) if word in idf]
            shift = sum(self.delta * idf[word] for word in words)
            raw: list[float] = index.get_scores(words).tolist()
            present = [not set(words).isdisjoint(tokens) for tokens in corpus]
            scored.append(
                [score - shift if found else 0.0 for score, found in zip(raw, present, strict=True)]
            )
        return scored


class DenseRanker:
    """Cosine similarity of sentence embeddings, in [-1, 1].

    Args:
        encoder: default: the packaged MiniLM.

    Raises:
        MissingExtra: the packaged model is not installed.
    """

    def __init__(self, encoder: Encoder | None = None) -> None:
        self._encoder = encoder or LocalEncoder()

    def scores(self, texts: Sequence[str], queries: Sequence[str]) -> list[list[float]]:
        """One list a query with one cosine a text, rounded to 6 digits so that noise orders nothing.

        Raises:
            MissingExtra: the libraries are not installed.
            EncoderError: see the encoder.
        """
        if not texts or not queries:
            return [[] for _ in queries]
        found = self._encoder.encode_queries(queries) @ self._encoder.encode_documents(texts).T
        return [[round(score, 6) for score in row] for row in found.astype(float).tolist()]


def best_passages(
    ranker: Ranker, chunks: Sequence[Chunk], queries: Sequence[str], k: int
) -> list[list[Passage]]:
    """The `k` best chunks for each query, best first, ties in the order of `chunks`. ValueError if k < 1."""
    if k < 1:
        raise ValueError(f"k is {k}; at least one passage must be asked for")
    if not chunks:
        return [[] for _ in queries]
    ranked: list[list[Passage]] = []
    for scores in ranker.scores([chunk.text for chunk in chunks], queries):
        order = sorted(range(len(chunks)), key=lambda i: (-scores[i], i))
        ranked.append([Passage(chunk=chunks[i], score=scores[i]) for i in order[:k]])
    return ranked
