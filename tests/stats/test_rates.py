"""The exact interval of a number of units from a sample of them."""

from __future__ import annotations

from math import comb

import pytest
from scipy.stats import hypergeom

from local_judge.stats.rates import population_interval


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


@pytest.mark.parametrize(("n", "of", "population"), [(3, 2, 5), (-1, 2, 5), (2, 6, 5)])
def test_what_is_no_sample_is_refused(n: int, of: int, population: int) -> None:
    with pytest.raises(ValueError, match=f"{n} of {of} units of a sample from {population}"):
        population_interval(n, of, population)
