"""Figures that the measures share.

Invariant: a figure over nothing is None, never 0 or 1, and is stored with the counts that it is computed from.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from local_judge.base.model import Frozen
from local_judge.stats.rates import Rate, rate


class Binary(Frozen):
    """Quality of binary answers; the positive answer is named where this is used."""

    tp: int
    fp: int
    fn: int
    tn: int
    accuracy: Rate
    precision: float | None
    """TP / (TP + FP)"""
    recall: float | None
    """TP / (TP + FN)"""
    f1: float | None
    """2 TP / (2 TP + FP + FN); None if no item is annotated as positive."""
    balanced_accuracy: float | None
    """(TP / (TP + FN) + TN / (TN + FP)) / 2; None if one of the two annotations does not occur."""


def binary(pairs: Sequence[tuple[bool, bool]]) -> Binary:
    """Compute the figures of (annotated, given) pairs."""
    tp, fp = pairs.count((True, True)), pairs.count((False, True))
    fn, tn = pairs.count((True, False)), pairs.count((False, False))
    recall, specificity = share(tp, tp + fn), share(tn, tn + fp)
    return Binary(
        tp=tp,
        fp=fp,
        fn=fn,
        tn=tn,
        accuracy=rate(tp + tn, len(pairs)),
        precision=share(tp, tp + fp),
        recall=recall,
        f1=share(2 * tp, 2 * tp + fp + fn) if tp + fn else None,
        balanced_accuracy=None if recall is None or specificity is None else (recall + specificity) / 2,
    )


def share(part: float, whole: float) -> float | None:
    """Return `part / whole`, or None if `whole` is 0."""
    return part / whole if whole else None


def mean(values: Sequence[float | None]) -> float | None:
    """Return the mean of the values that are not None, or None if there are none."""
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None
