"""Shares with their intervals.

Invariant: a share of nothing is None and never 0 or 1, and stands beside the counts that it was computed from.
"""

from __future__ import annotations

import math
from bisect import bisect_left

from serving.types import Frozen

Z = 1.959963984540054
"""The normal quantile of a two-sided interval of 95 %."""


TAIL = 40
"""One of so many: the share of each tail outside of an interval of 95 %."""


class Rate(Frozen):
    """A share with its interval."""

    n: int
    of: int
    value: float | None
    low: float | None
    high: float | None


def rate(n: int, of: int) -> Rate:
    """`n` of `of` with Wilson's interval of 95 %, which stays inside [0, 1] and does not shrink to a point at its ends.

    (p + z²/2N ± z √(p(1 - p)/N + z²/4N²)) / (1 + z²/N)        p = n/N
    """
    if of == 0:
        return Rate(n=n, of=of, value=None, low=None, high=None)
    p, square = n / of, Z * Z / of
    centre, spread = p + square / 2, Z * math.sqrt(p * (1 - p) / of + square / (4 * of))
    low = 0.0 if n == 0 else (centre - spread) / (1 + square)
    high = 1.0 if n == of else (centre + spread) / (1 + square)
    return Rate(n=n, of=of, value=p, low=low, high=high)


def population_interval(n: int, of: int, population: int) -> tuple[int, int]:
    """Return the bounds of how many units have a property that `n` of a simple random sample of `of` units have.

    An interval of 95 %. The sample is drawn without replacement, so that it settles its own units, and a sample of all
    units settles all.
    Clopper and Pearson's interval on the hypergeometric distribution (Konijn, Statistical Theory of Sample Survey
    Design and Analysis, 1973), exact: over all samples it holds the true number in at least 95 %. It has each M with

        P(X >= n | M) > 0.025 and P(X <= n | M) > 0.025      P(X = k | M) = C(M, k) C(N - M, of - k) / C(N, of)

    Args:
        n: units of the sample with the property.
        of: units of the sample.
        population: N, all units.

    Raises:
        ValueError: not 0 <= n <= of <= population.
    """
    if not 0 <= n <= of <= population:
        raise ValueError(f"{n} of {of} units of a sample from {population}")
    return _least(n, of, population), population - _least(of - n, of, population)


def _least(n: int, of: int, population: int) -> int:
    """Return the smallest M with P(X >= n | M) > 1 / TAIL, in integers; the probability grows with M."""
    samples = math.comb(population, of)

    def likely(most: int) -> bool:
        ways = sum(math.comb(most, k) * math.comb(population - most, of - k) for k in range(n, of + 1))
        return TAIL * ways > samples

    possible = range(n, population - of + n + 1)
    return possible[bisect_left(possible, True, key=likely)]
