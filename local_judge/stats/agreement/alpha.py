"""Krippendorff's alpha: agreement beyond chance of any number of people, with ratings missing.

Invariant: a report with one rating is compared with nothing and changes nothing; the counts of several tasks added are
the counts of the tasks together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import chain, combinations
from typing import Literal

from local_judge.stats.estimate import Estimate, SumStatistic, undefined
from local_judge.stats.numeric import Number, whole_rows

Scale = Literal["nominal", "ordinal", "interval"]
"""What a rating tells: that two are different, which is higher, or by how much."""

Counts = Mapping[tuple[int, ...], int]
"""What alpha needs of some units (things rated), so that the counts of several tasks add up:

    (c,)       how often rating c occurs in units that have two ratings at least
    (m, c, k)  how many unordered pairs of ratings (c, k), c < k, units of m ratings have
    ()         units with one rating
"""


def count_ratings(units: Iterable[Sequence[int]]) -> Counts:
    """The counts of `units`, the ratings of one thing each, without those that are missing."""
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
        return undefined("no report has two ratings", 0, alone)
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
    """Twice the number of ratings below each, its equals counting half: the ordinal difference is one of places.

    The number of ratings from c to k less half of those at both ends is the distance of the middles of c and k in
    the sorted list of all ratings. The factor 2 cancels in the ratio of disagreements.
    """
    places: dict[int, int] = {}
    below = 0
    for value in sorted(counts):
        places[value] = 2 * below + counts[value]
        below += counts[value]
    return places
