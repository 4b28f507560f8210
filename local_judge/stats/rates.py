"""Shares with their intervals.

Invariant: a share of nothing is None and never 0 or 1, and stands beside the counts that it was computed from.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from local_judge.base.model import Frozen

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
    low, high = _wilson(n / of, of)
    return Rate(n=n, of=of, value=n / of, low=0.0 if n == 0 else low, high=1.0 if n == of else high)


def share(part: float, whole: float) -> float | None:
    """Return `part / whole`, or None if `whole` is 0."""
    return part / whole if whole else None


def mean(values: Sequence[float | None]) -> float | None:
    """Return the mean of the values that are not None, or None if there are none."""
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None


def balanced_accuracy(true_right: int, n_true: int, false_right: int, n_false: int) -> float | None:
    """Return the mean of sensitivity and specificity: (TP / (TP + FN) + TN / (TN + FP)) / 2.

    The measure of LLM-AggreFact (Tang et al., 2024). None if one of the two classes does not occur.

    Args:
        true_right: TP, the true items that are called true.
        n_true: all true items.
        false_right: TN, the other items that are not called true.
        n_false: all other items.
    """
    return (true_right / n_true + false_right / n_false) / 2 if n_true and n_false else None


def _wilson(p: float, n: float) -> tuple[float, float]:
    square = Z * Z / n
    centre, spread = p + square / 2, Z * math.sqrt(p * (1 - p) / n + square / (4 * n))
    return (centre - spread) / (1 + square), (centre + spread) / (1 + square)


class Stratum(NamedTuple):
    """Part of a population, with the simple random sample that was drawn from it."""

    n: int
    """Units of the sample with the property."""
    of: int
    """Units of the sample; one at least."""
    population: int
    """All units of the stratum."""


def stratified_interval(strata: Sequence[Stratum]) -> tuple[int, int]:
    """Return the bounds of how many units of all strata have a property, an interval of 95 %.

    The stratified estimator of a proportion with its variance, finite populations corrected (Cochran, Sampling
    Techniques, 3rd edition 1977, chapter 5), in Wilson's interval at the effective sample size n' (Kish, Survey
    Sampling, 1965; Franco, Little, Louis and Slud, Journal of Survey Statistics and Methodology 7, 2019):

        W = N_h / N        p = sum(W p_h)        v = sum(W^2 (1 - n_h / N_h) s_h^2 / n_h)        n' = p (1 - p) / v
        s_h^2 = n_h p_h (1 - p_h) / (n_h - 1)
        where p_h is 0 or 1: s_h^2 = q (1 - q) with Laplace's q = (x_h + 1) / (n_h + 2)
        where p is 0 or 1: n' = 1 / sum(W^2 (1 - n_h / N_h) / n_h)

    Its ends are rounded outwards to whole units, and cut to what the drawn units leave possible. If only one stratum is
    drawn in part, the interval is exact: `population_interval`.

    Args:
        strata: all strata; one that is drawn as a whole is known.

    Raises:
        ValueError: not 0 <= n <= of <= population in a stratum.
    """
    for one in strata:
        _check(*one)
    hits = sum(one.n for one in strata)
    partly = [one for one in strata if one.of < one.population]
    if len(partly) < 2:
        ends = [population_interval(*one) for one in partly] or [(0, 0)]
        settled = hits - sum(one.n for one in partly)
        return settled + ends[0][0], settled + ends[0][1]
    total = sum(one.population for one in strata)
    share = math.fsum(one.population * one.n / one.of for one in strata) / total
    factors = [(one.population / total) ** 2 * (1 - one.of / one.population) / one.of for one in partly]
    size = 1 / math.fsum(factors)
    if 0 < hits < sum(one.of for one in strata):
        size = share * (1 - share) / math.fsum(map(_variance, partly, factors))
    low, high = (total * end for end in _wilson(share, size))
    return max(math.floor(low), hits), min(math.ceil(high), total - sum(one.of - one.n for one in strata))


def _variance(stratum: Stratum, factor: float) -> float:
    n, of, _ = stratum
    if 0 < n < of:
        return factor * n * (of - n) / (of * (of - 1))
    share = (n + 1) / (of + 2)
    return factor * share * (1 - share)


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
    _check(n, of, population)
    return _least(n, of, population), population - _least(of - n, of, population)


def _check(n: int, of: int, population: int) -> None:
    if not 0 <= n <= of <= population:
        raise ValueError(f"{n} of {of} units of a sample from {population}")


def _least(n: int, of: int, population: int) -> int:
    """Return the smallest M with P(X >= n | M) > 1 / TAIL, in integers; the probability grows with M."""
    samples = math.comb(population, of)

    def likely(most: int) -> bool:
        ways = sum(math.comb(most, k) * math.comb(population - most, of - k) for k in range(n, of + 1))
        return TAIL * ways > samples

    possible = range(n, population - of + n + 1)
    return possible[bisect_left(possible, True, key=likely)]
