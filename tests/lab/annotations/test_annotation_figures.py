"""Shares, intervals, similarities and matchings with known values."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

import numpy as np
import pytest

from indexes.search.encoder import EncoderIdentity
from indexes.search.model import Vectors
from local_judge.lab.annotations.extraction import assign, binary, dense, lexical
from local_judge.stats.rates import balanced_accuracy, mean, rate


def test_wilson_interval() -> None:
    # p = 0.8, N = 10, z² = 3.841459: centre 0.8 + 0.192073 = 0.992073, spread 1.959964 x sqrt(0.016 + 0.0096036)
    # = 0.313617, divisor 1.384146: (0.678456, 1.305690) / 1.384146.
    found = rate(8, 10)
    assert (found.n, found.of, found.value) == (8, 10, 0.8)
    assert found.low == pytest.approx(0.490162, abs=1e-6)
    assert found.high == pytest.approx(0.943318, abs=1e-6)
    # At the ends one side is closed: n = N = 10 gives N / (N + z²).
    assert (rate(10, 10).high, rate(0, 10).low) == (1.0, 0.0)
    assert rate(10, 10).low == pytest.approx(10 / 13.841459, abs=1e-6)
    nothing = rate(0, 0)
    assert (nothing.value, nothing.low, nothing.high) == (None, None, None)


def test_binary_figures() -> None:
    # TP 3, FN 1, FP 2, TN 4: accuracy 7/10, F1 6/9.
    found = binary([(True, True)] * 3 + [(True, False)] + [(False, True)] * 2 + [(False, False)] * 4)
    assert (found.tp, found.fn, found.fp, found.tn, found.accuracy.value) == (3, 1, 2, 4, 0.7)
    assert found.f1 == pytest.approx(2 / 3)
    # Without a positive by the annotation nothing can be recalled.
    assert binary([(False, True), (False, False)]).f1 is None
    assert binary([]).accuracy.value is None


def test_balanced_accuracy_is_the_mean_over_both_classes() -> None:
    # 3 of 4 true items and 4 of 6 others.
    assert balanced_accuracy(3, 4, 4, 6) == pytest.approx(17 / 24)
    assert balanced_accuracy(0, 0, 4, 6) is None and balanced_accuracy(3, 4, 0, 0) is None


def test_mean_is_of_what_there_is() -> None:
    assert mean([1.0, None, 0.0]) == 0.5
    assert mean([None]) is None and mean([]) is None


def test_lexical_similarity() -> None:
    # "abcd" and "abce": two of three bigrams, one of two trigrams: (2 x 2/6 + 2 x 1/4) / 2.
    assert lexical(["Ab, cd"], ["ABCE!"])[0][0] == pytest.approx((2 / 3 + 1 / 2) / 2)
    # Full-width figures and punctuation are those of ASCII; order of the two texts does not matter.
    assert lexical(["２０２１年，首飞"], ["2021年首飞"]) == [[1.0]]
    assert lexical(["雨水花园建成"], ["花园"]) == lexical(["花园"], ["雨水花园建成"])
    # Chinese: 雨水 水花 花园 against 雨水 水池: 2 x 1/5; trigrams 雨水花 水花园 against 雨水池: 0.
    assert lexical(["雨水花园"], ["雨水池"])[0][0] == pytest.approx(0.2)
    # Repetitions count as often as they stand: aaa has bigrams aa, aa and one trigram, aa has one bigram.
    assert lexical(["aaa"], ["aa"])[0][0] == pytest.approx((2 / 3 + 0) / 2)
    assert lexical(["a", ""], ["a", "b"]) == [[1.0, 0.0], [0.0, 0.0]]
    assert lexical([], ["a"]) == []


class Letters:
    """Vectors of length one: how often a and b stand in a text."""

    dimension = 2
    identity = EncoderIdentity(model="letters", revision="1")

    def encode_documents(self, texts: Sequence[str]) -> Vectors:
        counts = np.array([[text.count("a"), text.count("b")] for text in texts], np.float32)
        return counts / np.linalg.norm(counts, axis=1, keepdims=True)

    encode_queries = encode_documents


def test_dense_similarity_is_the_cosine() -> None:
    # (3, 4) / 5 with (1, 0) and (0, 1).
    assert dense(Letters())(["aaabbbb"], ["a", "b"]) == [[0.6, 0.8]]
    assert dense(Letters())([], ["a"]) == [] and dense(Letters())(["a"], []) == [[]]


def test_the_matching_has_the_most_pairs_and_then_the_greatest_sum() -> None:
    # Greedy would take 0.9 and leave row 1 alone.
    assert [m[:2] for m in assign([[0.9, 0.6], [0.8, 0.1]], 0.5)] == [(0, 1), (1, 0)]
    # Both ways give two pairs: 0.9 + 0.6 beats 0.7 + 0.7.
    assert [m[:2] for m in assign([[0.9, 0.7], [0.7, 0.6]], 0.5)] == [(0, 0), (1, 1)]
    assert assign([[0.4, 0.3]], 0.5) == () and assign([], 0.5) == () and assign([[], []], 0.5) == ()
    assert [m[:2] for m in assign([[0.5], [0.5]], 0.5)] == [(0, 0)]


def test_the_matching_is_that_of_trying_everything() -> None:
    source = random.Random(7)
    for _ in range(60):
        n, m = source.randint(1, 4), source.randint(1, 5)
        figures = [[round(source.random(), 2) for _ in range(m)] for _ in range(n)]
        best = (0, 0.0)
        for columns in itertools.product((None, *range(m)), repeat=n):
            used = [column for column in columns if column is not None]
            chosen = [figures[row][column] for row, column in enumerate(columns) if column is not None]
            if len(set(used)) == len(used) and all(figure >= 0.4 for figure in chosen):
                best = max(best, (len(chosen), round(sum(chosen), 6)))
        found = assign(figures, 0.4)
        assert (len(found), round(sum(match.similarity for match in found), 6)) == best
