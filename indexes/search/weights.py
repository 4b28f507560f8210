"""The weight of a term in a chunk.

Invariant: weights are those of `bm25s` to the last bit, whatever the installed numpy: terms' weights and counts times
k1 + 1 are kept in 32 bits, the rest is computed in 64, and the result is stored in 32.

Formulas (Kamphuis et al. 2020, "Which BM25 do you mean?"), with N chunks, n of them with the term, its count f in a
chunk of length l, mean length m and K = k1 (1 - b + b l / m):

    lucene     ln(1 + (N - n + 0.5) / (n + 0.5)) f / (f + K)
    robertson  max(0, ln((N - n + 0.5) / (n + 0.5))) f / (f + K)
    atire      ln(N / n) f (k1 + 1) / (f + K)
    bm25+      ln((N + 1) / n) (delta + f (k1 + 1) / (f + K))
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from indexes.search.postings import Postings
from local_judge.base.model import Frozen

Method = Literal["lucene", "robertson", "atire", "bm25+"]
Floats = npt.NDArray[np.float64]

_IDF: dict[str, Callable[[int, int], float]] = {
    "lucene": lambda n, total: math.log(1 + (total - n + 0.5) / (n + 0.5)),
    "robertson": lambda n, total: math.log(max(1.0, (total - n + 0.5) / (n + 0.5))),
    "atire": lambda n, total: math.log(total / n),
    "bm25+": lambda n, total: math.log((total + 1) / n),
}


class Bm25Settings(Frozen):
    """All that decides the scores beside the chunks."""

    method: Method = "lucene"
    k1: float = Field(default=1.5, ge=0, allow_inf_nan=False)
    b: float = Field(default=0.75, ge=0, le=1)
    delta: float = Field(default=1.0, ge=0, allow_inf_nan=False)
    """Lower bound of a term weight, for BM25+ only."""
    stemming: bool = True


class Weights:
    """Weights of all terms of some chunks, of which the lengths and the terms' numbers of chunks are known."""

    def __init__(
        self, settings: Bm25Settings, lengths: npt.NDArray[np.int64], frequencies: npt.NDArray[np.int64]
    ) -> None:
        self.settings = settings
        self.frequencies = frequencies
        self.mean_length = float(lengths.sum() / len(lengths)) if len(lengths) else 0.0
        self._lengths = lengths
        idf = _IDF[settings.method]
        different, where = np.unique(frequencies, return_inverse=True)
        weights = np.array([idf(int(n), len(lengths)) for n in different], np.float64)
        self.exact_idf: Floats = weights[where]
        # bm25s keeps the weights of terms in 32 bits before it multiplies.
        self._idf: Floats = self.exact_idf.astype(np.float32).astype(np.float64)

    def nonoccurrence(self) -> npt.NDArray[np.float32]:
        """Return the score that BM25+ adds for a term that a chunk does not contain."""
        return (self.exact_idf * self.settings.delta).astype(np.float32)

    def of(self, postings: Postings) -> npt.NDArray[np.float32]:
        """One weight a posting."""
        k1, b, method = self.settings.k1, self.settings.b, self.settings.method
        count = postings.counts.astype(np.float64)
        length = k1 * ((1 - b) + b * self._lengths[postings.rows] / self.mean_length)
        if method in ("lucene", "robertson"):
            part = count / (length + count)
        else:
            # In 32 bits, as there: k1 + 1 is rounded first.
            part = postings.counts.astype(np.float32) * (k1 + 1) / (count + length)
        if method != "bm25+":
            return (self._idf[postings.terms] * part).astype(np.float32)
        whole = self._idf[postings.terms] * (part + self.settings.delta)
        return (whole - self.nonoccurrence()[postings.terms]).astype(np.float32)
