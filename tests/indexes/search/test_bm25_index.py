"""BM25 over many chunks: known scores, bm25s and rank-bm25 as references, filters, ties, bytes."""

from __future__ import annotations

import json
import math
import random
import shutil
import subprocess
import sys
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import bm25s  # pyright: ignore[reportMissingTypeStubs]
import numpy as np
import pytest
from rank_bm25 import BM25Okapi, BM25Plus  # pyright: ignore[reportMissingTypeStubs]

from indexes.search.bm25 import Bm25Index, build_bm25
from indexes.search.errors import IndexDamaged, IndexExists, IndexMismatch, IndexMissing
from indexes.search.model import ChunkDigest, ChunkText
from indexes.search.weights import Bm25Settings, Method
from indexes.text.tokens import tokenise

_bm25s: Any = bm25s
_okapi: Any = BM25Okapi
_plus: Any = BM25Plus
PLAIN = Bm25Settings(stemming=False)


def chunks(texts: Sequence[str], language: str = "en") -> list[ChunkText]:
    return [ChunkText(f"{i:04d}", language, text) for i, text in enumerate(texts)]


def random_texts(n: int, seed: int = 0) -> list[str]:
    """Texts of 0 to 60 words out of 300, frequent ones among them, as in a language."""
    rng = random.Random(seed)
    words = [f"w{i}" for i in range(300)]
    weights = [1 / (i + 1) for i in range(300)]
    return [" ".join(rng.choices(words, weights, k=rng.randrange(61))) for _ in range(n)]


def built(folder: Path, texts: Sequence[str], settings: Bm25Settings = PLAIN, run: int = 1000) -> Bm25Index:
    build_bm25(chunks(texts), folder, settings, run=run)
    return Bm25Index.open(folder)


def test_known_scores(tmp_path: Path) -> None:
    index = built(tmp_path / "i", ["red apples", "green green pears are", ""])
    # N = 3, lengths 2, 4, 0, mean 2; "green" is in n = 1: ln(1 + 2.5 / 1.5) = 0.980829. Twice in a chunk of 4:
    # K = 1.5 (0.25 + 0.75 * 4 / 2) = 2.625, so 2 / 4.625. "red" once in a chunk of 2: K = 1.5, so 1 / 2.5.
    [green, red, none] = index.search(["green", "red red", "zebra ..."], 5)
    assert green.rows.tolist() == [1]
    assert green.scores.tolist() == [pytest.approx(math.log(1 + 2.5 / 1.5) * 2 / 4.625, rel=1e-7)]
    # A word given twice counts twice.
    assert red.rows.tolist() == [0]
    assert red.scores.tolist() == [pytest.approx(2 * math.log(1 + 2.5 / 1.5) / 2.5, rel=1e-7)]
    assert none.rows.tolist() == none.scores.tolist() == []


def test_a_rare_word_tells_more(tmp_path: Path) -> None:
    texts = ["red apples", "an apple falls", "green pears", "apples and pears"]
    index = built(tmp_path / "i", texts, Bm25Settings(stemming=True))
    # N = 4: apple, however written, is in 3, pears in 2, zebra in none; a word given twice is one.
    assert index.rarity("Apples, apples, pear? Zebra!") == {
        "apples": pytest.approx(math.log(1 + 1.5 / 3.5)),
        "pear": pytest.approx(math.log(1 + 2.5 / 2.5)),
        "zebra": pytest.approx(math.log(1 + 4.5 / 0.5)),
    }
    assert index.rarity(" ? ") == {}


@pytest.mark.parametrize("method", ["lucene", "robertson", "atire", "bm25+"])
@pytest.mark.parametrize("run", [97, 1_000_000])
def test_arrays_are_those_of_bm25s(tmp_path: Path, method: Method, run: int) -> None:
    texts = random_texts(400)
    vocabulary: dict[str, int] = {}
    ids = [[vocabulary.setdefault(w, len(vocabulary)) for w in tokenise(text)] for text in texts]
    reference = _bm25s.BM25(method=method, k1=1.2, b=0.6, delta=0.8)
    reference.index((ids, vocabulary), create_empty_token=False, show_progress=False)
    build_bm25(
        chunks(texts),
        tmp_path / "i",
        Bm25Settings(method=method, k1=1.2, b=0.6, delta=0.8, stemming=False),
        run=run,
    )
    ours = _bm25s.BM25.load(tmp_path / "i", mmap=True)
    for name in ("data", "indices", "indptr"):
        assert ours.scores[name].dtype == reference.scores[name].dtype
        assert np.array_equal(ours.scores[name], reference.scores[name]), name
    assert ours.scores["num_docs"] == 400
    assert ours.vocab_dict == vocabulary
    if method == "bm25+":
        assert np.array_equal(ours.nonoccurrence_array, reference.nonoccurrence_array)
    reference.save(tmp_path / "reference")
    for path in (tmp_path / "reference").iterdir():
        assert (tmp_path / "i" / path.name).read_bytes() == path.read_bytes(), path.name


def test_scores_are_those_of_bm25s(tmp_path: Path) -> None:
    texts = random_texts(300)
    index = built(tmp_path / "i", texts)
    reference = _bm25s.BM25.load(tmp_path / "i")
    for query in ("w1 w5 w200", "w0 w0 w17", "w299"):
        [found] = index.search([query], 300)
        scores = reference.get_scores(query.split())
        assert np.array_equal(scores[found.rows], found.scores)
        assert set(found.rows.tolist()) == set(np.flatnonzero(scores).tolist())


def test_scores_are_those_of_rank_bm25(tmp_path: Path) -> None:
    """The variants that both libraries have; 32-bit scores, so to 1e-6 of the score."""
    texts = random_texts(300)
    corpus = [text.split() for text in texts]
    queries = ["w1 w5 w200", "w3 w3 w17 w40", "w299 w250"]
    plus = built(tmp_path / "plus", texts, Bm25Settings(method="bm25+", stemming=False))
    reference = _plus(corpus, k1=1.5, b=0.75, delta=1.0)
    for query, found in zip(queries, plus.search(queries, 300), strict=True):
        expected = reference.get_scores(query.split())
        assert found.scores == pytest.approx(expected[found.rows], rel=1e-6)
        assert len(found.rows) > 2
        # Every chunk that is no hit has the constant alone.
        rest = np.setdiff1d(np.arange(300), found.rows)
        assert expected[rest] == pytest.approx(expected.min(), rel=1e-12)

    # Okapi of that library has ATIRE's part for the count; with Lucene's weights, and without the factor k1 + 1
    # that Lucene leaves out, it is Lucene's formula.
    class Lucene(_okapi):
        def _calc_idf(self, nd: dict[str, int]) -> None:
            total = self.corpus_size
            self.idf = {word: math.log(1 + (total - n + 0.5) / (n + 0.5)) / 2.5 for word, n in nd.items()}

    lucene = built(tmp_path / "lucene", texts)
    other: Any = Lucene(corpus, k1=1.5, b=0.75)
    for query, found in zip(queries, lucene.search(queries, 300), strict=True):
        expected = other.get_scores(query.split())
        assert found.scores == pytest.approx(expected[found.rows], rel=1e-6)
        assert set(found.rows.tolist()) == set(np.flatnonzero(expected).tolist())


@pytest.mark.parametrize("method", ["lucene", "bm25+"])
def test_a_mask_restricts_the_ranking(tmp_path: Path, method: Method) -> None:
    index = built(tmp_path / "i", random_texts(200), Bm25Settings(method=method, stemming=False))
    mask = np.array([i % 3 == 0 for i in range(200)])
    queries = ["w1 w2 w60", "w0", "w250 w299"]
    for whole, some in zip(index.search(queries, 200), index.search(queries, 200, mask), strict=True):
        kept = mask[whole.rows]
        assert some.rows.tolist() == whole.rows[kept].tolist()
        assert some.scores.tolist() == whole.scores[kept].tolist()
    [nothing] = index.search(["w1"], 5, np.zeros(200, np.bool_))
    assert len(nothing.rows) == 0


def test_ties_at_the_last_place_are_broken_by_row(tmp_path: Path) -> None:
    texts = ["same words"] * 50 + ["same words same words"] + ["other"] * 50
    index = built(tmp_path / "i", texts)
    for k in (1, 2, 7, 51, 101):
        [found] = index.search(["same"], k)
        assert found.rows.tolist() == [50, *range(50)][:k]
    assert index.search(["same", "other"], 3)[1].rows.tolist() == [51, 52, 53]


def test_a_query_is_stemmed_in_every_language_of_the_index(tmp_path: Path) -> None:
    texts = [
        ChunkText("a", "en", "He was running through connected houses"),
        ChunkText("b", "de", "Die Häuser waren verbunden"),
        ChunkText("c", "zh", "深度研究的报告"),
        ChunkText("d", "xx", "running houses as written"),
        ChunkText("e", "de-AT", "Ein Haus"),
        ChunkText("f", "", "２,０１９ units"),
    ]
    info = build_bm25(texts, tmp_path / "i")
    assert info.analyses == ("english", "german", "plain")
    assert set(info.versions) == {"bm25s", "PyStemmer"}
    index = Bm25Index.open(tmp_path / "i")

    def found(query: str) -> list[int]:
        return sorted(index.search([query], 9)[0].rows.tolist())

    assert index.terms("houses") == ["hous", "houses"]  # German leaves it as it is, as plain does: once
    assert found("houses") == [0, 3]
    assert found("runs") == [0]  # "run"; the chunk without a stemmer has "running" only
    assert found("Häusern") == [1, 4]
    assert found("研究") == [2]
    assert found("2019") == [5]
    assert found("\udc80 running") == [0, 3]
    assert index.terms("run running") == ["run", "run", "running"]


def test_no_stemming_if_so_set(tmp_path: Path) -> None:
    info = build_bm25(chunks(["running houses"]), tmp_path / "i", PLAIN)
    assert info.analyses == ("plain",)
    assert Bm25Index.open(tmp_path / "i").terms("run running") == ["running"]


def test_no_chunks_and_no_words(tmp_path: Path) -> None:
    empty = built(tmp_path / "none", [])
    assert empty.info.n_chunks == 0
    assert [len(ranked.rows) for ranked in empty.search(["a", ""], 3)] == [0, 0]
    wordless = built(tmp_path / "wordless", ["...", "!"])
    assert [len(ranked.rows) for ranked in wordless.search(["a"], 3)] == [0]
    assert wordless.info.mean_length == 0


def test_bytes_do_not_depend_on_hash_seed_or_threads(tmp_path: Path) -> None:
    script = """
import sys
from pathlib import Path
from indexes.search.bm25 import build_bm25
from indexes.search.model import ChunkText
texts = [f"chunk number {i} of {i % 7} running houses {'word ' * (i % 5)}" for i in range(300)]
build_bm25((ChunkText(str(i), "en", t) for i, t in enumerate(texts)), Path(sys.argv[1]), run=int(sys.argv[2]))
"""
    folders: list[Path] = []
    for seed, threads, run in (("0", "1", "100"), ("1", "4", "100000")):
        folder = tmp_path / seed
        subprocess.run(
            [sys.executable, "-c", script, str(folder), run],
            check=True,
            env={"PYTHONHASHSEED": seed, "OMP_NUM_THREADS": threads, "PYTHONPATH": ":".join(sys.path)},
        )
        folders.append(folder)
    names = sorted(path.name for path in folders[0].iterdir())
    assert names == sorted(path.name for path in folders[1].iterdir())
    assert len(names) == 6
    for name in names:
        assert (folders[0] / name).read_bytes() == (folders[1] / name).read_bytes(), name


def test_what_an_index_says_of_itself(tmp_path: Path) -> None:
    stream = chunks(["one two", "two"])
    info = build_bm25(stream, tmp_path / "i")
    assert (info.n_chunks, info.n_terms, info.n_postings, info.mean_length) == (2, 2, 3, 1.5)
    digest = ChunkDigest(stream)
    assert list(digest) == stream
    assert info.chunks_digest == digest.hexdigest
    other = ChunkDigest(chunks(["one two", "two"], "de"))
    assert list(other)
    assert other.hexdigest != digest.hexdigest
    assert Bm25Index.open(tmp_path / "i").info == info


def test_a_failed_build_leaves_the_old_index(tmp_path: Path) -> None:
    folder = tmp_path / "i"
    built(folder, ["old"])

    def failing() -> Any:
        yield from chunks(["new", "newer"])
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        build_bm25(failing(), folder)
    assert [path.name for path in tmp_path.iterdir()] == ["i"]
    assert Bm25Index.open(folder).search(["old"], 1)[0].rows.tolist() == [0]
    built(folder, ["new"])
    assert len(Bm25Index.open(folder).search(["old"], 1)[0].rows) == 0


def test_what_is_not_an_index_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "to-my-mother.txt").write_text("dear")
    with pytest.raises(IndexExists, match="letters exists and is not a search index"):
        build_bm25(chunks(["a"]), tmp_path / "letters")
    (tmp_path / "empty").mkdir()
    assert build_bm25(chunks(["a"]), tmp_path / "empty").n_chunks == 1


def _describe(folder: Path, **fields: object) -> Path:
    """Have an index say something else of itself."""
    path = folder / "index.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))
    return folder


def test_damage_is_named(tmp_path: Path) -> None:
    built(tmp_path / "i", ["one two", "three"])
    with pytest.raises(IndexMissing, match=r"no bm25 index at .*nowhere; build"):
        Bm25Index.open(tmp_path / "nowhere")

    def copy(name: str) -> Path:
        return Path(shutil.copytree(tmp_path / "i", tmp_path / name))

    short = copy("short")
    (short / "data.csc.index.npy").write_bytes(b"")
    with pytest.raises(IndexDamaged, match=r"data.csc.index.npy has 0 bytes, not 140; build"):
        Bm25Index.open(short)
    lost = copy("lost")
    (lost / "vocab.index.json").unlink()
    with pytest.raises(IndexDamaged, match=r"vocab.index.json is missing"):
        Bm25Index.open(lost)
    for name, text in (("half", ""), ("list", "[]"), ("keys", '{"kind": "bm25", "format_version": 1}')):
        (copy(name) / "index.json").write_text(text)
        with pytest.raises(IndexDamaged, match="not the description of a whole index"):
            Bm25Index.open(tmp_path / name)
    for name in ("params", "vocab"):
        (copy(f"odd {name}") / f"{name}.index.json").write_text(
            "{" * (tmp_path / "i" / f"{name}.index.json").stat().st_size
        )
        with pytest.raises(IndexDamaged, match=f"odd {name} is not an index that bm25s can read; build"):
            Bm25Index.open(tmp_path / f"odd {name}")
    mixed = copy("mixed")
    np.save(mixed / "indices.csc.index.npy", np.array([0, 0, 7], np.int32))  # there is no chunk 7
    with pytest.raises(IndexDamaged, match="mixed is not an index"):
        Bm25Index.open(mixed)
    for name, dtype in (
        ("data", "<U8"),
        ("data", "f8"),
        ("indices", "f4"),
        ("indices", "i8"),
        ("indptr", "f8"),
    ):
        other = copy(f"{name} {dtype}")
        array = other / f"{name}.csc.index.npy"
        np.save(array, np.load(array).astype(dtype))
        _describe(
            other, files={path.name: path.stat().st_size for path in other.iterdir() if path.suffix == ".npy"}
        )
        with pytest.raises(IndexDamaged, match=f"{dtype} is not an index"):
            Bm25Index.open(other)
    endless = copy("endless")
    weights = endless / "data.csc.index.npy"
    np.save(weights, np.load(weights) * np.float32(np.inf))
    with pytest.raises(IndexDamaged, match="endless is not an index"):
        Bm25Index.open(endless)
    small = copy("small")
    params = small / "params.index.json"
    params.write_text(params.read_text().replace('"int32"', '"uint8"'))
    with pytest.raises(IndexDamaged, match="small is not an index"):
        Bm25Index.open(small)
    for name, said in (("analyses", ["../x"]), ("files", {"../x": 1}), ("files", {"a\0": 1})):
        with pytest.raises(IndexDamaged, match="not the description of a whole index"):
            Bm25Index.open(_describe(copy(f"{name} {len(said)} {said!s:.9}"), **{name: said}))
    newer = copy("newer")
    fields = json.loads((newer / "index.json").read_text())
    (newer / "index.json").write_text(json.dumps({**fields, "format_version": 2}))
    with pytest.raises(IndexDamaged, match="format 2; 'bm25', format 1 is read here"):
        Bm25Index.open(newer)


def test_another_stemmer_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build_bm25(chunks(["running"]), tmp_path / "stemmed")
    build_bm25(chunks(["running"]), tmp_path / "plain", PLAIN)
    monkeypatch.setattr("indexes.search.bm25.stemmer_version", lambda: "9.9")
    with pytest.raises(
        IndexMismatch, match=r"was stemmed by PyStemmer \d.* and 9.9 is installed: pip install"
    ):
        Bm25Index.open(tmp_path / "stemmed")
    assert Bm25Index.open(tmp_path / "plain").info.n_chunks == 1


def test_wrong_arguments(tmp_path: Path) -> None:
    index = built(tmp_path / "i", ["a", "b"])
    with pytest.raises(ValueError, match="k is 0"):
        index.search(["a"], 0)
    with pytest.raises(ValueError, match=r"the mask is bool\(3,\); it must be bool\(2,\)"):
        index.search(["a"], 1, np.ones(3, np.bool_))
    assert unicodedata.is_normalized("NFKC", index.terms("ａ")[0])
