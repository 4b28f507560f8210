"""Modes of search over real small indexes, and what is said when one is missing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from indexes.search.bm25 import Bm25Index, build_bm25
from indexes.search.dense import DenseIndex, build_dense
from indexes.search.encoder import EncoderIdentity, unit_vectors
from indexes.search.errors import IndexMismatch, IndexMissing
from indexes.search.fusion import FusionSettings, fuse
from indexes.search.model import ChunkText, Vectors
from indexes.search.searcher import Reranking, Searcher

pytest.importorskip("faiss")

TEXTS = [
    "apples and pears from the garden",
    "a zebra crossed the road",
    "the zebra and the horse",
    "pears",
    "zzz aaa",
]


class Letters:
    """Counts of letters."""

    dimension = 26
    identity = EncoderIdentity(model="letters", revision="1")

    def encode_documents(self, texts: Sequence[str]) -> Vectors:
        counts = [[text.count(chr(97 + i)) + 0.01 for i in range(26)] for text in texts]
        return unit_vectors(counts, len(texts), "letters")

    encode_queries = encode_documents


class Shortest:
    """Prefers short texts."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        self.asked.append(list(texts))
        return [-float(len(text)) for text in texts]


@pytest.fixture
def indexes(tmp_path: Path) -> tuple[Bm25Index, DenseIndex]:
    chunks = [ChunkText(str(i), "en", text) for i, text in enumerate(TEXTS)]
    build_bm25(chunks, tmp_path / "bm25")
    build_dense(chunks, tmp_path / "dense", Letters())
    return Bm25Index.open(tmp_path / "bm25"), DenseIndex.open(tmp_path / "dense", Letters())


def test_modes(indexes: tuple[Bm25Index, DenseIndex]) -> None:
    bm25, dense = indexes
    searcher = Searcher(bm25, dense, fusion=FusionSettings(depth=3))
    queries = ["zebras", "pear"]
    assert [r.rows.tolist() for r in searcher.search(queries, 5)] == [[1, 2], [3, 0]]
    assert [r.rows.tolist() for r in searcher.search(queries, 5, "dense")] == [
        r.rows.tolist() for r in dense.search(queries, 5)
    ]
    for query, found in zip(queries, searcher.search(queries, 2, "fused"), strict=True):
        by_hand = fuse(bm25.search([query], 3)[0], dense.search([query], 3)[0], 2)
        assert found.rows.tolist() == by_hand.rows.tolist()
        assert found.scores.tolist() == by_hand.scores.tolist()
    assert searcher.search([], 3, "fused") == []


def test_a_mask_holds_in_every_mode(indexes: tuple[Bm25Index, DenseIndex]) -> None:
    searcher = Searcher(*indexes)
    mask = np.array([True, False, True, False, True])
    for mode in ("bm25", "dense", "fused"):
        for found in searcher.search(["zebra", "pears"], 5, mode, mask):
            assert set(found.rows.tolist()) <= {0, 2, 4}
            assert len(found.rows) > 0
    # Restricted, then fused: the only one with a zebra is first in both.
    [fused] = searcher.search(["the zebra and the horse"], 1, "fused", mask)
    assert fused.rows.tolist() == [2]
    assert fused.scores.tolist() == [pytest.approx(2 / 61)]


def test_a_missing_index_names_its_command(indexes: tuple[Bm25Index, DenseIndex]) -> None:
    bm25, dense = indexes
    alone = Searcher(bm25, None, commands={"dense": "snapshot index SNAP --dense"})
    assert alone.search(["zebra"], 1)[0].rows.tolist() == [1]
    message = r"search mode 'fused' needs a dense index and there is none; make it with `snapshot index SNAP --dense`"
    with pytest.raises(IndexMissing, match=message):
        alone.search(["zebra"], 1, "fused")
    with pytest.raises(IndexMissing, match=r"search mode 'bm25' needs a bm25 index .* with `build_bm25`"):
        Searcher(None, dense).search(["zebra"], 1)


def test_indexes_of_other_chunks_are_refused(indexes: tuple[Bm25Index, DenseIndex], tmp_path: Path) -> None:
    build_bm25([ChunkText("other", "en", "zebra")], tmp_path / "other")
    with pytest.raises(IndexMismatch, match=r"is of 1 chunks \(.*\) and the dense index of 5 \("):
        Searcher(Bm25Index.open(tmp_path / "other"), indexes[1])


def test_reranking(indexes: tuple[Bm25Index, DenseIndex]) -> None:
    scorer = Shortest()
    reranking = Reranking(scorer, lambda rows: [TEXTS[row] for row in rows], depth=3)
    searcher = Searcher(*indexes, reranking=reranking)
    [found] = searcher.search(["pears and a zebra"], 1)
    [first] = Searcher(*indexes).search(["pears and a zebra"], 3)
    rows: list[int] = first.rows.tolist()
    lengths = {row: len(TEXTS[row]) for row in rows}
    assert scorer.asked == [[TEXTS[row] for row in lengths]]
    shortest = min(lengths, key=lengths.__getitem__)
    assert (found.rows.tolist(), found.scores.tolist()) == ([shortest], [-lengths[shortest]])
    # More are asked for than the depth: all of them are scored.
    assert len(searcher.search(["zebra"], 5, "dense")[0].rows) == 5
    with pytest.raises(ValueError, match="depth is 0"):
        Reranking(scorer, lambda rows: [], depth=0)
