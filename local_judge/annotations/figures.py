"""Figures that every measure is made of.

Invariant: a figure that has nothing to be taken of is None and never 0 or 1, and stands beside the counts that it was
computed from.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from local_judge.documents.model import Frozen

Z = 1.959963984540054
"""The normal quantile of a two-sided interval of 95 %."""


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


class Binary(Frozen):
    """How well one of two answers is given; the positive one is named where this is used."""

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
    """2 TP / (2 TP + FP + FN); None where no item is positive by the annotation."""
    balanced_accuracy: float | None
    """(TP / (TP + FN) + TN / (TN + FP)) / 2; None where one of the two answers does not occur."""


def binary(pairs: Sequence[tuple[bool, bool]]) -> Binary:
    """Of (annotated, given) pairs."""
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
    """`part / whole`; None of nothing."""
    return part / whole if whole else None


def mean(values: Sequence[float | None]) -> float | None:
    """Of those that there are; None if there are none."""
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None
