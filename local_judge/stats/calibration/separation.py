"""How well values tell true claims from altered ones, and at which threshold they do best.

Invariant: pure arithmetic over (is the claim true, what the judge gave it); what the judge gave nothing is not
passed in here, and is counted by the caller.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from local_judge.judge.calibration import Objective
from local_judge.stats.numeric import Floats

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
    """As `auc`; `true` is 1 for a true claim and 0 for an altered one."""
    n_true = float(true.sum())
    n_altered = len(true) - n_true
    if not n_true or not n_altered:
        return None
    order, counts = np.unique(values, return_inverse=True, return_counts=True)[1:]
    ranks = np.cumsum(counts) - (counts - 1) / 2  # the mean rank of each value
    return float((ranks[order] @ true - n_true * (n_true + 1) / 2) / (n_true * n_altered))


def best_threshold(judged: Sequence[Judged], objective: Objective = "accuracy") -> float:
    """The threshold at which the objective is greatest; of several, the one nearest to 0.5, then the lower.

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
    """The objective at each cut, in which the weight of a true and of an altered claim depends on it alone."""
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
