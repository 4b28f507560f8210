"""Bins, expected calibration error, Brier score."""

from __future__ import annotations

import numpy as np
import pytest

from local_judge.stats.calibration.measures import Cut, Judged, bins, brier_of, columns, ece_of


def claims(*values: tuple[float, bool]) -> list[Judged]:
    return [Judged(true, p, "a") for p, true in values]


FOUR = claims((0.12, False), (0.18, True), (0.9, True), (1.0, True))
"""Two in [0.1, 0.2): mean 0.15, half of them true. Two in [0.9, 1]: mean 0.95, both true."""


def ece(judged: list[Judged], cut: Cut = "width", n_bins: int = 10) -> float:
    return ece_of(*columns(judged), cut, n_bins)


def test_ece_weighs_the_gap_of_each_bin_by_its_claims() -> None:
    # 2/4 x |0.5 - 0.15| + 2/4 x |1 - 0.95| = 0.175 + 0.025
    assert ece(FOUR) == pytest.approx(0.2)
    # Two bins of two claims each are the same ones.
    assert ece(FOUR, "mass", 2) == pytest.approx(0.2)
    # One bin: |3/4 - 0.55|
    assert ece(FOUR, "width", 1) == pytest.approx(0.2)


def test_a_bin_says_what_lies_in_it() -> None:
    found = bins(FOUR)
    assert [one.true.of for one in found] == [0, 2, 0, 0, 0, 0, 0, 0, 0, 2]
    low, high = found[1], found[9]
    assert (low.low, low.high, low.mean, low.true.value) == (0.1, 0.2, pytest.approx(0.15), 0.5)
    # Wilson, 1 of 2: (0.5 + z²/4 -+ z sqrt(1/8 + z²/16)) / (1 + z²/2), z = 1.96: 0.0945 and 0.9055
    assert (low.true.low, low.true.high) == pytest.approx((0.0945, 0.9055), abs=1e-4)
    assert (high.mean, high.true.value) == (pytest.approx(0.95), 1.0)
    assert (found[0].mean, found[0].true.value) == (None, None)


def test_equal_probabilities_stay_in_one_bin_whatever_their_order() -> None:
    same = claims(*[(0.7, True)] * 6, *[(0.7, False)] * 4)
    assert [one.true.of for one in bins(same, "mass")] == [10]
    assert [ece(given, "mass") for given in (same, same[::-1])] == pytest.approx([0.1, 0.1])
    # Nine at 0.2 and one at 0.8: ten bins would cut the nine apart; there are two.
    assert [one.true.of for one in bins(claims(*[(0.2, False)] * 9, (0.8, True)), "mass")] == [9, 1]


def test_brier_is_the_mean_square() -> None:
    # (0.2² + 0.4²) / 2
    assert brier_of(np.array([0.8, 0.4]), np.array([1.0, 0.0])) == pytest.approx(0.1)
