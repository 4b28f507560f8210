"""Ties, test-retest and perturbed reports of two scoring methods."""

from __future__ import annotations

import pytest

from scripts.benchmarking.scale_report import Scores, paired, scale_report

PERTURBED = {"a": ["a~"], "b": ["b~"]}
WRITTEN: Scores = {
    ("a", "1"): 7,
    ("a", "2"): 8,
    ("a~", "1"): 7,
    ("a~", "2"): 6,
    ("b", "1"): 7,
    ("b", "2"): 5,
    ("b~", "1"): 8,
    ("b~", "2"): None,
}
EXPECTED: Scores = {
    ("a", "1"): 7.4,
    ("a", "2"): 7.9,
    ("a~", "1"): 6.9,
    ("a~", "2"): 6.2,
    ("b", "1"): 7.1,
    ("b", "2"): 5.1,
    ("b~", "1"): 7.3,
    ("b~", "2"): 4.8,
}


def test_ties_are_of_pairs_of_reports_on_one_item() -> None:
    ties = scale_report("sampled", WRITTEN, PERTURBED, draws=0).ties
    # Item 1: 7 7 7 8, 6 pairs, 3 tied. Item 2: 8 6 5, 3 pairs, none.
    assert (ties.tied.n, ties.tied.of, ties.distinct) == (3, 9, 4)
    assert scale_report("expected", EXPECTED, PERTURBED, draws=0).ties.tied.n == 0


def test_a_report_is_preferred_to_its_twin() -> None:
    found = scale_report("sampled", WRITTEN, PERTURBED, seed=1, draws=100)
    items = found.items
    # a: 7-7 tied, 8-6 above; b: 7-8 below, 5-? failed. (1 + 1/2) / 3; differences 0, 2, -1
    assert (items.n, items.n_failed, items.n_above, items.n_tied, items.n_below) == (3, 1, 1, 1, 1)
    assert items.value == pytest.approx(0.5)
    assert items.mean_difference == pytest.approx(1 / 3)
    # Standard deviation of 0, 2, -1: sqrt(((1/3)² + (5/3)² + (4/3)²) / 2) = sqrt(42 / 18)
    assert items.effect == pytest.approx((1 / 3) / (42 / 18) ** 0.5)
    # By report: a 15/2 - 13/2 = 1, b -1
    assert (found.reports.n_above, found.reports.n_below, found.reports.value) == (1, 1, 0.5)
    assert (found.n_expected, found.n_failed) == (8, 1)
    # Draws of two reports: a alone 0.75, b alone 0, both 0.5.
    assert (items.low, items.high) == (0.0, 0.75)


def test_the_second_way_is_compared_on_what_both_have() -> None:
    # Expected: a 7.4 > 6.9, 7.9 > 6.2, b 7.1 < 7.3. Written: tie, above, below. (1 - 0.5) + 0 + 0, over 3.
    found = paired(("expected", EXPECTED), ("sampled", WRITTEN), PERTURBED, draws=0)
    assert (found.n, found.difference) == (3, pytest.approx(0.5 / 3))
    assert (found.first, found.second) == ("expected", "sampled")


def test_a_second_run_says_what_repeats() -> None:
    again: Scores = {**WRITTEN, ("a", "1"): 8, ("b", "2"): None}
    retest = scale_report("sampled", WRITTEN, PERTURBED, again, draws=0).retest
    assert retest is not None
    # Six items have both scores; one differs, by 1.
    assert (retest.same.n, retest.same.of, retest.mean_difference) == (5, 6, pytest.approx(1 / 6))
    # x: 7 8 7 6 7 8, y: 8 8 7 6 7 8; sums of products about the means 43/6 and 44/6: 2.667, 2.833, 3.333
    assert retest.pearson == pytest.approx(2.6667 / (2.8333 * 3.3333) ** 0.5, abs=1e-3)
    assert retest.icc is not None and 0.8 < retest.icc < 1
    same = scale_report("expected", EXPECTED, PERTURBED, EXPECTED, draws=0).retest
    assert same is not None and (same.same.value, same.mean_difference, same.icc) == (1.0, 0.0, 1.0)


def test_constant_scores_have_no_correlation_and_no_effect() -> None:
    flat: Scores = dict.fromkeys(WRITTEN, 8.0)
    found = scale_report("sampled", flat, PERTURBED, flat, draws=0)
    assert found.retest is not None
    assert (found.retest.pearson, found.retest.icc, found.retest.same.value) == (None, None, 1.0)
    assert (found.items.value, found.items.effect, found.ties.tied.value) == (0.5, None, 1.0)


def test_without_twins_or_scores_there_is_nothing_to_say() -> None:
    found = scale_report("sampled", {}, PERTURBED, {}, draws=10)
    assert (found.items.n, found.items.value, found.ties.tied.value) == (0, None, None)
    assert found.retest is not None and found.retest.mean_difference is None


def test_a_twin_that_the_run_has_no_scores_of_is_counted_as_failed() -> None:
    scores = {("a", "c"): 7.0, ("a~1", "c"): 5.0}
    found = scale_report("sampled", scores, {"a": ["a~1", "a~2"], "b": ["b~1"]})
    # a and a~1 alone can be compared; a~2, and b with b~1, crashed or were not run.
    assert (found.reports.n, found.reports.n_failed, found.reports.n_above) == (1, 2, 1)
