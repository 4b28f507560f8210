"""Search by words, by meaning, or both.

Invariant: the answer to a query depends on the query, the indexes, the models and the settings alone: not on the
number of threads or what was asked before, and on the other queries of the batch only as far as the embedding
model's last bits do, which rounding takes away.

With a mask, `bm25` and `dense` give their rankings without it, restricted. `fused` fuses the restricted rankings: the
ranks that it adds up are those among the chunks that may be found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, Protocol

import numpy as np

from indexes.search.bm25 import Bm25Index
from indexes.search.dense import DIGITS, DenseIndex
from indexes.search.errors import IndexMismatch, IndexMissing
from indexes.search.fusion import FusionSettings, fuse
from indexes.search.model import Mask, Ranked, take_best

Mode = Literal["bm25", "dense", "fused"]
Texts = Callable[[Sequence[int]], Sequence[str]]
"""The texts of chunks, given their rows."""


class PairScorer(Protocol):
    """Scores texts against a query, each by itself; see `local.CrossEncoder`."""

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """One score a text, higher is better."""
        ...


class Reranking:
    """Reordering of the first results of a ranking.

    Args:
        scorer: a cross-encoder.
        texts: of the chunks.
        depth: how many of the first are scored; `k` if that is more.
    """

    def __init__(self, scorer: PairScorer, texts: Texts, depth: int = 50) -> None:
        if depth < 1:
            raise ValueError(f"depth is {depth}; at least one chunk must be scored")
        self.depth = depth
        self._scorer = scorer
        self._texts = texts

    def apply(self, query: str, ranked: Ranked, k: int) -> Ranked:
        """The `k` best of a ranking by the scorer; its scores rounded to 6 digits, ties by row."""
        scores = self._scorer.scores(query, self._texts(ranked.rows.tolist()))
        return take_best(ranked.rows, np.round(np.array(scores, np.float64), DIGITS) + 0.0, k)


class Searcher:
    """The indexes of one set of chunks.

    Args:
        bm25: the BM25 index, or None.
        dense: the dense index, or None.
        fusion: of `fused`.
        reranking: of every mode, if given.
        commands: how a missing index is made, by its kind, for the message that says so.

    Raises:
        IndexMismatch: the two are not of the same chunks.
    """

    def __init__(
        self,
        bm25: Bm25Index | None,
        dense: DenseIndex | None,
        *,
        fusion: FusionSettings | None = None,
        reranking: Reranking | None = None,
        commands: dict[str, str] | None = None,
    ) -> None:
        if bm25 and dense and bm25.info.chunks_digest != dense.info.chunks_digest:
            how = f": {' and '.join(f'`{command}`' for command in commands.values())}" if commands else ""
            raise IndexMismatch(
                f"the bm25 index is of {bm25.info.n_chunks:,} chunks ({bm25.info.chunks_digest[:12]}) and the dense "
                f"index of {dense.info.n_chunks:,} ({dense.info.chunks_digest[:12]}); make both again{how}"
            )
        self._bm25 = bm25
        self._dense = dense
        self._fusion = fusion or FusionSettings()
        self._reranking = reranking
        self._commands = commands or {}

    def search(
        self, queries: Sequence[str], k: int, mode: Mode = "bm25", mask: Mask | None = None
    ) -> list[Ranked]:
        """The `k` best chunks for each query.

        Args:
            queries: ranked in one batch.
            k: at least 1.
            mode: the indexes to ask.
            mask: chunks that may be found, one boolean a row.

        Returns:
            One ranking a query, in the order of `queries`, best first; scores are on the scale of the mode, or of
            the cross-encoder.

        Raises:
            IndexMissing: an index that the mode needs is not there.
            IndexMismatch, MissingExtra, EncoderError: see `DenseIndex.search`.
            ValueError: `k` or `mask` is not such.
        """
        wanted = k if self._reranking is None else max(k, self._reranking.depth)
        if mode == "fused":
            found = self._search_both(queries, wanted, mask)
        else:
            index = self._need_bm25(mode) if mode == "bm25" else self._need_dense(mode)
            found = index.search(queries, wanted, mask)
        if self._reranking is None:
            return found
        return [self._reranking.apply(query, ranked, k) for query, ranked in zip(queries, found, strict=True)]

    def _search_both(self, queries: Sequence[str], k: int, mask: Mask | None) -> list[Ranked]:
        bm25, dense = self._need_bm25("fused"), self._need_dense("fused")
        depth = max(k, self._fusion.depth)
        words = bm25.search(queries, depth, mask)
        meanings = dense.search(queries, depth, mask)
        return [fuse(one, other, k, self._fusion) for one, other in zip(words, meanings, strict=True)]

    def _need_bm25(self, mode: Mode) -> Bm25Index:
        if self._bm25 is None:
            raise self._missing("bm25", mode)
        return self._bm25

    def _need_dense(self, mode: Mode) -> DenseIndex:
        if self._dense is None:
            raise self._missing("dense", mode)
        return self._dense

    def _missing(self, kind: str, mode: Mode) -> IndexMissing:
        command = self._commands.get(kind, f"build_{kind}")
        return IndexMissing(
            f"search mode {mode!r} needs a {kind} index and there is none; make it with `{command}`"
        )
