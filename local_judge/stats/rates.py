"""Shares with their intervals.

Invariant: a share of nothing is None and never 0 or 1, and stands beside the counts that it was computed from.
"""

from __future__ import annotations

import math

from serving.types import Frozen

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
