"""Sums of floats with the same bits on every version of Python."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import add


def sum_in_order(values: Iterable[float]) -> float:
    """Return the sum from left to right, rounded after each step; 0 for no values.

    `sum` does the same before Python 3.12. Since then it compensates the rounding, so that its result can differ in the
    last bit, and a score that is rounded by 0.01.
    """
    return reduce(add, values, 0)
