"""Two sides compared unit by unit: a statistic of both, its difference with an interval, and a p-value.

Invariants: an observation that only one side has is in no number and is counted. Both sides are drawn together, unit by
unit, so that what makes a unit easy or hard for both cancels out. Everything that compares runs, systems, judges or
prompts calls `compare`, so that a difference has one p-value.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from pydantic import Field

from local_judge.base.model import Frozen
from local_judge.stats.estimate import (
    DRAWS,
    Estimate,
    Resamples,
    SumStatistic,
    holm,
    sign_flip_p,
    undefined,
    with_interval,
)
from local_judge.stats.numeric import exact, scaled

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")

Units = Sequence[Sequence[tuple[Value, Value]]]
"""Observations of the first and the second side, grouped by unit."""


class Contrast(NamedTuple):
    """A statistic of both sides."""

    first: float | None
    second: float | None
    value: float | None
    """second - first; None if it is not defined."""
    replicates: Callable[[Iterable[Sequence[int]]], Sequence[float | None]]
    """Returns the difference over the units at the positions of each draw."""
    contributions: Callable[[], Sequence[int] | None]
    """Returns what each unit contributes to the difference, as whole numbers; None if it is not defined."""


class Difference(Frozen):
    """A statistic of the second side minus that of the first one."""

    n: int
    """Number of observations that both sides have."""
    n_units: int
    """Number of their units, such as tasks or pages, which are drawn as a whole."""
    n_first: int = 0
    """Number of observations that only the first side has."""
    n_second: int = 0
    first: float | None
    """Statistic of the first side; null if it is not defined."""
    second: float | None
    value: float | None
    """second - first."""
    low: float | None = None
    high: float | None = None
    """95 % percentile bootstrap interval; null for fewer than two units."""
    p: float | None = Field(default=None, ge=0, le=1)
    """Two-sided p-value of "no difference" (`stats.estimate.sign_flip_p`); null for fewer than six units."""
    p_holm: float | None = Field(default=None, ge=0, le=1)
    """The p-value, corrected for the number of differences that were tested together (Holm 1979)."""


def mean_contrast(units: Units[float]) -> Contrast:
    """Return the means of both sides and their difference.

    Formula: sum of (second - first) over the observations / their number. For the p-value, the sides of all
    observations of a unit are exchanged together, which changes the sign of the unit's sum. Sums are exact.
    """
    factor = scaled(exact(value) for unit in units for pair in unit for value in pair)
    parts = [
        {
            "first": sum(int(exact(first) * factor) for first, _ in unit),
            "second": sum(int(exact(second) * factor) for _, second in unit),
            "n": len(unit),
        }
        for unit in units
    ]
    n = sum(part["n"] for part in parts)

    def difference(sums: Mapping[str, int]) -> Estimate:
        n = sums.get("n", 0)
        return Estimate((sums["second"] - sums["first"]) / (factor * n), n) if n else undefined("no pairs")

    statistic = SumStatistic(parts, difference)
    first, second = (
        sum(part[side] for part in parts) / (factor * n) if n else None for side in ("first", "second")
    )
    return Contrast(
        first,
        second,
        statistic.found().value,
        statistic.replicates,
        lambda: [part["second"] - part["first"] for part in parts],
    )


def compare(
    first: Mapping[Key, Value],
    second: Mapping[Key, Value],
    by: Callable[[Key], str],
    statistic: Callable[[Units[Value]], Contrast],
    *,
    seed: int = 0,
    draws: int = DRAWS,
) -> Difference:
    """Compare two sides by the observations that both have.

    The interval is of the cluster bootstrap (Davison and Hinkley 1997, section 3.8): the difference in each draw of as
    many units with replacement.

    Args:
        first: observations by key.
        second: likewise.
        by: returns the unit of an observation.
        statistic: the statistic, such as `mean_contrast`.
        seed: random seed of the bootstrap and of the p-value.
        draws: number of resamples; 0 for no interval.

    Example:
        >>> before = {("t1", "a"): 0.5, ("t2", "b"): 0.25}
        >>> after = {("t1", "a"): 1.0, ("t2", "b"): 0.5, ("t3", "c"): 0.75}
        >>> found = compare(before, after, lambda key: key[0], mean_contrast)
        >>> found.value, found.n_units, found.n_second
        (0.375, 2, 1)
    """
    units: dict[str, list[tuple[Value, Value]]] = {}
    for key in first:
        if key in second:
            units.setdefault(by(key), []).append((first[key], second[key]))
    n, n_units = sum(map(len, units.values())), len(units)
    contrast = statistic(list(units.values()))
    ranged = Estimate(contrast.value, n)
    p = None
    if contrast.value is not None:
        if n_units > 1 and draws:
            ranged = with_interval(ranged, contrast.replicates(Resamples(n_units, draws, seed)), n_units)
        contributions = contrast.contributions()
        p = None if contributions is None else sign_flip_p(contributions, seed=seed)
    return Difference(
        n=n,
        n_units=n_units,
        n_first=len(first) - n,
        n_second=len(second) - n,
        first=contrast.first,
        second=contrast.second,
        value=contrast.value,
        low=ranged.low,
        high=ranged.high,
        p=p,
    )


def corrected(differences: Sequence[Difference]) -> list[Difference]:
    """Return differences that are tested together with their p-values corrected by Holm's method."""
    values = holm([one.p for one in differences])
    return [one.model_copy(update={"p_holm": value}) for one, value in zip(differences, values, strict=True)]
