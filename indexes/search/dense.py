"""Dense vectors of all chunks, and the nearest ones to a query.

Invariant: the ranking is by cosine, computed in 64 bits from the stored vectors, rounded to 6 digits, ties in order of
row. FAISS only proposes candidates in 32 bits; those that could matter at the last place are all looked at. So for an
exhaustive index the ranking is a function of the vectors, not of the batch, the number of threads or FAISS's way; and
two machines whose last bits differ agree wherever no score lies at the border of rounding. With lists (`ivf`), chunks
that no probed list holds are missed; the order of what is found is as exact.

A mask is exact for an exhaustive index: the ranking without it, restricted. With lists, too, if it lets through no
more than `FLAT_VALUES` numbers, because those are then searched exhaustively.

Opening reads a description and no library: vectors are mapped and FAISS and the model loaded at the first search.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from indexes.search.encoder import Encoder, EncoderIdentity
from indexes.search.errors import EncoderError, IndexDamaged, IndexMismatch
from indexes.search.folder import building, read_info, sizes, write_info
from indexes.search.ivf import FILE, IvfParameters, Lists, build_lists, faiss
from indexes.search.local import LocalEncoder
from indexes.search.model import (
    ChunkDigest,
    ChunkText,
    IndexInfo,
    Mask,
    Ranked,
    Vectors,
    check_search,
    take_best,
)
from local_judge.base.model import Frozen

KIND = "dense"
REMEDY = "build it again with `snapshot index --dense`"
VECTORS = "vectors.f32"
"""One row of 32-bit numbers a chunk, in the machine's order of bytes (little on all that are supported)."""
FLAT_VALUES = 200_000_000
"""Numbers (chunks times dimension) up to which exhaustive search is the default: 520,000 chunks of MiniLM. On two cores
a query then takes about 4 ms in batches of 64 and a tenth of a second alone; lists take under 5 ms for either."""
DIGITS = 6
_SLACK = 16
"""Candidates beyond `k`."""
_MARGIN = 1e-5
"""More than 32-bit inner products of unit vectors err by, plus a rounding to `DIGITS`."""
_BLOCK = 32_768
"""Rows copied or widened at once."""
_EXACT = 4_000_000
"""Numbers of candidates widened at once."""


class DenseSettings(Frozen):
    """All that decides a dense index beside the chunks and the encoder."""

    index: Literal["auto", "flat", "ivf"] = "auto"
    """`auto`: `flat` (exhaustive) up to `FLAT_VALUES`."""
    ivf: IvfParameters | None = None
    """Parameters of `ivf`; default: by size."""
    batch: int = Field(default=512, ge=1)
    """Chunks given to the encoder at once; what shares a batch can change last bits."""


class DenseInfo(IndexInfo):
    """Description of an index."""

    settings: DenseSettings
    encoder: EncoderIdentity
    dimension: int
    ivf: IvfParameters | None
    """Parameters as built; None if the search is exhaustive."""
    versions: dict[str, str]


def build_dense(
    chunks: Iterable[ChunkText], folder: Path, encoder: Encoder, settings: DenseSettings | None = None
) -> DenseInfo:
    """Embed chunks and index their vectors in `folder`, which is replaced if it holds an index.

    Memory stays flat: vectors are written as they come. Only lists, over `FLAT_VALUES`, hold them all.

    Args:
        chunks: read once, in the order that gives them their rows.
        folder: of this index alone.
        encoder: makes the vectors.
        settings: of the index.

    Raises:
        IndexExists: `folder` holds something that is no index.
        MissingExtra, EncoderError: see the encoder; MissingExtra also where FAISS is needed for lists.
    """
    settings = settings or DenseSettings()
    stream = ChunkDigest(chunks)
    dimension = encoder.dimension
    with building(Path(folder)) as part:
        with (part / VECTORS).open("wb") as file:
            for batch in _batches(stream, settings.batch):
                vectors = encoder.encode_documents([chunk.text for chunk in batch])
                if vectors.shape != (len(batch), dimension) or vectors.dtype != np.float32:
                    raise EncoderError(
                        f"{encoder.identity.model} gave {vectors.dtype}{vectors.shape} for {len(batch)} texts, "
                        f"the first {batch[0].id}; float32({len(batch)}, {dimension}) is needed"
                    )
                vectors.tofile(file)
        ivf = _parameters(settings, stream.n_chunks, dimension)
        if ivf is not None:
            build_lists(_map_vectors(part / VECTORS, stream.n_chunks, dimension), part / FILE, ivf)
        info = DenseInfo(
            kind=KIND,
            n_chunks=stream.n_chunks,
            chunks_digest=stream.hexdigest,
            files=sizes(part),
            settings=settings,
            encoder=encoder.identity,
            dimension=dimension,
            ivf=ivf,
            versions={"faiss-cpu": version("faiss-cpu")} if ivf is not None else {},
        )
        write_info(part, info)
    return info


def _batches(chunks: Iterable[ChunkText], size: int) -> Iterator[list[ChunkText]]:
    iterator = iter(chunks)
    while batch := list(islice(iterator, size)):
        yield batch


def _parameters(settings: DenseSettings, n: int, dimension: int) -> IvfParameters | None:
    wanted = settings.index == "ivf" or (settings.index == "auto" and n * dimension > FLAT_VALUES)
    if not wanted or n == 0:
        return None
    given = settings.ivf or IvfParameters.for_size(n)
    lists = min(given.lists, n)
    return given.model_copy(update={"lists": lists, "sample": max(lists, min(given.sample, n))})


def _map_vectors(path: Path, n: int, dimension: int) -> Vectors:
    if n == 0:
        return np.empty((0, dimension), np.float32)
    return np.asarray(np.memmap(path, np.float32, "r", shape=(n, dimension)))


class DenseIndex:
    """An index opened for searching. Make one with `DenseIndex.open`."""

    def __init__(
        self, folder: Path, info: DenseInfo, encoder: Encoder | None, check: Callable[[], None]
    ) -> None:
        self.folder = folder
        self._check = check
        self.info = info
        self._encoder = encoder
        self._checked = False
        self._opening = threading.Lock()
        self._opened: tuple[Vectors, Lists | None] | None = None

    @classmethod
    def open(
        cls, folder: Path, encoder: Encoder | None = None, *, check: Callable[[], None] = lambda: None
    ) -> DenseIndex:
        """Read the description of an index, nothing else.

        Args:
            folder: of the index.
            encoder: embeds the queries; default: the packaged MiniLM. Compared with the index's at the first search.
            check: called once, before the vectors are first read; raises if the files are damaged.

        Raises:
            IndexMissing, IndexDamaged: see `folder.read_info`.
        """
        folder = Path(folder)
        info = read_info(folder, KIND, DenseInfo.model_validate, REMEDY)
        if info.files.get(VECTORS) != 4 * info.n_chunks * info.dimension:
            raise IndexDamaged(f"{folder}: {VECTORS} is not of the size that index.json gives; {REMEDY}")
        return cls(folder, info, encoder, check)

    def search(self, queries: Sequence[str], k: int, mask: Mask | None = None) -> list[Ranked]:
        """The `k` nearest chunks to each query, best first.

        Args:
            queries: embedded in one go.
            k: at least 1.
            mask: chunks that may be found.

        Returns:
            One ranking a query, in the order of `queries`; scores are cosines rounded to 6 digits.

        Raises:
            ValueError: `k` or `mask` is not such.
            IndexMismatch: the encoder is not the one that made the vectors.
            MissingExtra, EncoderError: see the encoder.
        """
        check_search(k, self.info.n_chunks, mask)
        return self.search_vectors(self.encode(queries), k, mask) if queries else []

    def encode(self, queries: Sequence[str]) -> Vectors:
        """Vectors of queries, by the encoder of the index. Raises as `search` does."""
        return self._checked_encoder().encode_queries(queries)

    def search_vectors(self, queries: Vectors, k: int, mask: Mask | None = None) -> list[Ranked]:
        """The `k` nearest chunks to each vector of length 1; as `search`."""
        check_search(k, self.info.n_chunks, mask)
        if queries.ndim != 2 or queries.shape[1] != self.info.dimension:
            raise ValueError(
                f"the queries have shape {queries.shape}; the index has {self.info.dimension} dimensions"
            )
        queries = np.ascontiguousarray(queries, np.float32)
        allowed = None if mask is None or mask.all() else np.flatnonzero(mask)
        n = self.info.n_chunks if allowed is None else len(allowed)
        if n == 0 or len(queries) == 0:
            return [Ranked.nothing() for _ in queries]
        vectors, lists = self._open()
        m = min(k + _SLACK, n)
        if lists is not None and (allowed is None or n * self.info.dimension > FLAT_VALUES):
            candidates = lists.candidates(queries, m, None if allowed is None else mask)
            return [
                take_best(rows, _cosines(vectors[rows], query), k)
                for rows, query in zip(candidates, queries, strict=True)
            ]
        rows, proposed = _propose(vectors, queries, m, allowed)
        size = max(1, _EXACT // (m * self.info.dimension))
        found: list[Ranked] = []
        for begin in range(0, len(queries), size):
            part = slice(begin, begin + size)
            found += _decide(vectors, queries[part], k, rows[part], proposed[part], allowed)
        return found

    def _checked_encoder(self) -> Encoder:
        with self._opening:
            if self._encoder is None:
                self._encoder = LocalEncoder()
            if not self._checked:
                ours, theirs = self._encoder.identity, self.info.encoder
                if ours.space != theirs.space:
                    raise IndexMismatch(
                        f"{self.folder} was embedded by {theirs.model} ({theirs.revision[:19]}) and the queries would "
                        f"be by {ours.model} ({ours.revision[:19]}): give that model, or {REMEDY}"
                    )
                self._checked = True
            return self._encoder

    def _open(self) -> tuple[Vectors, Lists | None]:
        with self._opening:
            if self._opened is None:
                self._check()
                vectors = _map_vectors(self.folder / VECTORS, self.info.n_chunks, self.info.dimension)
                lists = None
                if self.info.ivf is not None:
                    lists = Lists(self.folder / FILE, self.info.ivf, vectors.shape, REMEDY)
                self._opened = vectors, lists
            return self._opened


def _cosines(vectors: Vectors, query: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    """Rounded cosines of one vector, or of one for each of several sets of vectors, without -0.0."""
    exact = vectors.astype(np.float64) @ query.astype(np.float64)[..., np.newaxis]
    return np.round(exact[..., 0], DIGITS) + 0.0


def _decide(
    vectors: Vectors,
    queries: Vectors,
    k: int,
    rows: npt.NDArray[np.int64],
    proposed: npt.NDArray[np.float32],
    allowed: npt.NDArray[np.int64] | None,
) -> list[Ranked]:
    """The first `k` of all rows, given the candidates: of all rows again if the last candidate could be tied."""
    scores = _cosines(vectors[rows], queries)
    order = np.lexsort((rows, -scores))[:, :k]
    rows, scores = np.take_along_axis(rows, order, axis=1), np.take_along_axis(scores, order, axis=1)
    n = len(vectors) if allowed is None else len(allowed)
    clear = proposed[:, -1] < scores[:, -1] - _MARGIN
    found: list[Ranked] = []
    for i, query in enumerate(queries):
        if clear[i] or proposed.shape[1] == n:
            found.append(Ranked(rows[i], scores[i]))
        else:
            every = np.arange(n) if allowed is None else allowed
            whole = np.concatenate([_cosines(vectors[part], query) for part in _blocks(every)])
            found.append(take_best(every, whole, k))
    return found


def _blocks(rows: npt.NDArray[np.int64]) -> Iterator[npt.NDArray[np.int64]]:
    for begin in range(0, len(rows), _BLOCK):
        yield rows[begin : begin + _BLOCK]


def _propose(
    vectors: Vectors, queries: Vectors, m: int, allowed: npt.NDArray[np.int64] | None
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    """The `m` rows with the highest 32-bit inner products for each query, best first, with these."""
    library = faiss()
    metric = library.METRIC_INNER_PRODUCT
    if allowed is None:
        # What an IndexFlatIP computes, over the mapped file instead of a copy in memory.
        scores, rows = library.knn(queries, vectors, m, metric=metric)
        return rows, scores
    parts: list[tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]] = []
    for block in _blocks(allowed):
        scores, places = library.knn(queries, vectors[block], min(m, len(block)), metric=metric)
        parts.append((block[places], scores))
    rows = np.concatenate([rows for rows, _ in parts], axis=1)
    scores = np.concatenate([scores for _, scores in parts], axis=1)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :m]
    return np.take_along_axis(rows, order, axis=1), np.take_along_axis(scores, order, axis=1)
