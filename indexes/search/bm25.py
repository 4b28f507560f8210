"""BM25 over all chunks, in the files of `bm25s`.

Invariant: the same chunks give the same bytes, on any number of threads; `bm25s` opens them, and its own `index` would
have made the same arrays of the same terms, rounding included (`weights`). Memory while building: the
vocabulary, eight bytes a chunk, and one run of postings (`postings`).

A chunk is a hit if it shares a term of positive weight with the query. BM25+ also gives every chunk `delta` times the
weight of each term of the query, as `bm25s` and `rank-bm25` do; it changes no order and makes no hit.
"""

from __future__ import annotations

import importlib
import json
import math
import shutil
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import field_validator

from indexes.search.analysis import PLAIN, SNOWBALL, Analyser, QueryAnalyser, analysis_of, stemmer_version
from indexes.search.errors import IndexDamaged, IndexMismatch
from indexes.search.folder import building, holds_array, read_info, sizes, write_info, write_npy_header
from indexes.search.model import ChunkDigest, ChunkText, IndexInfo, Mask, Ranked, best_positive, check_search
from indexes.search.postings import RUN, PostingRuns
from indexes.search.weights import Bm25Settings, Weights
from indexes.text.tokens import tokenise
from local_judge.base.files import read_file

KIND = "bm25"
_REMEMBERED = 2_048
"""Chunks whose terms are kept while building; about 20 MB."""
REMEDY = "build it again with `snapshot index`"


class Bm25Info(IndexInfo):
    """Description of an index."""

    settings: Bm25Settings
    analyses: tuple[str, ...]
    """Analyses of its chunks, in order of name."""
    versions: dict[str, str]
    """Versions of bm25s, whose format it is, and of PyStemmer."""
    n_terms: int
    n_postings: int
    mean_length: float
    """Words of a chunk."""

    @field_validator("analyses")
    @classmethod
    def _check_analyses(cls, analyses: tuple[str, ...]) -> tuple[str, ...]:
        if not {PLAIN, *SNOWBALL.values()}.issuperset(analyses):
            raise ValueError("an analysis that is none")
        return analyses


class _Vocabulary:
    """Numbers terms in the order in which they are first met."""

    def __init__(self, stemming: bool) -> None:
        self.ids: dict[str, int] = {}
        self._stemming = stemming
        self._analysers: dict[str, Analyser] = {}
        self._words: dict[str, dict[str, int]] = {}
        """By analysis: each word is stemmed once."""
        # Many addresses may hold one text, whose chunks come again and again.
        self.counts = lru_cache(maxsize=_REMEMBERED)(self._counts)

    @property
    def analyses(self) -> tuple[str, ...]:
        return tuple(sorted(self._analysers))

    def _counts(self, language: str, text: str) -> Counter[int]:
        """Count the terms of a chunk by id, in order of occurrence."""
        analysis = analysis_of(language) if self._stemming else PLAIN
        if analysis not in self._analysers:
            self._analysers[analysis] = Analyser(analysis)
            self._words[analysis] = {}
        known, analyser = self._words[analysis], self._analysers[analysis]
        ids: list[int] = []
        for word in tokenise(text):
            number = known.get(word)
            if number is None:
                number = known[word] = self.ids.setdefault(analyser.term(word), len(self.ids))
            ids.append(number)
        return Counter(ids)


def build_bm25(
    chunks: Iterable[ChunkText], folder: Path, settings: Bm25Settings | None = None, *, run: int = RUN
) -> Bm25Info:
    """Build an index in `folder`, which is replaced if it holds one.

    Args:
        chunks: read once, in the order that gives them their rows.
        folder: of this index alone.
        settings: of the formula and of the terms.
        run: postings held in memory at once; changes no byte of the index.

    Raises:
        IndexExists: `folder` holds something that is no index.
    """
    settings = settings or Bm25Settings()
    stream = ChunkDigest(chunks)
    vocabulary = _Vocabulary(settings.stemming)
    with building(Path(folder)) as part:
        spill = part / "runs"
        spill.mkdir()
        runs = PostingRuns(spill, run)
        lengths, frequencies = array("q"), array("q")
        for row, chunk in enumerate(stream):
            counts = vocabulary.counts(chunk.language, chunk.text)
            lengths.append(counts.total())
            frequencies.frombytes(bytes(8 * (len(vocabulary.ids) - len(frequencies))))
            for term in counts:
                frequencies[term] += 1
            runs.add(row, np.fromiter(counts.keys(), np.int32), np.fromiter(counts.values(), np.int32))
        weights = Weights(settings, np.array(lengths, np.int64), np.array(frequencies, np.int64))
        _write_arrays(part, weights, runs)
        shutil.rmtree(spill)
        _write_json(part / "vocab.index.json", vocabulary.ids, indent=None)
        _write_json(part / "params.index.json", _params(settings, stream.n_chunks), indent=4)
        info = Bm25Info(
            kind=KIND,
            n_chunks=stream.n_chunks,
            chunks_digest=stream.hexdigest,
            files=sizes(part),
            settings=settings,
            analyses=vocabulary.analyses,
            versions={"bm25s": version("bm25s"), "PyStemmer": stemmer_version()},
            n_terms=len(vocabulary.ids),
            n_postings=int(weights.frequencies.sum()),
            mean_length=weights.mean_length,
        )
        write_info(part, info)
    return info


def _write_arrays(part: Path, weights: Weights, runs: PostingRuns) -> None:
    total = int(weights.frequencies.sum())
    with (
        (part / "data.csc.index.npy").open("wb") as data,
        (part / "indices.csc.index.npy").open("wb") as indices,
    ):
        write_npy_header(data, np.dtype(np.float32), total)
        write_npy_header(indices, np.dtype(np.int32), total)
        for postings in runs.by_term(weights.frequencies):
            weights.of(postings).tofile(data)
            postings.rows.tofile(indices)
    np.save(part / "indptr.csc.index.npy", np.concatenate([[0], np.cumsum(weights.frequencies)]))
    if weights.settings.method == "bm25+":
        np.save(part / "nonoccurrence_array.index.npy", weights.nonoccurrence())


def _params(settings: Bm25Settings, n_chunks: int) -> dict[str, Any]:
    """Return the parameters that `bm25s` reads from an index."""
    return {
        "k1": settings.k1,
        "b": settings.b,
        "delta": settings.delta,
        "method": settings.method,
        "idf_method": settings.method,
        "dtype": "float32",
        "int_dtype": "int32",
        "num_docs": n_chunks,
        "version": version("bm25s"),
        "backend": "numpy",
    }


def _write_json(path: Path, value: dict[str, Any], indent: int | None) -> None:
    with path.open("w", encoding="utf-8") as file:
        json.dump(value, file, ensure_ascii=False, indent=indent)


def _check_files(folder: Path, info: Bm25Info) -> None:
    """Raises ValueError if a file is not of the form in which it was written: `bm25s` takes what it finds.

    And OSError, RecursionError and TypeError where one cannot be read.
    """
    data = json.loads(read_file(folder / "params.index.json"))
    arrays = [
        ("data.csc.index.npy", np.float32, info.n_postings),
        ("indices.csc.index.npy", np.int32, info.n_postings),
        ("indptr.csc.index.npy", np.int64, info.n_terms + 1),
    ]
    if info.settings.method == "bm25+":
        arrays.append(("nonoccurrence_array.index.npy", np.float32, info.n_terms))
    if not all(holds_array(folder / name, dtype, n) for name, dtype, n in arrays):
        raise ValueError("an array of another form")
    if {**data, "version": ""} != {**_params(info.settings, info.n_chunks), "version": ""}:
        raise ValueError("parameters of another index")


def _check_parts(info: Bm25Info, retriever: Any) -> None:
    """Raises ValueError if the parts of an index contradict each other: a search would fail, or name other chunks."""
    starts, rows = retriever.scores["indptr"], retriever.scores["indices"]
    n, terms = len(rows), sorted(retriever.vocab_dict.values())
    whole = (
        n == info.n_postings == len(retriever.scores["data"])
        and retriever.scores["num_docs"] == info.n_chunks
        and len(starts) == info.n_terms + 1
        and (starts[0], starts[-1]) == (0, n)
        and bool((np.diff(starts) >= 0).all())
        and terms == list(range(info.n_terms))
        and (n == 0 or 0 <= int(rows.min()) <= int(rows.max()) < info.n_chunks)
        and bool(np.isfinite(retriever.scores["data"]).all())
    )
    if not whole:
        raise ValueError("parts of different indexes")


class Bm25Index:
    """An index opened for searching. Make one with `Bm25Index.open`."""

    def __init__(self, info: Bm25Info, retriever: Any) -> None:
        self.info = info
        self._retriever = retriever
        self._vocabulary: dict[str, int] = retriever.vocab_dict
        self._query = QueryAnalyser(info.analyses)
        self._constants: npt.NDArray[np.float32] | None = retriever.nonoccurrence_array
        # Added to the hits alone, below: on all chunks it would make every chunk one.
        retriever.nonoccurrence_array = None

    @classmethod
    def open(cls, folder: Path) -> Bm25Index:
        """Map the arrays of an index; only its vocabulary is read.

        Raises:
            IndexMissing, IndexDamaged: see `folder.read_info`.
            IndexMismatch: its chunks were stemmed by another version of PyStemmer.
        """
        folder = Path(folder)
        info = read_info(folder, KIND, Bm25Info.model_validate, REMEDY)
        built, here = info.versions.get("PyStemmer"), stemmer_version()
        if built != here and any(analysis != PLAIN for analysis in info.analyses):
            raise IndexMismatch(
                f"{folder} was stemmed by PyStemmer {built} and {here} is installed: "
                f"pip install 'PyStemmer=={built}', or {REMEDY}"
            )
        library: Any = importlib.import_module("bm25s")
        try:
            _check_files(folder, info)
            retriever = library.BM25.load(folder, mmap=True, show_progress=False)
            scores: dict[str, Any] = retriever.scores
            for name in ("data", "indices", "indptr"):
                scores[name] = np.asarray(scores[name])  # mapped still, without the cost of numpy's subclass
            _check_parts(info, retriever)
        except (OSError, EOFError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise IndexDamaged(f"{folder} is not an index that bm25s can read; {REMEDY}") from None
        return cls(info, retriever)

    def terms(self, query: str) -> list[str]:
        """The terms of a query that the index knows, in order, repeated as they are."""
        return [term for term in self._query.terms(query) if term in self._vocabulary]

    def rarity(self, query: str) -> dict[str, float]:
        """Return the weight of each distinct word of a query: `ln(1 + (N - n + 0.5) / (n + 0.5))`, more than 0.

        N is the number of chunks and n the number of those that hold the word, in the form that most of them hold
        where the analyses of the index give it several: 0 for a word that the index does not know.
        """
        starts: npt.NDArray[np.int64] = self._retriever.scores["indptr"]
        found: dict[str, float] = {}
        for word in dict.fromkeys(tokenise(query)):
            known = [self._vocabulary[term] for term in self.terms(word)]
            n = max((int(starts[term + 1] - starts[term]) for term in known), default=0)
            found[word] = math.log(1 + (self.info.n_chunks - n + 0.5) / (n + 0.5))
        return found

    def search(self, queries: Sequence[str], k: int, mask: Mask | None = None) -> list[Ranked]:
        """The `k` best chunks for each query: those that share a term, best first, ties in order of row.

        Args:
            queries: any text in any language; one that shares no term with any chunk finds nothing.
            k: at least 1.
            mask: chunks that may be found. The answer is the ranking without it, restricted: weights are those of
                the whole index.

        Returns:
            One ranking a query, in the order of `queries`.

        Raises:
            ValueError: `k` or `mask` is not such.
        """
        check_search(k, self.info.n_chunks, mask)
        excluded = None if mask is None else ~mask
        return [self._search(query, k, excluded) for query in queries]

    def _search(self, query: str, k: int, excluded: Mask | None) -> Ranked:
        ids = [self._vocabulary[term] for term in self.terms(query)]
        if not ids:
            return Ranked.nothing()
        scores: npt.NDArray[np.float32] = self._retriever.get_scores_from_ids(ids)
        if excluded is not None:
            scores[excluded] = 0
        rows = best_positive(scores, k)
        found = scores[rows]
        if self._constants is not None:
            found += self._constants[ids].sum()
        return Ranked(rows, found.astype(np.float64))
