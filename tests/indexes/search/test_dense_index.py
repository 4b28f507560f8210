"""Dense vectors: exact order whatever FAISS proposes, filters, lists, errors. The encoder counts letters."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from indexes.errors import MissingExtra
from indexes.search import dense, ivf
from indexes.search.dense import DenseIndex, DenseSettings, build_dense
from indexes.search.encoder import PRESETS, EncoderIdentity, unit_vectors
from indexes.search.errors import EncoderError, IndexDamaged, IndexMismatch, IndexMissing
from indexes.search.ivf import IvfParameters
from indexes.search.model import ChunkText, Ranked, Vectors

pytest.importorskip("faiss")

DIMENSION = 26


class Letters:
    """Counts of letters: a real embedding, if a poor one."""

    dimension = DIMENSION

    def __init__(self, revision: str = "1") -> None:
        self.identity = EncoderIdentity(model="letters", revision=revision)
        self.batches: list[int] = []

    def encode_documents(self, texts: Sequence[str]) -> Vectors:
        self.batches.append(len(texts))
        counts = [[text.count(chr(97 + i)) + 0.01 for i in range(26)] for text in texts]
        return unit_vectors(counts, len(texts), "letters")

    encode_queries = encode_documents


class Stored(Letters):
    """Gives vectors that were made before, in order."""

    def __init__(self, vectors: Vectors) -> None:
        super().__init__()
        self._vectors = vectors
        self._given = 0

    def encode_documents(self, texts: Sequence[str]) -> Vectors:
        self._given += len(texts)
        return self._vectors[self._given - len(texts) : self._given]


def chunks(texts: Sequence[str]) -> list[ChunkText]:
    return [ChunkText(f"{i:05d}", "en", text) for i, text in enumerate(texts)]


def random_vectors(n: int, seed: int = 0) -> Vectors:
    """Around 40 centres, as real embeddings are clustered."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(9).standard_normal((40, DIMENSION))
    found = centres[rng.integers(40, size=n)] + 0.6 * rng.standard_normal((n, DIMENSION))
    return unit_vectors(found, n, "random")


def stored(folder: Path, vectors: Vectors, settings: DenseSettings | None = None) -> DenseIndex:
    build_dense(chunks([""] * len(vectors)), folder, Stored(vectors), settings)
    return DenseIndex.open(folder, Letters())


def expected(vectors: Vectors, query: Vectors, k: int, mask: Sequence[bool] | None = None) -> list[int]:
    """By the definition: cosines in 64 bits, rounded, ties by row."""
    scores = [round(float(v.astype(np.float64) @ query.astype(np.float64)), 6) for v in vectors]
    rows = [i for i in range(len(vectors)) if mask is None or mask[i]]
    return sorted(rows, key=lambda i: (-scores[i], i))[:k]


def test_known_cosines(tmp_path: Path) -> None:
    encoder = Letters()
    build_dense(chunks(["aaa", "b", "aab"]), tmp_path / "i", encoder, DenseSettings(batch=2))
    assert encoder.batches == [2, 1]
    index = DenseIndex.open(tmp_path / "i", encoder)
    assert (index.info.n_chunks, index.info.dimension, index.info.ivf) == (3, 26, None)
    [found] = index.search(["a"], 2)
    assert found.rows.tolist() == [0, 2]
    # (1.01, 0.01, ...) . (2.01, 1.01, 0.01, ...) = 2.0301 + 0.0101 + 24 * 0.0001 = 2.0426; lengths
    # sqrt(1.0201 + 25 * 0.0001) = 1.011237, sqrt(4.0401 + 1.0201 + 24 * 0.0001) = 2.250022
    assert found.scores[1] == pytest.approx(2.0426 / (1.011237 * 2.250022), abs=2e-6)
    assert (index.search([], 3), len(index.search(["a", "b"], 9))) == ([], 2)


@pytest.mark.parametrize("k", [1, 10, 150, 999])
def test_order_is_that_of_the_definition(tmp_path: Path, k: int) -> None:
    vectors = random_vectors(700)
    vectors[300:360] = vectors[5]  # more equal ones than there are candidates beyond k
    queries = np.concatenate([vectors[5:6], random_vectors(3, seed=1)])
    index = stored(tmp_path / "i", vectors)
    for query, found in zip(queries, index.search_vectors(queries, k), strict=True):
        assert found.rows.tolist() == expected(vectors, query, k)
    mask = np.array([i % 3 != 1 for i in range(700)])
    for query, found in zip(queries, index.search_vectors(queries, k, mask), strict=True):
        assert found.rows.tolist() == expected(vectors, query, k, mask.tolist())


def test_a_mask_restricts_the_ranking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense, "_BLOCK", 64)  # several blocks, the last one smaller than k
    vectors, queries = random_vectors(400), random_vectors(2, seed=1)
    index = stored(tmp_path / "i", vectors)
    mask = np.arange(400) % 2 == 0
    whole, some = index.search_vectors(queries, 400), index.search_vectors(queries, 400, mask)
    for one, other in zip(whole, some, strict=True):
        assert other.rows.tolist() == one.rows[mask[one.rows]].tolist()
        assert other.scores.tolist() == one.scores[mask[one.rows]].tolist()
    nothing = index.search_vectors(queries, 5, np.zeros(400, np.bool_))
    assert [len(found.rows) for found in nothing] == [0, 0]


def test_a_batch_is_what_its_queries_are_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        dense, "_EXACT", 10 * 36 * DIMENSION
    )  # candidates of ten queries are looked at in one go
    index = stored(tmp_path / "i", random_vectors(500))
    queries = random_vectors(70, seed=1)
    for i, found in enumerate(index.search_vectors(queries, 20)):
        [alone] = index.search_vectors(queries[i : i + 1], 20)
        assert found.rows.tolist() == alone.rows.tolist()
        assert found.scores.tolist() == alone.scores.tolist()


def ivf_settings(probes: int) -> DenseSettings:
    return DenseSettings(index="ivf", ivf=IvfParameters(lists=20, probes=probes, sample=1000))


def test_lists_with_all_probes_are_exact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense, "FLAT_VALUES", 0)
    vectors, queries = random_vectors(2000), random_vectors(5, seed=1)
    index = stored(tmp_path / "i", vectors, ivf_settings(20))
    mask = np.arange(2000) % 5 == 0
    for query, found in zip(queries, index.search_vectors(queries, 30), strict=True):
        assert found.rows.tolist() == expected(vectors, query, 30)
    for query, found in zip(queries, index.search_vectors(queries, 30, mask), strict=True):
        assert found.rows.tolist() == expected(vectors, query, 30, mask.tolist())


def test_lists_find_most_with_few_probes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors, queries = random_vectors(2000), random_vectors(50, seed=1)
    index = stored(tmp_path / "i", vectors, ivf_settings(4))
    mask = np.arange(2000) % 2 == 0

    def recall(found: list[Ranked], chosen: Sequence[bool] | None = None) -> float:
        truth = [set(expected(vectors, query, 10, chosen)) for query in queries]
        shares = [len(rows & set(one.rows.tolist())) / 10 for rows, one in zip(truth, found, strict=True)]
        return sum(shares) / len(shares)

    found = index.search_vectors(queries, 10)
    assert 0.8 < recall(found) < 1
    # What a mask lets through is searched exhaustively as long as it is little.
    assert recall(index.search_vectors(queries, 10, mask), mask.tolist()) == 1
    monkeypatch.setattr(dense, "FLAT_VALUES", 0)
    assert recall(index.search_vectors(queries, 10, mask), mask.tolist()) > 0.8
    for one in found:
        assert one.scores.tolist() == sorted(one.scores.tolist(), reverse=True)


def test_size_decides_the_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense, "FLAT_VALUES", 100 * DIMENSION)
    assert stored(tmp_path / "a", random_vectors(100)).info.ivf is None
    built = stored(tmp_path / "b", random_vectors(101)).info.ivf
    # 3 sqrt(101) = 30.1, all of them searched; 64 * 30 vectors are more than there are.
    assert built == IvfParameters(lists=30, probes=30, sample=101)
    assert stored(tmp_path / "c", random_vectors(101), DenseSettings(index="flat")).info.ivf is None
    # More lists than vectors are as many as vectors.
    few = stored(tmp_path / "d", random_vectors(7), ivf_settings(20))
    assert few.info.ivf == IvfParameters(lists=7, probes=20, sample=7)
    assert len(few.search_vectors(random_vectors(1), 9)[0].rows) == 7
    assert IvfParameters.for_size(1_000_000) == IvfParameters(lists=3000, probes=188, sample=192_000)


def test_bytes_do_not_depend_on_threads(tmp_path: Path) -> None:
    script = """
import sys
from pathlib import Path
sys.path[:0] = sys.argv[2].split(":")
from test_dense_index import ivf_settings, random_vectors, stored
stored(Path(sys.argv[1]), random_vectors(3000), ivf_settings(3))
"""
    here = str(Path(__file__).parent)
    for threads in ("1", "4"):
        subprocess.run(
            [sys.executable, "-c", script, str(tmp_path / threads), ":".join([here, *sys.path])],
            check=True,
            env={"OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads},
        )
    names = sorted(path.name for path in (tmp_path / "1").iterdir())
    assert names == ["index.json", "lists.faiss", "vectors.f32"]
    for name in names:
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "4" / name).read_bytes(), name


def test_opening_imports_nothing_heavy(tmp_path: Path) -> None:
    stored(tmp_path / "i", random_vectors(10))
    script = """
import sys
from pathlib import Path
from indexes.search.dense import DenseIndex
DenseIndex.open(Path(sys.argv[1]))
print([name for name in ("faiss", "torch", "sentence_transformers", "transformers") if name in sys.modules])
"""
    environment = {"PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "i")],
        check=True,
        capture_output=True,
        text=True,
        env=environment,
    )
    assert done.stdout.strip() == "[]"


def test_no_chunks(tmp_path: Path) -> None:
    for name, settings in (("flat", None), ("ivf", DenseSettings(index="ivf"))):
        build_dense([], tmp_path / name, Letters(), settings)
        found = DenseIndex.open(tmp_path / name, Letters()).search(["a"], 3)
        assert [len(one.rows) for one in found] == [0]


def test_another_model_is_refused(tmp_path: Path) -> None:
    build_dense(chunks(["a"]), tmp_path / "i", Letters())
    index = DenseIndex.open(tmp_path / "i", Letters(revision="2"))
    with pytest.raises(
        IndexMismatch, match=r"was embedded by letters \(1\) and the queries would be by letters \(2\)"
    ):
        index.search(["a"], 1)


def test_damage_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        IndexMissing, match=r"no dense index at .*; build it again with `snapshot index --dense`"
    ):
        DenseIndex.open(tmp_path / "i")
    build_dense(chunks(["a", "b"]), tmp_path / "i", Letters())
    (tmp_path / "i" / "vectors.f32").write_bytes(b"\0" * 100)
    with pytest.raises(IndexDamaged, match=r"vectors.f32 has 100 bytes, not 208"):
        DenseIndex.open(tmp_path / "i")


def test_a_wrong_encoder_is_named(tmp_path: Path) -> None:
    class Short(Letters):
        def encode_documents(self, texts: Sequence[str]) -> Vectors:
            return super().encode_documents(texts)[:, :20]

    with pytest.raises(
        EncoderError, match=r"float32\(1, 20\) for 1 texts, the first 00000; float32\(1, 26\) is"
    ):
        build_dense(chunks(["a"]), tmp_path / "i", Short())
    assert not (tmp_path / "i").exists()
    index = stored(tmp_path / "j", random_vectors(5))
    with pytest.raises(ValueError, match=r"the queries have shape \(1, 3\); the index has 26 dimensions"):
        index.search_vectors(np.ones((1, 3), np.float32), 1)
    with pytest.raises(ValueError, match="k is 0"):
        index.search(["a"], 0)


def test_vectors_without_a_direction_are_refused() -> None:
    for wrong in ([[0.0, 0.0]], [[float("nan"), 1.0]], [[float("inf"), 1.0]]):
        with pytest.raises(
            EncoderError, match="x gave a vector of length 0 or with numbers that are not finite"
        ):
            unit_vectors(wrong, 1, "x")
    with pytest.raises(EncoderError, match="different lengths"):
        unit_vectors([[1.0], [1.0, 2.0]], 2, "x")
    with pytest.raises(EncoderError, match=r"shape \(1, 1\) for 2 texts"):
        unit_vectors([[1.0]], 2, "x")
    assert unit_vectors([[3.0, 4.0]], 1, "x").tolist() == [[pytest.approx(0.6), pytest.approx(0.8)]]


def test_without_faiss_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(
        MissingExtra, match=r"dense search needs faiss: in the checkout, pip install '\.\[dense\]'"
    ):
        ivf.faiss()


def test_presets() -> None:
    assert {name: preset.dimension for name, preset in PRESETS.items()} == {
        "all-minilm-l6-v2": 384,
        "bge-m3": 1024,
        "qwen3-embedding-0.6b": 1024,
        "qwen3-embedding-4b": 2560,
        "qwen3-embedding-8b": 4096,
    }
    qwen = PRESETS["qwen3-embedding-8b"]
    assert qwen.query_prompt.startswith("Instruct: ")
    assert qwen.query_prompt.endswith("\nQuery:")
    assert (qwen.pooling, qwen.document_prompt, PRESETS["bge-m3"].pooling) == ("last_token", "", "cls")


@pytest.mark.parametrize("change", [b"", (1 << 40).to_bytes(8, "little")], ids=["nothing", "row"])
def test_lists_that_are_damaged_are_named(tmp_path: Path, change: bytes) -> None:
    """The file ends with the rows of the last list."""
    vectors = random_vectors(500)
    index = stored(tmp_path / "i", vectors, ivf_settings(20))
    path = tmp_path / "i" / ivf.FILE
    data = path.read_bytes()
    path.write_bytes(data[: -len(change)] + change if change else bytes(len(data)))
    with pytest.raises(
        IndexDamaged, match=r"lists\.faiss does not hold the lists of these vectors; build it again"
    ):
        index.search_vectors(vectors, 500)
