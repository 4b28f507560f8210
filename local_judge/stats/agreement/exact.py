"""Numbers as fractions: what decides ties, ranks and zeros.

Invariant: numbers that a person would write in the same way are equal. A float is the decimal of its twelve first
significant digits, so that the last bits of a sum (0.1 + 0.2 and 0.3) decide no rank; ints and fractions are what they
are.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import accumulate

Number = int | float | Fraction

DIGITS = 12
"""Significant decimal digits of a float that count; it has almost sixteen, and arithmetic spoils the last."""


def exact(number: Number) -> Fraction:
    """A number as a fraction.

    Raises:
        ValueError: it is infinite or not a number.
    """
    if not isinstance(number, float):
        return Fraction(number)
    if not math.isfinite(number):
        raise ValueError(f"{number} is no score")
    return Fraction(f"{number:.{DIGITS}g}")


def total(numbers: Iterable[Fraction]) -> Fraction:
    """Their sum; 0 of none."""
    return sum(numbers, Fraction(0))


def mean(numbers: Sequence[Fraction]) -> Fraction:
    """Sum / count of at least one number."""
    return total(numbers) / len(numbers)


def sign(number: Fraction | int) -> int:
    """-1, 0 or 1."""
    return (number > 0) - (number < 0)


def scaled(numbers: Iterable[Fraction]) -> int:
    """The least whole number that makes all of them whole: for measures that a change of unit does not alter."""
    return math.lcm(*(number.denominator for number in numbers))


def doubled_ranks(numbers: Sequence[Fraction] | Sequence[int]) -> list[int]:
    """Twice the average ranks, from 1: [30, 10, 30] has the ranks 2.5, 1, 2.5, so [5, 2, 5]."""
    counts = Counter(numbers)
    levels = sorted(counts)
    # A level of t numbers after b smaller ones has the ranks b + 1 to b + t, b + (t + 1) / 2 on average.
    ends = accumulate(counts[level] for level in levels)
    rank = {level: 2 * end - counts[level] + 1 for level, end in zip(levels, ends, strict=True)}
    return [rank[number] for number in numbers]
