"""Krippendorff's alpha: agreement beyond chance of any number of people, with ratings missing.

Invariant: a report with one rating is compared with nothing and changes nothing; the sums of several tasks added are
the sums of the tasks together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import chain, combinations
from typing import Literal, NamedTuple

from local_judge.stats.agreement.estimate import Estimate, undefined
from local_judge.stats.agreement.exact import Number, exact, scaled, total
from local_judge.stats.agreement.sums import OfSums, tabulate

Scale = Literal["nominal", "ordinal", "interval"]
"""What a rating tells: that two are different, which is higher, or by how much."""


class Reliability(NamedTuple):
    """What alpha needs of some units (things rated): sums, so that those of several tasks add up."""

    counts: Mapping[int, int]
    """How often each rating occurs in units that have two at least."""
    pairs: Mapping[tuple[int, int, int], int]
    """How many unordered pairs of ratings (c, k), c < k, units of m ratings have, by (m, c, k)."""
    alone: int
    """Units with one rating."""


def reliability(units: Iterable[Sequence[int]]) -> Reliability:
    """The sums of `units`, the ratings of one thing each, without those that are missing."""
    found = [sorted(unit) for unit in units if unit]
    paired = [unit for unit in found if len(unit) > 1]
    pairs = Counter(
        (len(unit), low, high) for unit in paired for low, high in combinations(unit, 2) if low < high
    )
    return Reliability(Counter(chain.from_iterable(paired)), pairs, len(found) - len(paired))


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
    found = [[exact(number) for number in unit] for unit in units]
    factor = scaled(chain.from_iterable(found))
    return alpha_of(reliability([[int(number * factor) for number in unit] for unit in found]), scale)


def alpha_of(sums: Reliability, scale: Scale) -> Estimate:
    """Krippendorff's alpha from sums; see `krippendorff_alpha`."""
    n = sum(sums.counts.values())
    if n == 0:
        return undefined("no report has two ratings", 0, sums.alone)
    if scale == "nominal":
        expected = n * n - sum(count * count for count in sums.counts.values())
        weighted = ((size, 2 * count) for (size, _, _), count in sums.pairs.items())
    else:
        places = _places(sums.counts) if scale == "ordinal" else {value: value for value in sums.counts}
        first = sum(count * places[value] for value, count in sums.counts.items())
        expected = 2 * (
            n * sum(count * places[value] ** 2 for value, count in sums.counts.items()) - first**2
        )
        weighted = (
            (size, 2 * count * (places[high] - places[low]) ** 2)
            for (size, low, high), count in sums.pairs.items()
        )
    if expected == 0:
        return undefined("all ratings are equal", n, sums.alone)
    observed: dict[int, int] = {}
    for size, weight in weighted:
        observed[size] = observed.get(size, 0) + weight
    disagreement = total(Fraction(weight, size - 1) for size, weight in observed.items())
    return Estimate(float(1 - (n - 1) * disagreement / expected), n, sums.alone)


def summed(parts: Sequence[Reliability], scale: Scale) -> OfSums:
    """Krippendorff's alpha of several tasks together."""
    values, counts = tabulate([part.counts for part in parts])
    kinds, paired = tabulate([part.pairs for part in parts])

    def statistic(sums: Sequence[int]) -> Estimate:
        alone, rest = sums[0], sums[1:]
        of_values = dict(zip(values, rest[: len(values)], strict=True))
        of_pairs = dict(zip(kinds, rest[len(values) :], strict=True))
        return alpha_of(Reliability(of_values, of_pairs, alone), scale)

    rows = [(part.alone, *count, *pair) for part, count, pair in zip(parts, counts, paired, strict=True)]
    return OfSums(rows, statistic)


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
