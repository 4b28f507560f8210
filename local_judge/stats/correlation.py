"""Correlation of two lists of numbers, and of many resamples of them at once.

`pearson`, `spearman`, `kendall_tau_b` and `kendall_w` are of one sample. They compute in whole numbers and round once:
a value is exactly 1, 0 or -1 where its formula gives that, so that a filter by sign does not depend on rounding.
`scipy.stats` has the same measures in floating point, of which the last digits differ.

The functions of arrays take thousands of resamples at once, in floating point. Within groups, x and y are first
centred: the mean of their group is taken from each; ranks are those of the centred values; and Kendall's pairs are
those of two reports of one group, which centring does not change. scipy.stats takes a second to import, so that only
the functions that use it do: other commands start quickly.

Invariant: a correlation of a constant list does not exist: it is None with the reason, or in an array NaN, which never
leaves this package.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, pairwise
from statistics import NormalDist
from typing import Any

import numpy as np

from local_judge.stats.estimate import LEVEL, Estimate, undefined
from local_judge.stats.numeric import (
    DIGITS,
    Floats,
    Ints,
    Number,
    doubled_ranks,
    rounded,
    sign,
    whole_rows,
)


def pearson(x: Sequence[Number], y: Sequence[Number]) -> Estimate:
    """Pearson's product-moment correlation; `n` is the number of pairs (x, y).

    Formula (Pearson 1896): sum((x - mean x)(y - mean y)) / sqrt(sum((x - mean x)^2) sum((y - mean y)^2)).

    Raises:
        ValueError: `x` and `y` are not equally long.
    """
    return _pearson(*_whole(x, y))


def spearman(x: Sequence[Number], y: Sequence[Number]) -> Estimate:
    """Spearman's rank correlation; `n` is the number of pairs (x, y).

    Formula (Spearman 1904): Pearson's correlation of the ranks; ties have the average of their ranks.

    Raises:
        ValueError: `x` and `y` are not equally long.
    """
    return _pearson(*map(doubled_ranks, _whole(x, y)))


def kendall_tau_b(x: Sequence[Number], y: Sequence[Number]) -> Estimate:
    """Kendall's rank correlation with its correction for ties; `n` is the number of pairs (x, y).

    Formula (Kendall 1945): (C - D) / sqrt((P - Tx)(P - Ty)), where of all P = n(n - 1)/2 pairs C have the same
    order in both lists and D opposite ones, and Tx and Ty are tied in x and in y.

    Raises:
        ValueError: `x` and `y` are not equally long.
    """
    a, b = _whole(x, y)
    reason = _why_not(a, b)
    if reason:
        return undefined(reason, len(a))
    signs = [(sign(a[i] - a[j]), sign(b[i] - b[j])) for i, j in combinations(range(len(a)), 2)]
    untied_x, untied_y = sum(p != 0 for p, _ in signs), sum(q != 0 for _, q in signs)
    return Estimate(_ratio(sum(p * q for p, q in signs), untied_x * untied_y), len(a))


def fisher_interval(r: float, n: int) -> tuple[float, float] | None:
    """Return the 95 % interval of a correlation of `n` pairs that were drawn from a normal population.

    Formula (Fisher 1921): tanh(atanh(r) -+ 1.96 / sqrt(n - 3)).

    Returns:
        None where it does not exist: fewer than 4 pairs, or r = 1 or -1.
    """
    if n < 4 or abs(r) >= 1:
        return None
    half = NormalDist().inv_cdf(0.5 + LEVEL / 200) / math.sqrt(n - 3)
    return math.tanh(math.atanh(r) - half), math.tanh(math.atanh(r) + half)


def kendall_w(ratings: Sequence[Sequence[Number]]) -> Estimate:
    """Kendall's coefficient of concordance: how far several people put things in one order; `n` counts the things.

    Formula (Kendall and Babington Smith 1939; ties: Kendall 1945): 12 S / (m^2 (n^3 - n) - m sum(T)) for m people
    and n things, where S is the sum of squared deviations of the things' rank sums from their mean, and T of one
    person is the sum of t^3 - t over groups of t tied things. It lies between 0 (no common order) and 1 (one order).

    Args:
        ratings: of each person, of all things in the same order.

    Raises:
        ValueError: not all have rated equally many things.
    """
    m, n = len(ratings), len(ratings[0]) if ratings else 0
    if any(len(row) != n for row in ratings):
        raise ValueError("not all have rated the same things")
    if m < 2 or n < 2:
        return undefined(f"{m} people and {n} things, needs 2 of each", n)
    whole = whole_rows(ratings)
    ties = sum(t**3 - t for row in whole for t in Counter(row).values())
    denominator = m**2 * (n**3 - n) - m * ties
    if denominator == 0:
        return undefined("no one has an order", n)
    # Rank sums are doubled, their squares fourfold; n times the squared deviations stays whole.
    sums = [sum(column) for column in zip(*map(doubled_ranks, whole), strict=True)]
    deviations = n * sum(total**2 for total in sums) - sum(sums) ** 2
    return Estimate(float(Fraction(12 * deviations, 4 * n * denominator)), n)


def kendall_w_test(w: float, people: int, things: int) -> float:
    """P-value of Kendall's W: how often orders at random give a W of this size or more.

    Formula (Kendall and Babington Smith 1939; Friedman 1937): chi^2 = m (n - 1) W with n - 1 degrees of freedom, for m
    people and n things. An approximation that needs more than a few people.
    """
    from scipy import stats

    chi2: Any = vars(stats)["chi2"]  # which the type stubs lack
    return float(chi2.sf(people * (things - 1) * w, things - 1))


def centred(values: Floats, groups: Ints) -> Floats:
    """Each value less the mean of its group, along the last axis; exactly 0 where a group's values are all equal.

    Args:
        values: one row, or one a resample.
        groups: of each column: the number of its group; columns of one group stand together.
    """
    out = np.empty_like(values)
    for start, end in _blocks(groups):
        block = values[..., start:end]
        out[..., start:end] = block - block.mean(axis=-1, keepdims=True)
    return rounded(out)


def pearson_rows(x: Floats, y: Floats) -> Floats:
    """Pearson's r of each two rows (the last axis); NaN where one is constant. Formula: see `pearson`."""
    return _quotients(_sums(x, y), np.sqrt(_sums(x, x) * _sums(y, y)))


def spearman_rows(x: Floats, y: Floats) -> Floats:
    """Spearman's rho of each two rows (the last axis); NaN where one is constant. Formula: see `spearman`."""
    from scipy import stats

    return pearson_rows(stats.rankdata(x, axis=-1), stats.rankdata(y, axis=-1))


def slope_rows(x: Floats, y: Floats) -> Floats:
    """Return the least-squares slope of y on x of each two rows (the last axis); NaN where x is constant.

    Formula: sum((x - mean x)(y - mean y)) / sum((x - mean x)^2).
    """
    return _quotients(_sums(x, y), _sums(x, x))


def kendall_draws(x: Floats, y: Floats, groups: Ints, counts: Floats) -> Floats:
    """Tau-b over the pairs within groups, for each way of counting the reports. Formula: see `kendall_tau_b`.

    Args:
        x: one value a report.
        y: the same.
        groups: the number of each report's group; all equal for one sample.
        counts: (draws, n): how often each report stands in each resample. Copies of one report are ties.

    Returns:
        One number a draw; NaN where all pairs are ties in x or in y.
    """
    same = groups[:, None] == groups[None, :]
    of_x = np.sign(x[:, None] - x[None, :]) * same
    of_y = np.sign(y[:, None] - y[None, :]) * same

    def pairs(signs: Floats) -> Floats:
        return np.einsum("ij,ij->i", counts @ signs, counts)

    return _quotients(pairs(of_x * of_y), np.sqrt(pairs(of_x * of_x) * pairs(of_y * of_y)))


def t_test(r: float, degrees: int) -> float | None:
    """Two-sided p-value of a correlation: t = r sqrt(df / (1 - r^2)) with df degrees of freedom.

    None without any, and for |r| = 1, where t has no value: a few ranks are easily in perfect order.
    """
    from scipy import stats

    if degrees < 1 or abs(r) >= 1 - 10.0**-DIGITS:
        return None
    return float(2 * stats.t.sf(abs(r) * np.sqrt(degrees / (1 - r * r)), degrees))


def kendall_test(x: Floats, y: Floats, groups: Ints) -> float | None:
    """Two-sided p-value of Kendall's tau-b.

    For one group as `scipy.stats.kendalltau` has it (exact for small samples without ties). For several: the sum over
    groups of concordant less discordant pairs over the root of the sum of its variances under independence, with the
    correction for ties, against the normal distribution.
    """
    from scipy import stats

    blocks = _blocks(groups)
    if len(blocks) == 1:
        return float(stats.kendalltau(x, y).pvalue)
    total = variance = 0.0
    for start, end in blocks:
        one, other = x[start:end], y[start:end]
        signs = np.sign(one[:, None] - one[None, :]) * np.sign(other[:, None] - other[None, :])
        total += float(signs.sum()) / 2
        variance += _kendall_variance(one, other)
    return float(2 * stats.norm.sf(abs(total) / np.sqrt(variance))) if variance > 0 else None


def _kendall_variance(x: Floats, y: Floats) -> float:
    """Return the variance of concordant less discordant pairs, with ties (Kendall, Rank Correlation Methods, ch. 4)."""
    n = len(x)
    if n < 2:
        return 0.0
    t, u = (np.unique(values, return_counts=True)[1].astype(np.float64) for values in (x, y))

    def plain(m: Floats | float) -> float:
        return float(np.sum(m * (np.asarray(m) - 1) * (2 * np.asarray(m) + 5)))

    def twos(m: Floats) -> float:
        return float(np.sum(m * (m - 1)))

    def threes(m: Floats) -> float:
        return float(np.sum(m * (m - 1) * (m - 2)))

    found = (plain(float(n)) - plain(t) - plain(u)) / 18 + twos(t) * twos(u) / (2 * n * (n - 1))
    return found + (threes(t) * threes(u) / (9 * n * (n - 1) * (n - 2)) if n > 2 else 0.0)


def _sums(x: Floats, y: Floats) -> Floats:
    dx = x - x.mean(axis=-1, keepdims=True)
    dy = y - y.mean(axis=-1, keepdims=True)
    # Equal values may leave a rest of the order of their last bit.
    dx = np.where(np.ptp(x, axis=-1, keepdims=True) == 0, 0.0, dx)
    dy = np.where(np.ptp(y, axis=-1, keepdims=True) == 0, 0.0, dy)
    return np.sum(dx * dy, axis=-1)


def _quotients(above: Floats, below: Floats) -> Floats:
    out = np.full(np.shape(above), np.nan)
    return np.divide(above, below, out=out, where=below > 0)


def _blocks(groups: Ints) -> list[tuple[int, int]]:
    """First and last + 1 position of each group."""
    cuts = np.flatnonzero(np.diff(groups)) + 1
    edges = [0, *cuts.tolist(), len(groups)]
    return list(pairwise(edges))


def _whole(*lists: Sequence[Number]) -> list[list[int]]:
    """Return each list as whole numbers: a correlation does not depend on the unit."""
    return [whole_rows([numbers])[0] for numbers in lists]


def _pearson(x: Sequence[int], y: Sequence[int]) -> Estimate:
    reason = _why_not(x, y)
    if reason:
        return undefined(reason, len(x))
    n, sum_x, sum_y = len(x), sum(x), sum(y)
    # n times the sums of products of the deviations from the means.
    together = n * sum(a * b for a, b in zip(x, y, strict=True)) - sum_x * sum_y
    of_x, of_y = n * sum(a * a for a in x) - sum_x**2, n * sum(b * b for b in y) - sum_y**2
    return Estimate(_ratio(together, of_x * of_y), n)


def _ratio(numerator: int, squared_denominator: int) -> float:
    """Return the quotient numerator / sqrt(squared_denominator), rounded only at the end."""
    return sign(numerator) * math.sqrt(Fraction(numerator**2, squared_denominator))


def _why_not(x: Sequence[int], y: Sequence[int]) -> str:
    """Return why two lists have no correlation; '' if they have one."""
    if len(x) != len(y):
        raise ValueError(f"{len(x)} numbers against {len(y)}")
    if len(x) < 2:
        return "fewer than 2 pairs of values"
    constant = [name for name, numbers in (("first", x), ("second", y)) if len(Counter(numbers)) == 1]
    return f"the {' and the '.join(constant)} list is constant" if constant else ""
