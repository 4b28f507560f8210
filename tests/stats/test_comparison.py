"""Paired differences: known values of the mean, the interval and the p-value."""

from __future__ import annotations

import math

import pytest

from local_judge.stats.comparison import Difference, compare, corrected, mean_contrast


def paired(*pairs: tuple[str, float, float]) -> Difference:
    """Compare pairs of values, each with its task."""
    keys = [(task, place) for place, (task, _, _) in enumerate(pairs)]
    first = {key: pair[1] for key, pair in zip(keys, pairs, strict=True)}
    second = {key: pair[2] for key, pair in zip(keys, pairs, strict=True)}
    return compare(first, second, lambda key: key[0], mean_contrast)


def test_the_interval_of_two_tasks_has_their_differences_as_ends() -> None:
    """Differences 1 and 3: the mean is 2. A draw of two tasks has the mean 1 (chance 1/4), 2 (1/2) or 3 (1/4), so that
    the 2.5th percentile of many draws is 1 and the 97.5th is 3."""
    found = paired(("a", 1.0, 2.0), ("b", 0.5, 3.5))
    assert (found.n, found.n_units, found.first, found.second) == (2, 2, 0.75, 2.75)
    assert (found.value, found.low, found.high) == (2.0, 1.0, 3.0)
    assert found.p is None, "six tasks are needed"


def test_tasks_are_drawn_whole_and_reports_weigh_alike() -> None:
    """Task a has two reports with difference 1, task b one with 4: (1 + 1 + 4) / 3 = 2. Draws: aa 1, ab 2, bb 4."""
    found = paired(("a", 0.0, 1.0), ("a", 1.0, 2.0), ("b", 0.0, 4.0))
    assert (found.value, found.low, found.high, found.n_units) == (2.0, 1.0, 4.0, 2)


def test_pairing_removes_what_tasks_share() -> None:
    """The tasks differ by 100 and the sides always by 0.1: the interval is a point."""
    found = paired(*[(str(n), 100.0 * n, 100.0 * n + 0.1) for n in range(8)])
    assert (found.value, found.low, found.high) == pytest.approx((0.1, 0.1, 0.1))


def test_the_p_value_of_a_difference_in_every_task() -> None:
    """Of the 64 patterns of signs, two keep all six tasks on one side."""
    found = paired(*[(str(n), 0.0, 1.0) for n in range(6)])
    assert found.p == 2 / 64
    same = paired(*[(str(n), 1.0, 1.0) for n in range(6)])
    assert (same.value, same.p) == (0.0, 1.0)


def test_reports_of_a_task_change_sides_together() -> None:
    """Two reports on each of five tasks and one on the sixth are six units, not eleven."""
    pairs = [(str(n % 6), 0.0, 1.0) for n in range(11)]
    assert paired(*pairs).p == 2 / 64


def test_holm_corrects_for_all_differences_with_a_p_value() -> None:
    """p = 2 / 64 and 1 of two tests, and none of a third: the smaller one is doubled."""
    certain = paired(*[(str(n), 0.0, 1.0) for n in range(6)])
    none = paired(*[(str(n), 1.0, 1.0) for n in range(6)])
    few = paired(("a", 0.0, 1.0))
    assert [one.p_holm for one in corrected([certain, few, none])] == [4 / 64, None, 1.0]


def test_no_pairs_and_one_task_have_no_interval() -> None:
    empty, one = paired(), paired(("a", 0.25, 0.5))
    assert (empty.value, empty.low, empty.n) == (None, None, 0)
    assert (one.value, one.low, one.high, one.p) == (0.25, None, None, None)


def test_sums_are_exact_in_any_order() -> None:
    """0.1 + 0.2 - 0.3 is not 0 in floating point, but the difference is."""
    pairs = [("a", 0.1, 0.3), ("b", 0.2, 0.0)]
    assert paired(*pairs).value == paired(*pairs[::-1]).value == 0.0
    with pytest.raises(ValueError):
        paired(("a", 0.0, math.nan))


def test_an_observation_of_one_side_is_counted_and_in_no_number() -> None:
    """Only b is on both sides: 3 - 2. a is on the first side alone, c and d on the second."""
    found = compare({"a": 1.0, "b": 2.0}, {"b": 3.0, "c": 9.0, "d": 9.0}, str, mean_contrast)
    assert (found.value, found.n, found.n_first, found.n_second) == (1.0, 1, 1, 2)
