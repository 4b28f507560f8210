"""Correlation and slope, of one sample and of many resamples at once.

Invariant: a measure of constant input does not exist and is None (of a resample: NaN, which never leaves this package);
the same input and seed give the same numbers.

Definitions, for values x and y of n reports:

    pearson    sum (x - mean x)(y - mean y) / sqrt(sum (x - mean x)^2 sum (y - mean y)^2)
    spearman   pearson of the ranks, ties with their mean rank
    kendall    tau-b: (concordant - discordant) / sqrt((pairs - ties in x)(pairs - ties in y))
    slope      sum (x - mean x)(y - mean y) / sum (x - mean x)^2
    W          Kendall's, of m rows of n values: 12 S / (m^2 (n^3 - n) - m T), with S the sum of squared deviations of
               the columns' rank sums from their mean, and T the sum of t^3 - t over groups of t ties in a row

Within groups, x and y are first centred: the mean of their group is taken from each; ranks are those of the centred
values; and Kendall's pairs are those of two reports of one group, which centring does not change.

scipy.stats takes a second to import, so that only the functions that use it do: other commands start quickly.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Kind = Literal["pearson", "spearman", "kendall"]

DIGITS = 9
"""Values are compared after rounding to this many: what differs less differs by the order of its additions."""


def rounded(values: Sequence[float]) -> Floats:
    """Values as they are compared."""
    return np.round(np.asarray(values, np.float64), DIGITS) + 0.0


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
    return np.round(out, DIGITS) + 0.0


def pearson(x: Floats, y: Floats) -> Floats:
    """Pearson's r along the last axis; NaN where a row is constant."""
    return _ratio(_sums(x, y), np.sqrt(_sums(x, x) * _sums(y, y)))


def spearman(x: Floats, y: Floats) -> Floats:
    """Spearman's rho along the last axis; NaN where a row is constant."""
    from scipy import stats

    return pearson(stats.rankdata(x, axis=-1), stats.rankdata(y, axis=-1))


def slope(x: Floats, y: Floats) -> Floats:
    """The least-squares slope of y on x along the last axis; NaN where x is constant."""
    return _ratio(_sums(x, y), _sums(x, x))


def kendall(x: Floats, y: Floats, groups: Ints, counts: Floats) -> Floats:
    """Tau-b over the pairs within groups, for each way of counting the reports.

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

    return _ratio(pairs(of_x * of_y), np.sqrt(pairs(of_x * of_x) * pairs(of_y * of_y)))


def concordance(values: Floats) -> float | None:
    """Kendall's W of rows that rank the same things, one a column; None where no row has an order."""
    from scipy import stats

    ranks: Floats = stats.rankdata(values, axis=1)
    m, n = ranks.shape
    # Ranks vary by (n^3 - n) / 12 about their mean without ties; T / 12 is what ties take from that.
    ties = m * (n**3 - n) - 12 * float(np.sum((ranks - (n + 1) / 2) ** 2))
    denominator = m**2 * (n**3 - n) - m * ties
    sums = ranks.sum(axis=0)
    return 12 * float(np.sum((sums - sums.mean()) ** 2)) / denominator if denominator > 0 else None


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
    """Of concordant less discordant pairs, with ties (Kendall, Rank Correlation Methods, chapter 4)."""
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


def _ratio(above: Floats, below: Floats) -> Floats:
    out = np.full(np.shape(above), np.nan)
    return np.divide(above, below, out=out, where=below > 0)


def _blocks(groups: Ints) -> list[tuple[int, int]]:
    """First and last + 1 position of each group."""
    cuts = np.flatnonzero(np.diff(groups)) + 1
    edges = [0, *cuts.tolist(), len(groups)]
    return list(pairwise(edges))
