"""Paired differences: known values of the mean, the interval and the p-value."""

from __future__ import annotations

import math

import pytest

from local_judge.stats.paired import Pair, corrected, paired_difference


def test_the_interval_of_two_tasks_has_their_differences_as_ends() -> None:
    """Differences 1 and 3: the mean is 2. A draw of two tasks has the mean 1 (chance 1/4), 2 (1/2) or 3 (1/4), so that
    the 2.5th percentile of many draws is 1 and the 97.5th is 3."""
    found = paired_difference([Pair("a", 1.0, 2.0), Pair("b", 0.5, 3.5)])
    assert (found.n, found.n_tasks, found.first, found.second) == (2, 2, 0.75, 2.75)
    assert (found.value, found.low, found.high) == (2.0, 1.0, 3.0)
    assert found.p is None, "six tasks are needed"


def test_tasks_are_drawn_whole_and_reports_weigh_alike() -> None:
    """Task a has two reports with difference 1, task b one with 4: (1 + 1 + 4) / 3 = 2. Draws: aa 1, ab 2, bb 4."""
    found = paired_difference([Pair("a", 0.0, 1.0), Pair("a", 1.0, 2.0), Pair("b", 0.0, 4.0)])
    assert (found.value, found.low, found.high, found.n_tasks) == (2.0, 1.0, 4.0, 2)


def test_pairing_removes_what_tasks_share() -> None:
    """The tasks differ by 100 and the sides always by 0.1: the interval is a point."""
    found = paired_difference([Pair(str(n), 100.0 * n, 100.0 * n + 0.1) for n in range(8)])
    assert (found.value, found.low, found.high) == pytest.approx((0.1, 0.1, 0.1))


def test_the_p_value_of_a_difference_in_every_task() -> None:
    """Of the 64 patterns of signs, two keep all six tasks on one side."""
    found = paired_difference([Pair(str(n), 0.0, 1.0) for n in range(6)])
    assert found.p == 2 / 64
    same = paired_difference([Pair(str(n), 1.0, 1.0) for n in range(6)])
    assert (same.value, same.p) == (0.0, 1.0)


def test_reports_of_a_task_change_sides_together() -> None:
    """Two reports on each of five tasks and one on the sixth are six units, not eleven."""
    pairs = [Pair(str(n % 6), 0.0, 1.0) for n in range(11)]
    assert paired_difference(pairs).p == 2 / 64


def test_holm_corrects_for_all_differences_with_a_p_value() -> None:
    """p = 2 / 64 and 1 of two tests, and none of a third: the smaller one is doubled."""
    certain = paired_difference([Pair(str(n), 0.0, 1.0) for n in range(6)])
    none = paired_difference([Pair(str(n), 1.0, 1.0) for n in range(6)])
    few = paired_difference([Pair("a", 0.0, 1.0)])
    assert [one.p_holm for one in corrected([certain, few, none])] == [4 / 64, None, 1.0]


def test_no_pairs_and_one_task_have_no_interval() -> None:
    empty, one = paired_difference([]), paired_difference([Pair("a", 0.25, 0.5)])
    assert (empty.value, empty.low, empty.n) == (None, None, 0)
    assert (one.value, one.low, one.high, one.p) == (0.25, None, None, None)


def test_sums_are_exact_in_any_order() -> None:
    """0.1 + 0.2 - 0.3 is not 0 in floating point, but the difference is."""
    pairs = [Pair("a", 0.1, 0.3), Pair("b", 0.2, 0.0)]
    assert paired_difference(pairs).value == paired_difference(pairs[::-1]).value == 0.0
    with pytest.raises(ValueError):
        paired_difference([Pair("a", 0.0, math.nan)])
