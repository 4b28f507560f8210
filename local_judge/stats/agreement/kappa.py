"""Cohen's kappa: agreement of two people beyond chance, on the same scale.

Invariant: weights are distances of the ratings themselves and not of their places in a list of categories, so that a
category that nobody used changes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

from local_judge.stats.agreement.estimate import Estimate, mean_estimate, undefined
from local_judge.stats.agreement.exact import Number, exact, scaled
from local_judge.stats.agreement.sums import OfSums, tabulate

Weights = Literal["unweighted", "linear", "quadratic"]
"""What a difference costs: the same whatever it is, its size, or its size squared."""


class Crossed(NamedTuple):
    """What kappa needs of two people's ratings of the same things: sums, so that those of several tasks add up."""

    cost: int
    """Sum of the weights of their differences."""
    first: Mapping[int, int]
    """How often one of them gave each rating."""
    second: Mapping[int, int]


def crossed(pairs: Sequence[tuple[int, int]], weights: Weights) -> Crossed:
    """The sums over things rated by both."""
    power = {"unweighted": 0, "linear": 1, "quadratic": 2}[weights]
    cost = sum(abs(a - b) ** power for a, b in pairs if a != b)
    return Crossed(cost, Counter(a for a, _ in pairs), Counter(b for _, b in pairs))


def cohen_kappa(x: Sequence[Number], y: Sequence[Number], weights: Weights) -> Estimate:
    """Cohen's kappa of two people; `n` is the number of things that both have rated.

    Formula (Cohen 1960; weighted: Cohen 1968): 1 - sum(w_ij o_ij) / sum(w_ij e_ij), where o_ij is the share of things
    rated i by one and j by the other, e_ij the product of the shares that each gives to i and to j, and w_ij is 1 for
    i != j (unweighted), |i - j| (linear) or (i - j)^2 (quadratic).

    Raises:
        ValueError: `x` and `y` are not equally long.
    """
    pairs = [(exact(a), exact(b)) for a, b in zip(x, y, strict=True)]
    factor = scaled(number for pair in pairs for number in pair)
    return kappa_of(crossed([(int(a * factor), int(b * factor)) for a, b in pairs], weights), weights)


def kappa_of(sums: Crossed, weights: Weights) -> Estimate:
    """Cohen's kappa from sums; see `cohen_kappa`."""
    first, second = sums.first, sums.second
    n = sum(first.values())
    if weights == "unweighted":
        expected = n * n - sum(count * second.get(value, 0) for value, count in first.items())
    elif weights == "linear":
        expected = _distance(first, second, n)
    else:
        expected = n * (_moment(first, 2) + _moment(second, 2)) - 2 * _moment(first, 1) * _moment(second, 1)
    if expected == 0:
        return undefined("all ratings are equal" if n else "nothing was rated by both", n)
    return Estimate(1 - n * sums.cost / expected, n)


def summed(parts: Sequence[Crossed], weights: Weights) -> OfSums:
    """Cohen's kappa of the same two people over several tasks together."""
    ones, firsts = tabulate([part.first for part in parts])
    others, seconds = tabulate([part.second for part in parts])

    def statistic(sums: Sequence[int]) -> Estimate:
        middle = 1 + len(ones)
        first = dict(zip(ones, sums[1:middle], strict=True))
        second = dict(zip(others, sums[middle:], strict=True))
        return kappa_of(Crossed(sums[0], first, second), weights)

    rows = [(part.cost, *first, *second) for part, first, second in zip(parts, firsts, seconds, strict=True)]
    return OfSums(rows, statistic)


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
