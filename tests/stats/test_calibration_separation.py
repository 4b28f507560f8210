"""AUC and the choice of a threshold."""

from __future__ import annotations

from random import Random

import pytest

from local_judge.stats.calibration.measures import Judged, auc, best_threshold


def judged(*values: tuple[bool, float], page: str = "a") -> list[Judged]:
    return [Judged(true=true, value=value, page=page) for true, value in values]


def test_auc_counts_pairs_and_ties_as_halves() -> None:
    # true 0.9 0.4, altered 0.4 0.1: pairs 0.9>0.4, 0.9>0.1, 0.4=0.4 (a half), 0.4>0.1: 3.5 of 4
    assert auc(judged((True, 0.9), (True, 0.4), (False, 0.4), (False, 0.1))) == 3.5 / 4
    assert auc(judged((True, 4), (False, 4))) == 0.5
    assert auc(judged((True, 0.9))) is None
    assert auc([]) is None


def test_the_best_threshold_separates_and_lies_in_the_middle() -> None:
    assert best_threshold(judged((True, 0.2), (True, 0.3), (False, 0.1))) == pytest.approx(0.15)
    # 0.5 separates as well as any other, and is nearest to itself
    assert best_threshold(judged((True, 0.9), (False, 0.1))) == 0.5
    assert best_threshold([]) == 0.5


def test_the_objective_decides_what_one_class_is_worth() -> None:
    # Four true claims and one altered. From 0.65 on: 3 of 5 right, but 2/4 of the true and 1/1 of the altered: 0.75.
    # From 0.5 on: 4 of 5 right, 4/4 and 0/1: 0.5.
    claims = judged((True, 0.55), (True, 0.56), (True, 0.8), (True, 0.9), (False, 0.6))
    assert best_threshold(claims, "accuracy") == 0.5
    assert best_threshold(claims, "balanced_accuracy") == pytest.approx(0.7)


def test_both_are_what_counting_gives() -> None:
    random = Random(3)
    claims = judged(*((random.random() < 0.5, round(random.random(), 1)) for _ in range(60)))
    true, altered = ([one.value for one in claims if one.true is kind] for kind in (True, False))
    pairs = [(a > b) + (a == b) / 2 for a in true for b in altered]
    assert auc(claims) == pytest.approx(sum(pairs) / len(pairs))
    cuts = [0.5, *(step / 20 - 0.025 for step in range(23))]

    def right(cut: float) -> int:
        # A value that equals the threshold is called true.
        return sum((one.value >= cut) == one.true for one in claims)

    assert right(best_threshold(claims)) == max(map(right, cuts))
