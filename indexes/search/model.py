"""Input of an index and output of a search.

Invariants: a chunk is known by its row, its position in the stream that the index was built from. Two indexes are
of the same chunks exactly if their `chunks_digest` is the same. Results are ordered by score, highest first, then by
row, and of equal scores the lower rows are in. (`numpy.argpartition` alone leaves both open.)
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from pydantic import field_validator

from local_judge.base.model import Frozen

Vectors = npt.NDArray[np.float32]
"""One row a text."""
Mask = npt.NDArray[np.bool_]
"""One value a row: whether the chunk may be found."""


class ChunkText(NamedTuple):
    """One chunk as it goes into an index."""

    id: str
    language: str
    """ISO 639-1 code, a longer tag that begins with one (`pt-BR`), or empty where it is not known."""
    text: str


class Ranked(NamedTuple):
    """Results of one query, best first, ties in order of row."""

    rows: npt.NDArray[np.int64]
    scores: npt.NDArray[np.float64]

    @classmethod
    def nothing(cls) -> Ranked:
        """No hit."""
        return cls(np.empty(0, np.int64), np.empty(0, np.float64))


class IndexInfo(Frozen):
    """Common description of an index."""

    kind: str
    format_version: int = 1
    n_chunks: int
    chunks_digest: str
    """See `ChunkDigest`."""
    files: dict[str, int]
    """Name and size in bytes of every other file of the index."""

    @field_validator("files")
    @classmethod
    def _inside(cls, files: dict[str, int]) -> dict[str, int]:
        if any("/" in name or "\0" in name for name in files):
            raise ValueError("a file that is elsewhere")
        return files


class ChunkDigest:
    """SHA-256 over `id`, tab, `language`, line feed of every chunk in order, taken while a stream passes."""

    def __init__(self, chunks: Iterable[ChunkText]) -> None:
        self._chunks = chunks
        self._hash = hashlib.sha256()
        self.n_chunks = 0

    def __iter__(self) -> Iterator[ChunkText]:
        for chunk in self._chunks:
            self._hash.update(f"{chunk.id}\t{chunk.language}\n".encode())
            self.n_chunks += 1
            yield chunk

    @property
    def hexdigest(self) -> str:
        """Return the digest of the chunks so far."""
        return self._hash.hexdigest()


def check_search(k: int, n_chunks: int, mask: Mask | None) -> None:
    """ValueError for a `k` below 1 or a mask of another shape or type than `n_chunks` booleans."""
    if k < 1:
        raise ValueError(f"k is {k}; at least one chunk must be asked for")
    if mask is not None and (mask.dtype != np.bool_ or mask.shape != (n_chunks,)):
        raise ValueError(f"the mask is {mask.dtype}{mask.shape}; it must be bool({n_chunks},), one a chunk")


def best_positive(scores: npt.NDArray[Any], k: int) -> npt.NDArray[np.int64]:
    """Rows of the `k` highest scores above 0; fewer if there are not so many."""
    n = len(scores)
    if k < n:
        threshold = np.partition(scores, n - k)[n - k]
        found = np.flatnonzero(scores >= threshold) if threshold > 0 else np.flatnonzero(scores > 0)
    else:
        found = np.flatnonzero(scores > 0)
    # `found` is in order of row, and a stable sort keeps it so among equals.
    return found[np.argsort(-scores[found], kind="stable")[:k]].astype(np.int64, copy=False)


def take_best(rows: npt.NDArray[np.int64], scores: npt.NDArray[np.float64], k: int) -> Ranked:
    """The `k` best of some rows in any order."""
    order = np.lexsort((rows, -scores))[:k]
    return Ranked(rows[order], scores[order])
