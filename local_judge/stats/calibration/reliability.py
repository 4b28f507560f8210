"""Whether probabilities are frequencies: bins, expected calibration error, Brier score.

Invariant: every claim lies in exactly one bin, and claims with the same probability in the same one, so that nothing
depends on their order; an empty bin has no mean and no share, and counts nothing.

    ECE = sum over bins of n_b / n |share of true claims in b - mean probability in b|

Naeini, Cooper and Hauskrecht (2015), section "Calibration measures", of the probability of the positive class; Guo et
al. (2017), equation 3, have the same of a classifier's confidence. `width`: bins of equal width over [0, 1]. `mass`:
bins of about equal number. ECE is not 0 for a perfectly calibrated judge: shares of few claims scatter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from local_judge.stats.calibration.separation import Judged, columns
from local_judge.stats.numeric import Floats, Ints
from local_judge.stats.rates import Rate, rate
from serving.types import Frozen

BINS = 10

Cut = Literal["width", "mass"]


class Bin(Frozen):
    """Claims of neighbouring probabilities."""

    low: float
    high: float
    """Of equal width: its ends. Of equal mass: its least and its greatest probability."""
    mean: float | None
    """Mean probability; None of an empty bin."""
    true: Rate
    """Share of true claims, with Wilson's interval of 95 %."""


def bins(judged: Sequence[Judged], cut: Cut = "width", n_bins: int = BINS) -> list[Bin]:
    """The reliability diagram as numbers; `value` is a probability. Empty bins are kept where bins are equally wide."""
    p, true = columns(judged)
    places = _places(p, cut, n_bins)
    found: list[Bin] = []
    for number in range(n_bins):
        inside = places == number
        n = int(inside.sum())
        if cut == "mass" and not n:
            continue
        wide = (number / n_bins, (number + 1) / n_bins)
        low, high = wide if cut == "width" else (float(p[inside].min()), float(p[inside].max()))
        mean = float(p[inside].mean()) if n else None
        found.append(Bin(low=low, high=high, mean=mean, true=rate(int(true[inside].sum()), n)))
    return found


def ece_of(p: Floats, true: Floats, cut: Cut = "width", n_bins: int = BINS) -> float:
    """Expected calibration error of at least one claim: the sum over bins of |sum of (true - p)|, by their number."""
    return float(np.abs(gaps_of(p, true, cut, n_bins)).sum() / len(p))


def gaps_of(p: Floats, true: Floats, cut: Cut = "width", n_bins: int = BINS) -> Floats:
    """Of each bin the sum of (true - p). Bins of equal width are the same for all claims, so that gaps add up."""
    return np.bincount(_places(p, cut, n_bins), weights=true - p, minlength=n_bins).astype(np.float64)


def brier_of(p: Floats, true: Floats) -> float:
    """Mean of (p - true)² (Brier 1950, for two classes)."""
    return float(np.mean((p - true) ** 2))


def _places(p: Floats, cut: Cut, n_bins: int) -> Ints:
    """The bin of each probability."""
    if cut == "width":
        return np.minimum((p * n_bins).astype(np.int64), n_bins - 1)
    # By how many claims have a lower probability: equal ones stay together.
    lower = np.searchsorted(np.sort(p), p, side="left")
    return (lower * n_bins // max(1, len(p))).astype(np.int64)
