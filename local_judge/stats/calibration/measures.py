"""Separation of true and altered claims, and calibration of probabilities: AUC, threshold, ECE, Brier score, bins.

Invariants: pure arithmetic on each claim's truth and value; claims without a value are counted by the caller. Every
claim is in exactly one bin, and claims with the same probability in the same one, so that their order does not matter;
an empty bin has no mean and no share.

    ECE = sum over bins of n_b / n |share of true claims in b - mean probability in b|

Naeini, Cooper and Hauskrecht (2015), section "Calibration measures", of the probability of the positive class; Guo et
al. (2017), equation 3, define the same for a classifier's confidence. `width`: bins of equal width over [0, 1]. `mass`:
bins of about equal number. ECE is not 0 for a perfectly calibrated judge: shares of few claims vary by chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from local_judge.base.model import Frozen
from local_judge.ledger.calibrations import Objective
from local_judge.stats.numeric import Floats, Ints
from local_judge.stats.rates import Rate, rate

NEUTRAL = 0.5


@dataclass(frozen=True)
class Judged:
    """One claim that got a value: a probability, log-odds, or the rank of a label."""

    true: bool
    value: float
    page: str
    """Claims of one page are held out together."""


def auc(judged: Sequence[Judged]) -> float | None:
    """Area under the ROC curve by Mann and Whitney (1947); None without a true or without an altered claim.

    U / (n_true x n_altered), where U counts the pairs of a true and an altered claim in which the true one has the
    greater value, an equal one as a half. Computed from mean ranks: U = sum of the ranks of the true ones -
    n_true (n_true + 1) / 2.
    """
    values, true = columns(judged)
    return auc_of(values, true)


def auc_of(values: Floats, true: Floats) -> float | None:
    """Return the AUC as `auc` does; `true` is 1 for a true claim and 0 for an altered one."""
    n_true = float(true.sum())
    n_altered = len(true) - n_true
    if not n_true or not n_altered:
        return None
    order, counts = np.unique(values, return_inverse=True, return_counts=True)[1:]
    ranks = np.cumsum(counts) - (counts - 1) / 2  # the mean rank of each value
    return float((ranks[order] @ true - n_true * (n_true + 1) / 2) / (n_true * n_altered))


def best_threshold(judged: Sequence[Judged], objective: Objective = "accuracy") -> float:
    """Return the threshold at which the objective is greatest; of several, the one nearest to 0.5, then the lower.

    Candidates are 0.5, the middles between neighbouring values, and one below and one above all values.
    """
    if not judged:
        return NEUTRAL
    values, true = columns(judged)
    known = np.unique(values)
    cuts = np.unique(np.concatenate([[NEUTRAL, known[0], known[-1] + 1e-6], (known[:-1] + known[1:]) / 2]))
    gains = _objective(values, true, cuts, objective)
    best = cuts[gains >= gains.max() - 1e-12]
    return float(min(best, key=lambda cut: (abs(cut - NEUTRAL), cut)))


def _objective(values: Floats, true: Floats, cuts: Floats, objective: Objective) -> Floats:
    """Return the objective at each cut, in which the weight of a true and of an altered claim depends on it alone."""
    n_true = true.sum()
    n_altered = len(true) - n_true
    # How many true and how many altered claims lie below each cut.
    below_true = np.searchsorted(np.sort(values[true == 1]), cuts, side="left")
    below_altered = np.searchsorted(np.sort(values[true == 0]), cuts, side="left")
    if objective == "accuracy":
        return (n_true - below_true + below_altered) / len(true)
    recall = (n_true - below_true) / n_true if n_true else np.zeros(len(cuts))
    specificity = below_altered / n_altered if n_altered else np.zeros(len(cuts))
    return (recall + specificity) / 2


def columns(judged: Sequence[Judged]) -> tuple[Floats, Floats]:
    """Values, and 1 for each true claim and 0 for each altered one."""
    values = np.array([one.value for one in judged], np.float64)
    return values, np.array([one.true for one in judged], np.float64)


BINS = 10

Cut = Literal["width", "mass"]


class Bin(Frozen):
    """Claims of neighbouring probabilities."""

    low: float
    high: float
    """Limits of the bin (equal width), or its least and greatest probability (equal mass)."""
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
    """Return the sum of (true - p) in each bin. Bins of equal width are the same for all claims, so gaps add up."""
    return np.bincount(_places(p, cut, n_bins), weights=true - p, minlength=n_bins).astype(np.float64)


def brier_of(p: Floats, true: Floats) -> float:
    """Mean of (p - true)² (Brier 1950, for two classes)."""
    return float(np.mean((p - true) ** 2))


def _places(p: Floats, cut: Cut, n_bins: int) -> Ints:
    """Return the bin of each probability."""
    if cut == "width":
        return np.minimum((p * n_bins).astype(np.int64), n_bins - 1)
    # By how many claims have a lower probability: equal ones stay together.
    lower = np.searchsorted(np.sort(p), p, side="left")
    return (lower * n_bins // max(1, len(p))).astype(np.int64)
