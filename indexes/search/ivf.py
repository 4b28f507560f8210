"""Approximate search for many vectors: FAISS inverted lists over clusters of the vectors.

Invariant: the same vectors give the same lists on any number of threads: the sample that the clusters are found on is
drawn with a recorded seed, and one thread computes. Only candidates come from here; their order is decided by
exact scores (`dense`). With as many probes as lists every vector is a candidate.

Why lists and not a graph: on 100,000 and 500,000 vectors both find 99.7 % of the true first 100 in 1 to 5 ms, and
lists are built seven to ten times faster on one thread (`scripts/bench_search approximate --graph`).
"""

from __future__ import annotations

import importlib
import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import Field

from indexes.errors import MissingExtra
from indexes.search.errors import IndexDamaged
from indexes.search.local import PIP_LINE
from indexes.search.model import Mask, Vectors
from local_judge.base.model import Frozen

FILE = "lists.faiss"
_ADD = 50_000
"""Vectors added at once."""


class IvfParameters(Frozen):
    """Parameters of the inverted lists."""

    lists: int = Field(ge=1)
    probes: int = Field(ge=1)
    """Lists searched for each query."""
    seed: int = 0
    iterations: int = 10
    sample: int = Field(ge=1)
    """Vectors that the clusters are found on."""

    @classmethod
    def for_size(cls, n: int) -> IvfParameters:
        """About 3 sqrt(n) lists, found on 64 vectors each, of which a 16th is searched, or 128 if that is more.

        A share alone would not do: few lists need more of them (of 1,024 lists over 100,000 vectors, 32 find 97.0 %
        of the true first 100 and 128 find 99.7 %; of 2,048 over 500,000, 128 find 99.8 %).
        """
        lists = max(1, min(n, round(3 * math.sqrt(n))))
        return cls(lists=lists, probes=min(lists, max(128, math.ceil(lists / 16))), sample=min(n, 64 * lists))


def faiss() -> Any:
    """The library, set to compute batches of any size as matrix products. Raises MissingExtra."""
    try:
        library: Any = importlib.import_module("faiss")
    except ImportError:
        raise MissingExtra(f"dense search needs faiss: {PIP_LINE}") from None
    # By default it computes small batches vector by vector, which is up to ten times slower for 64 queries.
    library.cvar.distance_compute_blas_threshold = 1
    return library


def build_lists(vectors: Vectors, path: Path, parameters: IvfParameters) -> None:
    """Write the lists of all vectors. Holds all of them in memory. Raises MissingExtra."""
    library = faiss()
    threads = library.omp_get_max_threads()
    library.omp_set_num_threads(1)
    try:
        dimension = vectors.shape[1]
        quantiser = library.IndexFlatIP(dimension)
        index = library.IndexIVFFlat(quantiser, dimension, parameters.lists, library.METRIC_INNER_PRODUCT)
        index.cp.seed = parameters.seed + 1
        index.cp.niter = parameters.iterations
        index.cp.min_points_per_centroid = 1
        index.cp.max_points_per_centroid = max(1, math.ceil(parameters.sample / parameters.lists))
        drawn = np.random.default_rng(parameters.seed).choice(len(vectors), parameters.sample, replace=False)
        index.train(np.ascontiguousarray(vectors[np.sort(drawn)]))
        for begin in range(0, len(vectors), _ADD):
            index.add(np.ascontiguousarray(vectors[begin : begin + _ADD]))
        library.write_index(index, str(path))
    finally:
        library.omp_set_num_threads(threads)


class Lists:
    """Lists opened for searching.

    Args:
        path: of their file.
        parameters: that they were built with.
        shape: of the vectors, rows and dimension.
        remedy: what to do where they are damaged, in words.

    Raises:
        IndexDamaged: FAISS cannot read the file, or it holds lists of other vectors; `candidates` raises it too.
    """

    def __init__(self, path: Path, parameters: IvfParameters, shape: tuple[int, ...], remedy: str) -> None:
        self._library = faiss()
        self._damaged = f"{path} does not hold the lists of these vectors; {remedy}"
        self._n = shape[0]
        try:
            index = self._library.read_index(str(path), self._library.IO_FLAG_MMAP)
            found = (index.ntotal, index.d, index.nlist, index.invlists.compute_ntotal())
        except (RuntimeError, MemoryError, AttributeError):
            raise IndexDamaged(self._damaged) from None
        if found != (*shape, parameters.lists, self._n):
            raise IndexDamaged(self._damaged)
        self._index = index
        self._probes = min(parameters.probes, parameters.lists)

    def candidates(self, queries: Vectors, m: int, mask: Mask | None) -> list[npt.NDArray[np.int64]]:
        """Up to `m` rows for each query that are likely the nearest of those that the mask lets through."""
        parameters = self._library.SearchParametersIVF(nprobe=self._probes)
        if mask is not None:
            bits = np.packbits(mask, bitorder="little")
            parameters.sel = self._library.IDSelectorBitmap(bits)
        try:
            _, rows = self._index.search(queries, m, params=parameters)
        except RuntimeError:
            raise IndexDamaged(self._damaged) from None
        if rows.max(initial=-1) >= self._n:
            raise IndexDamaged(self._damaged)
        return [found[found >= 0] for found in rows]
