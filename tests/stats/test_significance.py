"""P-values of sign flips, and Holm's correction."""

from __future__ import annotations

import math

import numpy as np
import pytest

from local_judge.stats.comparison import compare, mean_contrast
from local_judge.stats.estimate import FLIPS, SIGNIFICANT, holm, sign_flip_p


def test_six_equal_signs_have_the_p_value_of_the_sign_test() -> None:
    """Of 2^6 patterns, only none and all flipped are as far from 0."""
    assert sign_flip_p([1, 2, 1, 4, 1, 1]) == 2 / 64


def test_patterns_that_reach_the_sum_count_on_both_sides() -> None:
    """|sum| >= 3 for six differences of 1, one of them negative: sum 4. At most one sign differs from the others in
    1 + 6 patterns, and in their opposites."""
    assert sign_flip_p([1, 1, 1, 1, 1, -1]) == 14 / 64


def test_no_difference_at_all_has_p_one() -> None:
    assert sign_flip_p([0] * 6) == 1.0
    assert sign_flip_p([0] * 40) == 1.0


def test_five_units_are_too_few_for_a_p_value() -> None:
    assert sign_flip_p([1] * 5) is None


def test_many_units_have_the_least_p_value_that_the_patterns_drawn_allow() -> None:
    assert sign_flip_p([1] * 200) == 1 / (1 + FLIPS)


def test_drawn_patterns_come_near_the_exact_value() -> None:
    """14 units are enumerated; with a difference of 0 as the fifteenth unit, patterns are drawn, and the exact value is
    the same. Its error is at most 4 standard errors: 4 sqrt(p (1 - p) / 9999)."""
    differences = [3, -1, 4, 1, -5, 9, 2, 6, -5, 3, 5, 8, -9, 7]
    exact, drawn = sign_flip_p(differences), sign_flip_p([*differences, 0])
    assert exact is not None and drawn is not None
    assert drawn == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / FLIPS))
    assert drawn == sign_flip_p([*differences, 0]), "equal seeds give equal values"


def test_sums_beyond_the_floats_are_exact() -> None:
    """A unit of 2^60 and 1 seven times: only patterns with all eight signs equal are as far from 0."""
    assert sign_flip_p([2**60, *[1] * 7]) == 2 / 256


@pytest.mark.parametrize("skewed", [False, True])
def test_without_a_difference_few_tasks_are_rarely_significant(skewed: bool) -> None:
    """Both sides of six tasks have the same distribution, so that p <= 0.05 may come in 5 % of the experiments; with
    2^6 patterns it comes in 2 of 64. The bound is 5 % and 3 standard errors of 2,000 experiments, sqrt(0.05 0.95 / n).
    """
    n, rng = 2_000, np.random.RandomState(7)
    found = 0
    for _ in range(n):
        sides = rng.exponential(size=(6, 2)) if skewed else rng.normal(size=(6, 2))
        first, second = ({task: float(value) for task, value in enumerate(side)} for side in sides.T)
        p = compare(first, second, str, mean_contrast, draws=0).p
        found += p is not None and p <= SIGNIFICANT
    assert found / n <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / n)
    assert found / n == pytest.approx(2 / 64, abs=3 * math.sqrt(2 / 64 * 62 / 64 / n))


def test_holm_of_three() -> None:
    # 0.01 x 3; 0.03 x 2; 0.04 x 1 is less than what came before it.
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])


def test_holm_counts_only_what_was_tested_and_ends_at_one() -> None:
    assert holm([None, 0.6, 0.7]) == [None, 1.0, 1.0]
    assert holm([0.04, None]) == [0.04, None]


def test_patterns_drawn_in_blocks_are_those_of_one_call() -> None:
    differences = [*range(1, 15), -15, 16, -17]
    signs = 1 - 2 * np.random.RandomState(3).randint(0, 2, (FLIPS, 17), np.uint8).astype(int)
    extreme = int((abs(signs @ differences) >= sum(differences)).sum())
    assert sign_flip_p(differences, seed=3) == (1 + extreme) / (1 + FLIPS)
