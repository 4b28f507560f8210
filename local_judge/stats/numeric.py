"""Comparison of numbers for ties, ranks and zeros.

Invariant: numbers that a person would write in the same way are equal, so that the last bits of a sum (0.1 + 0.2 and
0.3) decide no rank. As a fraction, a float is the decimal of its twelve first significant digits, and ints and
fractions are what they are; in an array, values are rounded to nine decimals.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import accumulate, chain
from typing import cast

import numpy as np
import numpy.typing as npt

Number = int | float | Fraction
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

SIGNIFICANT = 12
"""Significant decimal digits of a float that count; it has almost sixteen, and arithmetic spoils the last."""
DIGITS = 9
"""Decimals of an array's values: what differs less differs by the order of its additions."""


def rounded(values: Sequence[float] | Floats) -> Floats:
    """Values as they are compared."""
    return np.round(np.asarray(values, np.float64), DIGITS) + 0.0


def exact(number: Number) -> Fraction:
    """Return a number as a fraction.

    Raises:
        ValueError: it is infinite or not a number.
    """
    if not isinstance(number, float):
        return Fraction(number)
    if not math.isfinite(number):
        raise ValueError(f"{number} is no score")
    return Fraction(f"{number:.{SIGNIFICANT}g}")


def sign(number: Fraction | int) -> int:
    """-1, 0 or 1."""
    return (number > 0) - (number < 0)


def scaled(numbers: Iterable[Fraction]) -> int:
    """Return the least whole number that makes all of them whole: for measures that a change of unit does not alter."""
    return math.lcm(*(number.denominator for number in numbers))


def whole_rows(rows: Iterable[Sequence[Number]]) -> list[list[int]]:
    """Return all numbers times one factor, as whole ones: for measures that a change of unit does not alter."""
    given = [list(row) for row in rows]
    if all(isinstance(number, int) for row in given for number in row):
        return cast("list[list[int]]", given)
    found = [[exact(number) for number in row] for row in given]
    factor = scaled(chain.from_iterable(found))
    return [[int(number * factor) for number in row] for row in found]


def doubled_ranks(numbers: Sequence[int]) -> list[int]:
    """Return twice the average ranks, from 1: [30, 10, 30] has the ranks 2.5, 1, 2.5, so [5, 2, 5]."""
    counts = Counter(numbers)
    levels = sorted(counts)
    # A level of t numbers after b smaller ones has the ranks b + 1 to b + t, b + (t + 1) / 2 on average.
    ends = accumulate(counts[level] for level in levels)
    rank = {level: 2 * end - counts[level] + 1 for level, end in zip(levels, ends, strict=True)}
    return [rank[number] for number in numbers]
