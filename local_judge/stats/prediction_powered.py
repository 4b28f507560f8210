"""Shares of a judge's calls, corrected by people's labels of some of them.

Prediction-powered inference (Angelopoulos et al., Science 382, 2023), in the form of PPI++ (Angelopoulos, Duchi and
Zrnic, 2023) for a mean. Of n units with a label y and a call f, and N units with a call only:

    corrected = w mean of f over the N + mean of (y - w f) over the n
    w = cov(y, f) / ((1 + n / N) var(f)), in [0, 1]

With w = 0 only the labels count, with w = 1 the calls count fully and the labels correct their bias. The estimate is
consistent whatever the judge does, if the labelled units are a random sample; a good judge makes its interval narrow.

The interval is after Korn and Graubard (Survey Methodology 24, 1998), because claims of one report are alike: Clopper
and Pearson's interval, with the number of independent units that would give the variance V of the estimate, and at most
with the number of units that the estimate rests on: the labelled ones for the people's share, all for the other two.

    size = min(units, (p (1 - p) / V) (z / t)²)         z, t: 97.5 % quantiles of the normal and of the t distribution
    V = (G - 1) / G sum of (estimate without cluster g - estimate)² + (w / n)²

The sum is the jackknife over all G clusters; t has one degree of freedom less than there are clusters with labels (for
the judge's share: than there are clusters). Korn and Graubard's interval has these changes:

- z replaces the quantile of the t distribution with one degree of freedom less than there are units.
- If V is 0 or the estimate is 0 or 1, the size is the number of those clusters, not of units.
- (w / n)² in V counts one more label against the judge: without it, a few labels that all agree with the calls would
  prove that the judge makes no errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from local_judge.stats.estimate import Estimate, undefined
from local_judge.stats.rates import TAIL, Z

LEAST_LABELS: Final = 10
LEAST_CLUSTERS: Final = 3
"""Units and clusters that an interval needs. With two clusters, the t distribution has one degree of freedom, and its
quantile is 12.7."""


class LabelledUnit(NamedTuple):
    """One unit, such as a claim on a page."""

    cluster: str
    """Units of one cluster, such as a report, are alike."""
    call: float
    """Call of the judge: 1 for yes, 0 for no."""
    label: float | None
    """Label in [0, 1], the mean over people; None for a unit without a label."""


class Corrected(NamedTuple):
    """A share by the judge, by people, and by the judge corrected by people."""

    judge: Estimate
    """Mean of all calls."""
    people: Estimate
    """Mean of the labels; no calls are used."""
    corrected: Estimate
    """Prediction-powered estimate."""
    weight: float | None
    """Weight w of the judge's calls."""
    clusters: int
    """Clusters with labels."""


def corrected_share(units: Sequence[LabelledUnit]) -> Corrected:
    """Return the share of units with a yes, with intervals of 95 % over clusters.

    Args:
        units: all units with a call; those with a label have to be a random sample.
    """
    if not units:
        nothing = undefined("no calls")
        return Corrected(nothing, nothing, nothing, None, 0)
    numbers = {name: n for n, name in enumerate(sorted({unit.cluster for unit in units}))}
    sums = np.zeros((len(numbers), len(_Sums._fields)))
    np.add.at(sums, [numbers[unit.cluster] for unit in units], [_sums(unit) for unit in units])
    total = sums.sum(axis=0)
    n_clusters, n_labelled = len(sums), int(np.count_nonzero(sums[:, 0]))
    whole = _shares(_Sums(*total.tolist()))
    # One cluster leaves nothing without it.
    others: list[list[float]] = (total - sums).tolist() if n_clusters > 1 else []
    without = [_shares(_Sums(*other)) for other in others]
    n_labels = int(total[0])

    def estimate(name: str, n: int, n_known: int, n_of: int, added: float = 0.0) -> Estimate:
        value = getattr(whole, name)
        if value is None:
            return undefined("no labels")
        share = min(max(value, 0.0), 1.0)
        if n_known < LEAST_LABELS or n_of < LEAST_CLUSTERS:
            return Estimate(share, n)
        gaps = np.array([getattr(one, name) - value for one in without], np.float64)
        variance = (len(gaps) - 1) / len(gaps) * float(gaps @ gaps) + added
        low, high = cluster_interval(share, variance, n_of, n)
        return Estimate(share, n, low=low, high=high)

    error = (whole.weight / n_labels) ** 2 if whole.weight else 0.0
    return Corrected(
        judge=estimate("judge", len(units), len(units), n_clusters),
        people=estimate("people", n_labels, n_labels, n_labelled),
        corrected=estimate("corrected", len(units), n_labels, n_labelled, error),
        weight=whole.weight,
        clusters=n_labelled,
    )


def cluster_interval(share: float, variance: float, clusters: int, units: int) -> tuple[float, float]:
    """Return the interval of 95 % of a share of clustered units. Formula: see the module.

    Args:
        share: the share.
        variance: its variance.
        clusters: number of clusters, at least two.
        units: number of units that the share rests on.
    """
    from scipy import stats

    size, spread = float(clusters), share * (1 - share)
    if spread > 1e-12 and variance > 1e-12:
        independent = spread / variance * (Z / float(stats.t.ppf(1 - 1 / TAIL, clusters - 1))) ** 2
        size = min(independent, units)
    yes, no = share * size, (1 - share) * size
    low = float(stats.beta.ppf(1 / TAIL, yes, no + 1)) if yes else 0.0
    high = float(stats.beta.ppf(1 - 1 / TAIL, yes + 1, no)) if no else 1.0
    return low, high


class _Sums(NamedTuple):
    """Sums over units with a label y and a call f, and over the rest, which have a call only."""

    n: float
    f: float
    y: float
    fy: float
    n_rest: float
    f_rest: float


def _sums(unit: LabelledUnit) -> _Sums:
    call, label = unit.call, unit.label
    if label is None:
        return _Sums(0, 0, 0, 0, 1, call)
    return _Sums(1, call, label, call * label, 0, 0)


class _Shares(NamedTuple):
    judge: float
    people: float | None
    corrected: float | None
    weight: float | None


def _shares(sums: _Sums) -> _Shares:
    n, f, y, _, n_rest, f_rest = sums
    judge = (f + f_rest) / (n + n_rest)
    if not n:
        return _Shares(judge, None, None, None)
    weight = _weight(sums)
    corrected = (y - weight * f) / n + (weight * f_rest / n_rest if n_rest else 0.0)
    return _Shares(judge, y / n, corrected, weight)


def _weight(sums: _Sums) -> float:
    """Return the weight of the calls with the least variance; 0 where the calls tell nothing apart."""
    n, f, y, fy, n_rest, f_rest = sums
    if not n_rest or n < 2:
        return 0.0
    # Calls are 0 or 1, so that a share p of them has the variance p (1 - p).
    judge = (f + f_rest) / (n + n_rest)
    spread = judge * (1 - judge)
    if spread < 1e-12:
        return 0.0
    shared = (n * fy - f * y) / n**2
    return min(max(shared / ((1 + n / n_rest) * spread), 0.0), 1.0)
