"""Correlations of two lists of numbers: Pearson, Spearman, Kendall's tau-b; Fisher's interval.

Invariant: a correlation is exactly 1, 0 or -1 where its formula gives that, and does not exist where a list
is constant.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from statistics import NormalDist

from local_judge.stats.agreement.estimate import LEVEL, Estimate, undefined
from local_judge.stats.agreement.exact import Number, doubled_ranks, exact, scaled, sign


def pearson(x: Sequence[Number], y: Sequence[Number]) -> Estimate:
    """Pearson's product-moment correlation; `n` is the number of pairs (x, y).

    Formula (Pearson 1896): sum((x - mean x)(y - mean y)) / sqrt(sum((x - mean x)^2) sum((y - mean y)^2)).

    Raises:
        ValueError: `x` and `y` are not equally long.
    """
    return _pearson(_whole(x), _whole(y))


def spearman(x: Sequence[Number], y: Sequence[Number]) -> Estimate:
    """Spearman's rank correlation; `n` is the number of pairs (x, y).

    Formula (Spearman 1904): Pearson's correlation of the ranks; ties have the average of their ranks.

    Raises:
        ValueError: `x` and `y` are not equally long.
    """
    return _pearson(doubled_ranks(_whole(x)), doubled_ranks(_whole(y)))


def kendall_tau_b(x: Sequence[Number], y: Sequence[Number]) -> Estimate:
    """Kendall's rank correlation with its correction for ties; `n` is the number of pairs (x, y).

    Formula (Kendall 1945): (C - D) / sqrt((P - Tx)(P - Ty)), where of all P = n(n - 1)/2 pairs C have the same
    order in both lists and D opposite ones, and Tx and Ty are tied in x and in y.

    Raises:
        ValueError: `x` and `y` are not equally long.
    """
    a, b = _whole(x), _whole(y)
    reason = _why_not(a, b)
    if reason:
        return undefined(reason, len(a))
    signs = [(sign(a[i] - a[j]), sign(b[i] - b[j])) for i, j in combinations(range(len(a)), 2)]
    untied_x, untied_y = sum(p != 0 for p, _ in signs), sum(q != 0 for _, q in signs)
    return Estimate(_ratio(sum(p * q for p, q in signs), untied_x * untied_y), len(a))


def fisher_interval(r: float, n: int) -> tuple[float, float] | None:
    """The 95 % interval of a correlation of `n` pairs that were drawn from a normal population.

    Formula (Fisher 1921): tanh(atanh(r) -+ 1.96 / sqrt(n - 3)).

    Returns:
        None where it does not exist: fewer than 4 pairs, or r = 1 or -1.
    """
    if n < 4 or abs(r) >= 1:
        return None
    half = NormalDist().inv_cdf(0.5 + LEVEL / 200) / math.sqrt(n - 3)
    return math.tanh(math.atanh(r) - half), math.tanh(math.atanh(r) + half)


def _whole(numbers: Sequence[Number]) -> list[int]:
    """The numbers times one factor, as whole ones: a correlation does not depend on the unit."""
    fractions = [exact(number) for number in numbers]
    factor = scaled(fractions)
    return [int(number * factor) for number in fractions]


def _pearson(x: Sequence[int], y: Sequence[int]) -> Estimate:
    reason = _why_not(x, y)
    if reason:
        return undefined(reason, len(x))
    n, sum_x, sum_y = len(x), sum(x), sum(y)
    # n times the sums of products of the deviations from the means.
    together = n * sum(a * b for a, b in zip(x, y, strict=True)) - sum_x * sum_y
    of_x, of_y = n * sum(a * a for a in x) - sum_x**2, n * sum(b * b for b in y) - sum_y**2
    return Estimate(_ratio(together, of_x * of_y), n)


def _ratio(numerator: int, squared_denominator: int) -> float:
    """The quotient numerator / sqrt(squared_denominator), rounded only at the end."""
    return sign(numerator) * math.sqrt(Fraction(numerator**2, squared_denominator))


def _why_not(x: Sequence[int], y: Sequence[int]) -> str:
    """Why two lists have no correlation; '' where they have one."""
    if len(x) != len(y):
        raise ValueError(f"{len(x)} numbers against {len(y)}")
    if len(x) < 2:
        return f"of {len(x)}, needs 2"
    constant = [name for name, numbers in (("first", x), ("second", y)) if len(Counter(numbers)) == 1]
    return f"the {' and the '.join(constant)} list is constant" if constant else ""
