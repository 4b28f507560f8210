"""Is a paired difference more than chance? P-values of bootstrap draws, and Holm's correction for several.

Invariant: a test that the data are too few for is not made; the value and its interval are given all the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from local_judge.stats.estimate import in_most_draws
from local_judge.stats.numeric import DIGITS

LEAST_UNITS: Final = 6
"""Units that a test needs: where all of n units say the same, even the sign test gives 2 / 2^n, which is 0.0625 for
five and 0.031 for six."""
LEVEL: Final = 0.05


def bootstrap_p(drawn: Sequence[float | None]) -> float | None:
    """Two-sided p-value of "no difference", from the differences in the draws of a bootstrap.

    Formula (Davison and Hinkley 1997, sections 4.4 and 5.2: the level at which the percentile interval just reaches 0):
    min(1, 2 (1 + min(#{d <= 0}, #{d >= 0})) / (1 + B)), over the B draws in which the difference exists.

    Returns:
        None where the difference exists in fewer than half of the draws, as for the interval.
    """
    known = [round(value, DIGITS) for value in in_most_draws(drawn)]
    if not known:
        return None
    least = min(sum(value <= 0 for value in known), sum(value >= 0 for value in known))
    return min(1.0, 2 * (1 + least) / (1 + len(known)))


def holm(values: Sequence[float | None]) -> list[float | None]:
    """P-values corrected for being several, in their order; what does not exist is not counted.

    Formula (Holm 1979): the k-th smallest of m becomes the greatest of (m - j + 1) p_j over j <= k, at most 1. Whatever
    is then at most 0.05 is so with a chance of at most 5 % that any one of them is wrong, however they depend.
    """
    order = sorted((value, place) for place, value in enumerate(values) if value is not None)
    found: list[float | None] = [None] * len(values)
    greatest = 0.0
    for before, (value, place) in enumerate(order):
        greatest = max(greatest, min(1.0, (len(order) - before) * value))
        found[place] = greatest
    return found
