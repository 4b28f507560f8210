"""How well judged claims match what is known of them.

Invariant: pure arithmetic over (is the claim true, what the judge gave it); what the judge gave nothing is not
passed in here, and is counted by the caller.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True)
class Judged:
    """One claim that got a value: a probability, or the rank of a label."""

    true: bool
    value: float
    fold: str
    """Claims with equal folds are held out together: the page."""


def auc(judged: Sequence[Judged]) -> float | None:
    """Area under the ROC curve by Mann and Whitney; None without a true or without an altered claim.

    U / (n_true x n_altered), where U counts the pairs of a true and an altered claim in which the true one has the
    greater value, an equal one as a half.
    """
    true = [one.value for one in judged if one.true]
    altered = [one.value for one in judged if not one.true]
    if not true or not altered:
        return None
    wins = sum((a > b) + (a == b) / 2 for a in true for b in altered)
    return wins / (len(true) * len(altered))


def accuracy(judged: Sequence[Judged], threshold: float) -> float | None:
    """Share of claims for which `value >= threshold` says whether they are true; None without claims."""
    if not judged:
        return None
    return sum((one.value >= threshold) == one.true for one in judged) / len(judged)


def best_threshold(judged: Sequence[Judged]) -> float:
    """The threshold of the highest accuracy; of several, the one nearest to 0.5, then the lower.

    Candidates are 0.5, the middles between neighbouring values, and one below and one above all values.
    """
    values = sorted({one.value for one in judged})
    middles = [(low + high) / 2 for low, high in pairwise(values)]
    ends = [values[0], values[-1] + 1e-6] if values else []
    return min({0.5, *middles, *ends}, key=lambda cut: (-(accuracy(judged, cut) or 0.0), abs(cut - 0.5), cut))


def cross_validated(judged: Sequence[Judged]) -> tuple[list[bool], list[float]]:
    """Whether each claim is called true at the threshold that the claims of all other folds choose.

    Returns:
        The calls, in order, and the thresholds, one per fold in order of the folds' names.
    """
    folds = sorted({one.fold for one in judged})
    cuts = {fold: best_threshold([one for one in judged if one.fold != fold]) for fold in folds}
    return [one.value >= cuts[one.fold] for one in judged], [cuts[fold] for fold in folds]
