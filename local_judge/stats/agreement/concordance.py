"""Kendall's W: how far several people put the same things in the same order.

Invariant: W lies between 0 (no common order) and 1 (one order), ties included.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from local_judge.stats.agreement.estimate import Estimate, undefined
from local_judge.stats.agreement.exact import Number, doubled_ranks, exact


def kendall_w(ratings: Sequence[Sequence[Number]]) -> Estimate:
    """Kendall's coefficient of concordance; `n` is the number of things that are ranked.

    Formula (Kendall and Babington Smith 1939; ties: Kendall 1945): 12 S / (m^2 (n^3 - n) - m sum(T)) for m people
    and n things, where S is the sum of squared deviations of the things' rank sums from their mean, and T of one
    person is the sum of t^3 - t over groups of t tied things.

    Args:
        ratings: of each person, of all things in the same order.

    Raises:
        ValueError: not all have rated equally many things.
    """
    m, n = len(ratings), len(ratings[0]) if ratings else 0
    if any(len(row) != n for row in ratings):
        raise ValueError("not all have rated the same things")
    if m < 2 or n < 2:
        return undefined(f"{m} people and {n} things, needs 2 of each", n)
    fractions = [[exact(number) for number in row] for row in ratings]
    ties = sum(t**3 - t for row in fractions for t in Counter(row).values())
    denominator = m**2 * (n**3 - n) - m * ties
    if denominator == 0:
        return undefined("nobody has an order", n)
    # Rank sums are doubled, their squares fourfold; n times the squared deviations stays whole.
    sums = [sum(column) for column in zip(*map(doubled_ranks, fractions), strict=True)]
    deviations = n * sum(total**2 for total in sums) - sum(sums) ** 2
    return Estimate(float(Fraction(12 * deviations, 4 * n * denominator)), n)
