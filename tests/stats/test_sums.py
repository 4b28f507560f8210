"""Sums of floats do not depend on the version of Python."""

from __future__ import annotations

from local_judge.stats.sums import sum_in_order


def test_each_step_is_rounded() -> None:
    # 0.1 + … + 0.1, ten times, in doubles; Python's `sum` gives 1.0 since 3.12
    assert sum_in_order([0.1] * 10) == 0.9999999999999999
    assert sum_in_order(iter([1.2, 1.2, 5.7, 1.2])) == ((1.2 + 1.2) + 5.7) + 1.2


def test_no_values_sum_to_0_and_whole_numbers_stay_whole() -> None:
    assert sum_in_order([]) == 0
    assert repr(sum_in_order([1, 2])) == "3"
