"""AUC, accuracy and the choice of a threshold."""

from __future__ import annotations

import pytest

from scripts.benchmarking.measures import Judged, accuracy, auc, best_threshold, cross_validated


def judged(*values: tuple[bool, float], fold: str = "a") -> list[Judged]:
    return [Judged(true=true, value=value, fold=fold) for true, value in values]


def test_auc_counts_pairs_and_ties_as_halves() -> None:
    # true 0.9 0.4, altered 0.4 0.1: pairs 0.9>0.4, 0.9>0.1, 0.4=0.4 (a half), 0.4>0.1: 3.5 of 4
    assert auc(judged((True, 0.9), (True, 0.4), (False, 0.4), (False, 0.1))) == 3.5 / 4
    assert auc(judged((True, 4), (False, 4))) == 0.5
    assert auc(judged((True, 0.9))) is None


def test_accuracy_at_a_threshold_takes_equal_values_as_true() -> None:
    claims = judged((True, 0.5), (True, 0.49), (False, 0.5), (False, 0.2))
    assert accuracy(claims, 0.5) == 2 / 4
    assert accuracy([], 0.5) is None


def test_the_best_threshold_separates_and_lies_in_the_middle() -> None:
    assert best_threshold(judged((True, 0.2), (True, 0.3), (False, 0.1))) == pytest.approx(0.15)
    # 0.5 separates as well as any other, and is nearest to itself
    assert best_threshold(judged((True, 0.9), (False, 0.1))) == 0.5


def test_the_threshold_of_a_page_comes_from_the_other_pages() -> None:
    low = judged((True, 0.2), (False, 0.1), fold="low")
    high = judged((True, 0.9), (False, 0.8), fold="high")
    called, thresholds = cross_validated([*low, *high])
    # folds by name: "high" is judged at the middle of 0.1 and 0.2, "low" at that of 0.8 and 0.9
    assert thresholds == pytest.approx([0.15, 0.85])
    assert called == [False, False, True, True]
