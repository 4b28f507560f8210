"""Ranking the chunks of one page by meaning.

Invariant: the encoder is that of the corpus index (`indexes.search.local`): a local model, nothing looked up on a hub,
libraries imported on first use.
"""

from __future__ import annotations

from collections.abc import Sequence

from indexes.search.encoder import Encoder
from indexes.search.local import LocalEncoder


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
