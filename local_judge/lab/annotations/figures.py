"""Figures that every measure is made of.

Invariant: a figure that has nothing to be taken of is None and never 0 or 1, and stands beside the counts that it was
computed from.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from local_judge.stats.rates import Rate, rate
from serving.types import Frozen


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
