"""Exact intervals of a number of units from a sample of them, and intervals from several samples."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from scipy.stats import hypergeom

from local_judge.stats.rates import Stratum, population_interval, stratified_interval


@pytest.mark.parametrize(
    ("n", "of", "population", "interval"),
    [
        # P(X = 0 | M) = C(10 - M, 5) / 252: 21/252 for 3, 6/252 = 0.0238 for 4.
        (0, 5, 10, (0, 3)),
        (5, 5, 10, (7, 10)),
        # P(X <= 1 | M): 26/252 for 5, 6/252 for 6.
        (1, 5, 10, (1, 5)),
        # P(X >= 2 | M) = C(M, 2) / C(5, 2) = 1/10 for 2.
        (2, 2, 5, (2, 5)),
        # P(X = 1 | M) = M / 100: 0.02 for 2, 0.03 for 3.
        (1, 1, 100, (3, 100)),
        # 1 of 40 is 0.025 itself, and is out.
        (1, 1, 40, (2, 40)),
        # All units, and none.
        (7, 10, 10, (7, 7)),
        (0, 0, 4, (0, 4)),
        (0, 0, 0, (0, 0)),
    ],
)
def test_known_intervals(n: int, of: int, population: int, interval: tuple[int, int]) -> None:
    assert population_interval(n, of, population) == interval


@pytest.mark.parametrize(("of", "population"), [(1, 7), (6, 24), (12, 40), (23, 24)])
def test_of_all_samples_at_least_95_percent_hold_the_truth(of: int, population: int) -> None:
    intervals = [population_interval(n, of, population) for n in range(of + 1)]
    for truth in range(population + 1):
        ways = sum(
            comb(truth, n) * comb(population - truth, of - n)
            for n, (least, most) in enumerate(intervals)
            if least <= truth <= most
        )
        assert 20 * ways >= 19 * comb(population, of), truth


def test_it_has_the_numbers_whose_tails_scipy_finds_above_a_fortieth() -> None:
    for n, of, population in ((4, 6, 24), (12, 18, 24), (3, 10, 50), (30, 100, 400)):
        inside = [
            truth
            for truth in range(population + 1)
            if hypergeom.sf(n - 1, population, truth, of) > 0.025
            and hypergeom.cdf(n, population, truth, of) > 0.025
        ]
        assert population_interval(n, of, population) == (inside[0], inside[-1])
        assert len(inside) == inside[-1] - inside[0] + 1


@pytest.mark.parametrize(
    ("strata", "interval"),
    [
        # One stratum is drawn in part, two as a whole: exact.
        ([(1, 5, 10), (3, 4, 4), (0, 2, 2)], (1 + 3, 5 + 3)),
        ([(3, 4, 4), (0, 0, 0)], (3, 3)),
        ([], (0, 0)),
        # p = (0.8 + 0.3) / 2 = 0.55; s^2 = 10 * 0.16 / 9 and 10 * 0.21 / 9; v = 0.02 * 0.41111 = 0.0082222, since
        # W^2 (1 - f) / n = 0.25 * 0.8 / 10; n' = 0.2475 / v = 30.101. Wilson: 0.54434 -+ 0.16746.
        ([(8, 10, 50), (3, 10, 50)], (37, 72)),
        # p = 0.9; q = 11/12, s^2 = 11/144 = 0.076389 for the first, 10 * 0.16 / 9 for the other: v = 0.0050833,
        # n' = 0.09 / v = 17.705. Wilson: (1.008485 -+ 0.176900) / 1.216971 = 0.683 to 0.974.
        ([(10, 10, 50), (8, 10, 50)], (68, 98)),
        # p = 1: n' = 1 / (0.02 + 0.02) = 25. Wilson: 1 / (1 + 3.8415 / 25) = 0.86681.
        ([(10, 10, 50), (10, 10, 50)], (86, 100)),
        # Two of 147 are not drawn: 50 at least. The formula's upper end is 50.42.
        ([(1, 48, 49), (49, 49, 49), (0, 48, 49)], (50, 51)),
    ],
)
def test_known_intervals_of_several_samples(
    strata: list[tuple[int, int, int]], interval: tuple[float, float]
) -> None:
    assert stratified_interval([Stratum(*one) for one in strata]) == interval


@pytest.mark.parametrize(
    "design",
    [
        # Strata as (share, drawn, population).
        [(0.8, 5, 40), (0.9, 5, 20)],
        [(0.9, 10, 100), (0.1, 9, 10)],
        [(0.95, 10, 80), (0.6, 10, 60), (0.3, 10, 90)],
        [(0.5, 5, 500), (0.95, 5, 20), (0.95, 5, 20)],
        [(0.98, 10, 50)] * 4,
        [(0.9, 5, 30)] * 10,
        [(0.05, 5, 40), (0.95, 5, 80)] * 5,
        [(0.7, 1, 20)] * 20,
        [(0.9, 10, 60)] * 40,
    ],
)
def test_the_interval_of_several_samples_covers_the_truth(design: list[tuple[float, int, int]]) -> None:
    draws = np.random.default_rng(0)
    hits = [round(share * population) for share, _, population in design]
    n_covered, n = 0, 1000
    for _ in range(n):
        strata = [
            Stratum(int(draws.hypergeometric(right, population - right, of)), of, population)
            for right, (_, of, population) in zip(hits, design, strict=True)
        ]
        low, high = stratified_interval(strata)
        n_covered += low <= sum(hits) <= high
    # 95 %, less two standard errors of 1,000 trials.
    assert n_covered / n >= 0.936


@pytest.mark.parametrize(("n", "of", "population"), [(3, 2, 5), (-1, 2, 5), (2, 6, 5)])
def test_what_is_no_sample_is_refused(n: int, of: int, population: int) -> None:
    with pytest.raises(ValueError, match=f"{n} of {of} units of a sample from {population}"):
        population_interval(n, of, population)
    with pytest.raises(ValueError, match=f"{n} of {of} units of a sample from {population}"):
        stratified_interval([Stratum(1, 2, 4), Stratum(n, of, population)])
