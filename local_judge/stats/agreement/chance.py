"""Agreement beyond chance: Cohen's kappa of two people, and Krippendorff's alpha of any number with ratings missing.

Invariants: weights of kappa are distances of the ratings, not of their positions in a list of categories, so that an
unused category changes nothing. In alpha a report with one rating is not compared and changes nothing. The counts of
several tasks add up to the counts of the tasks together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import chain, combinations, pairwise
from typing import Literal

from local_judge.stats.estimate import Estimate, SumStatistic, mean_estimate, undefined
from local_judge.stats.numeric import Number, whole_rows

Weights = Literal["unweighted", "linear", "quadratic"]
"""Weight of a difference: constant, its size, or its size squared."""

Crossed = Mapping[tuple[int, int], int]
"""Sums of two people's ratings of the same things, which add up over tasks:

    (0, 0)  sum of the weights of their differences
    (1, c)  how often the first gave rating c
    (2, c)  how often the second did
"""


def cross(pairs: Sequence[tuple[int, int]], weights: Weights) -> Crossed:
    """Return the sums over things rated by both."""
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
    """Return the mean of Cohen's kappa over pairs of people (Light 1971); `n` is the number of pairs that have one."""
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


Scale = Literal["nominal", "ordinal", "interval"]
"""Scale of a rating: two ratings differ, one is higher, or one is higher by an amount."""

Counts = Mapping[tuple[int, ...], int]
"""Counts of the ratings of some units (things rated), which add up over tasks:

    (c,)       how often rating c occurs in units that have two ratings at least
    (m, c, k)  how many unordered pairs of ratings (c, k), c < k, units of m ratings have
    ()         units with one rating
"""


def count_ratings(units: Iterable[Sequence[int]]) -> Counts:
    """Return the counts of `units`, the ratings of one thing each, without those that are missing."""
    found = [sorted(unit) for unit in units if unit]
    paired = [unit for unit in found if len(unit) > 1]
    counts: Counter[tuple[int, ...]] = Counter((value,) for value in chain.from_iterable(paired))
    counts.update(
        (len(unit), low, high) for unit in paired for low, high in combinations(unit, 2) if low < high
    )
    counts[()] = len(found) - len(paired)
    return counts


def krippendorff_alpha(units: Iterable[Sequence[Number]], scale: Scale) -> Estimate:
    """Krippendorff's alpha; `n` is the number of ratings that can be paired, `n_undefined` of units with one rating.

    Formula (Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability"): 1 - D_o / D_e with
    D_o = 1/n sum over units u of sum over ordered pairs of its ratings delta^2(c, k) / (m_u - 1), and
    D_e = 1/(n(n - 1)) sum over ordered pairs of all n ratings delta^2(c, k). delta^2 is 1 for what differs (nominal),
    (c - k)^2 (interval), or the squared number of ratings from c to k, those at both ends counting half (ordinal).

    Args:
        units: the ratings of each thing, without those that are missing.
        scale: of the ratings.
    """
    return alpha_of(count_ratings(whole_rows(units)), scale)


def alpha_of(counts: Counts, scale: Scale) -> Estimate:
    """Krippendorff's alpha from counts; see `krippendorff_alpha`."""
    alone = counts.get((), 0)
    ratings = {key[0]: count for key, count in counts.items() if len(key) == 1}
    pairs = [(*key, count) for key, count in counts.items() if len(key) == 3]
    n = sum(ratings.values())
    if n == 0:
        return undefined("nothing has two ratings", 0, alone)
    if scale == "nominal":
        expected = n * n - sum(count * count for count in ratings.values())
        weighted = [(size, 2 * count) for size, _, _, count in pairs]
    else:
        places = _places(ratings) if scale == "ordinal" else {value: value for value in ratings}
        first = sum(count * places[value] for value, count in ratings.items())
        expected = 2 * (n * sum(count * places[value] ** 2 for value, count in ratings.items()) - first**2)
        weighted = [(size, 2 * count * (places[high] - places[low]) ** 2) for size, low, high, count in pairs]
    if expected == 0:
        return undefined("all ratings are equal", n, alone)
    observed: Counter[int] = Counter()
    for size, weight in weighted:
        observed[size] += weight
    disagreement = sum((Fraction(weight, size - 1) for size, weight in observed.items()), Fraction(0))
    return Estimate(float(1 - (n - 1) * disagreement / expected), n, alone)


def pooled_alpha(parts: Sequence[Counts], scale: Scale) -> SumStatistic[tuple[int, ...]]:
    """Krippendorff's alpha of several tasks together."""
    return SumStatistic(parts, partial(alpha_of, scale=scale))


def _places(counts: Mapping[int, int]) -> dict[int, int]:
    """Return twice the number of ratings below each, its equals counting half: the ordinal difference is one of places.

    The number of ratings from c to k less half of those at both ends is the distance of the middles of c and k in
    the sorted list of all ratings. The factor 2 cancels in the ratio of disagreements.
    """
    places: dict[int, int] = {}
    below = 0
    for value in sorted(counts):
        places[value] = 2 * below + counts[value]
        below += counts[value]
    return places
