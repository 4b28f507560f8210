"""Krippendorff's alpha: agreement beyond chance of any number of people, with ratings missing.

Invariant: a report with one rating is compared with nothing and changes nothing; the sums of several tasks added are
the sums of the tasks together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import chain
from typing import Literal, NamedTuple

from local_judge.stats.agreement.estimate import Estimate, undefined
from local_judge.stats.agreement.exact import Number, exact, scaled, total

Scale = Literal["nominal", "ordinal", "interval"]
"""What a rating tells: that two are different, which is higher, or by how much."""


class Reliability(NamedTuple):
    """What alpha needs of some units (things rated)."""

    units: tuple[tuple[int, ...], ...]
    """The ratings of those with two at least."""
    counts: Mapping[int, int]
    """How often each rating occurs in them."""
    observed: Mapping[int, tuple[int, int]]
    """By the number of a unit's ratings, the sums over the ordered pairs of ratings of one unit of what they differ by:
    nominal, interval."""
    alone: int
    """Units with one rating."""


def reliability(units: Iterable[Sequence[int]]) -> Reliability:
    """The sums of `units`, the ratings of one thing each, without those that are missing."""
    found = [tuple(unit) for unit in units if unit]
    paired = [unit for unit in found if len(unit) > 1]
    observed: dict[int, tuple[int, int]] = {}
    for unit in paired:
        nominal, interval = observed.get(len(unit), (0, 0))
        observed[len(unit)] = nominal + _different(Counter(unit)), interval + _squared(unit)
    return Reliability(
        tuple(paired), Counter(chain.from_iterable(paired)), observed, len(found) - len(paired)
    )


def add(parts: Sequence[Reliability]) -> Reliability:
    """The sums of all units of `parts`."""
    counts: dict[int, int] = {}
    observed: dict[int, tuple[int, int]] = {}
    for part in parts:
        for value, count in part.counts.items():
            counts[value] = counts.get(value, 0) + count
        for size, (nominal, interval) in part.observed.items():
            before = observed.get(size, (0, 0))
            observed[size] = before[0] + nominal, before[1] + interval
    units = tuple(chain.from_iterable(part.units for part in parts))
    return Reliability(units, counts, observed, sum(part.alone for part in parts))


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
        observed = {size: nominal for size, (nominal, _) in sums.observed.items()}
        expected = _different(sums.counts)
    elif scale == "interval":
        observed = {size: interval for size, (_, interval) in sums.observed.items()}
        expected = _spread(sums.counts, {value: value for value in sums.counts})
    else:
        places = _places(sums.counts)
        observed = dict.fromkeys(sums.observed, 0)
        for unit in sums.units:
            observed[len(unit)] += _squared([places[value] for value in unit])
        expected = _spread(sums.counts, places)
    if expected == 0:
        return undefined("all ratings are equal", n, sums.alone)
    disagreement = total(Fraction(of_size, size - 1) for size, of_size in observed.items())
    return Estimate(float(1 - (n - 1) * disagreement / expected), n, sums.alone)


def _different(counts: Mapping[int, int]) -> int:
    """Ordered pairs of different ratings."""
    return sum(counts.values()) ** 2 - sum(count**2 for count in counts.values())


def _squared(values: Sequence[int]) -> int:
    """Sum over ordered pairs of (c - k)^2, which is 2 (m sum(c^2) - sum(c)^2)."""
    return 2 * (len(values) * sum(value * value for value in values) - sum(values) ** 2)


def _spread(counts: Mapping[int, int], places: Mapping[int, int]) -> int:
    """As `_squared`, of ratings at `places` that occur `counts` times."""
    n = sum(counts.values())
    placed = sum(count * places[value] for value, count in counts.items())
    return 2 * (n * sum(count * places[value] ** 2 for value, count in counts.items()) - placed**2)


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
