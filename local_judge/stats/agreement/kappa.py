"""Cohen's kappa: agreement of two people beyond chance, on the same scale.

Invariant: weights are distances of the ratings themselves and not of their places in a list of categories, so that a
category that nobody used changes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Literal

from local_judge.stats.estimate import Estimate, SumStatistic, mean_estimate, undefined
from local_judge.stats.numeric import Number, whole_rows

Weights = Literal["unweighted", "linear", "quadratic"]
"""What a difference costs: the same whatever it is, its size, or its size squared."""

Crossed = Mapping[tuple[int, int], int]
"""What kappa needs of two people's ratings of the same things, so that the sums of several tasks add up:

    (0, 0)  sum of the weights of their differences
    (1, c)  how often the first gave rating c
    (2, c)  how often the second did
"""


def cross(pairs: Sequence[tuple[int, int]], weights: Weights) -> Crossed:
    """The sums over things rated by both."""
    power = {"unweighted": 0, "linear": 1, "quadratic": 2}[weights]
    sums = Counter((1, a) for a, _ in pairs) + Counter((2, b) for _, b in pairs)
    sums[0, 0] = sum(abs(a - b) ** power for a, b in pairs if a != b)
    return sums


def cohen_kappa(x: Sequence[Number], y: Sequence[Number], weights: Weights) -> Estimate:
    """Cohen's kappa of two people; `n` is the number of things that both have rated.

    Formula (Cohen 1960; weighted: Cohen 1968): 1 - sum(w_ij o_ij) / sum(w_ij e_ij), where o_ij is the share of things
    rated i by one and j by the other, e_ij the product of the shares that each gives to i and to j, and w_ij is 1 for
    i != j (unweighted), |i - j| (linear) or (i - j)^2 (quadratic).

    Raises:
        ValueError: `x` and `y` are not equally long.
    """
    first, second = whole_rows([x, y])
    return kappa_of(cross(list(zip(first, second, strict=True)), weights), weights)


def kappa_of(sums: Crossed, weights: Weights) -> Estimate:
    """Cohen's kappa from sums; see `cohen_kappa`."""
    first, second = ({value: n for (who, value), n in sums.items() if who == side} for side in (1, 2))
    n = sum(first.values())
    if weights == "unweighted":
        expected = n * n - sum(count * second.get(value, 0) for value, count in first.items())
    elif weights == "linear":
        expected = _distance(first, second, n)
    else:
        expected = n * (_moment(first, 2) + _moment(second, 2)) - 2 * _moment(first, 1) * _moment(second, 1)
    if expected == 0:
        return undefined("all ratings are equal" if n else "nothing was rated by both", n)
    return Estimate(1 - n * sums[0, 0] / expected, n)


def pooled_kappa(parts: Sequence[Crossed], weights: Weights) -> SumStatistic[tuple[int, int]]:
    """Cohen's kappa of the same two people over several tasks together."""
    return SumStatistic(parts, partial(kappa_of, weights=weights))


def mean_kappa(people: Iterable[Crossed], weights: Weights) -> Estimate:
    """The mean of Cohen's kappa over pairs of people (Light 1971); `n` is the number of pairs that have one."""
    values = [kappa_of(both, weights).value for both in people]
    return mean_estimate(values, "no two people have a kappa")


def _moment(counts: Mapping[int, int], power: int) -> int:
    return sum(count * value**power for value, count in counts.items())


def _distance(first: Mapping[int, int], second: Mapping[int, int], n: int) -> int:
    """Sum of |a - b| over all pairs of a rating of one and a rating of the other, each n in number.

    Between two neighbouring values lie as many such pairs as one has ratings below and the other above.
    """
    values = sorted({*first, *second})
    total = below_first = below_second = 0
    for value, following in pairwise(values):
        below_first += first.get(value, 0)
        below_second += second.get(value, 0)
        apart = below_first * (n - below_second) + below_second * (n - below_first)
        total += apart * (following - value)
    return total
