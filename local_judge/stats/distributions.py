"""Distance between two distributions over the same names.

Invariant: computed from counts without rounding; a name that only one of the two has counts as 0 in the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction


def total_variation(one: Mapping[str, int], other: Mapping[str, int]) -> float | None:
    """Total variation distance of two distributions given by counts; None where one of them is empty.

    Formula: 1/2 * sum over names of |p - q|, with p and q the shares. 0: the same; 1: no name in common. It is the
    share of one that would have to get another name for the two to be the same.
    """
    n, m = sum(one.values()), sum(other.values())
    if not (n and m):
        return None
    names = {*one, *other}  # a sum of fractions does not depend on the order
    gaps = (abs(Fraction(one.get(name, 0), n) - Fraction(other.get(name, 0), m)) for name in names)
    return float(sum(gaps, Fraction(0)) / 2)
