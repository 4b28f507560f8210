"""Figures from items, and their differences between judges.

Invariant: a measure is one function for its value, its bootstrap interval and its difference between judges; units are
drawn with a recorded seed, the same draws for every judge that was asked the same items.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np

from local_judge.qualification.model import Figure, Item, Unmeasured
from local_judge.stats.agreement.estimate import Estimate, resamples, with_interval
from local_judge.stats.measures import Floats

Value = Callable[[Sequence[Item]], float | None]


class Measure(NamedTuple):
    """How one figure comes from items."""

    id: str
    of: Callable[[Item], bool]
    """Which items it is of."""
    value: Value
    """Over those that were answered; None where it does not exist."""
    better: Literal["more", "less"] | None = None
    """Which way is good; None where neither is."""


class Draws(NamedTuple):
    """The bootstrap."""

    n: int
    seed: int


def figure(
    measure: Measure, items: Sequence[Item], draws: Draws, unmeasured: Sequence[Unmeasured] = ()
) -> Figure:
    """One figure with its interval over units; where it has no value, `unmeasured` may know why."""
    concerned = [item for item in items if measure.of(item)]
    answered = [item for item in concerned if item.said is not None]
    n_failed = len(concerned) - len(answered)
    value = measure.value(answered) if answered else None
    if value is None:
        known = next((one for one in unmeasured if measure.id.startswith(one.figures)), None)
        silent = bool(concerned) and not answered
        if known is not None:
            reason, by_judge = known.reason, known.by_judge
        elif silent:
            reason, by_judge = f"the judge answered none of {len(concerned)}", True
        else:
            reason, by_judge = "not defined" if concerned else "nothing was asked", False
        return Figure(
            id=measure.id, value=None, n=len(answered), n_failed=n_failed, reason=reason, by_judge=by_judge
        )
    groups = by_unit(answered)
    drawn = draws_of(len(groups), draws)
    if isinstance(measure.value, Ratio | OfColumns):
        values = measure.value.drawn(groups, drawn)
    else:
        values = [measure.value([item for place in draw for item in groups[place]]) for draw in drawn]
    found = with_interval(Estimate(value, len(answered)), values, len(groups))
    return Figure(
        id=measure.id, value=value, low=found.low, high=found.high, n=len(answered), n_failed=n_failed
    )


def by_unit(items: Sequence[Item]) -> list[list[Item]]:
    """The items of each unit, in the order of the units' names."""
    groups: dict[str, list[Item]] = {}
    for item in items:
        groups.setdefault(item.unit, []).append(item)
    return [groups[unit] for unit in sorted(groups)]


@lru_cache(maxsize=64)
def draws_of(n: int, draws: Draws) -> tuple[tuple[int, ...], ...]:
    """Positions below `n`, with replacement: the same for every figure over as many units."""
    return tuple(tuple(draw) for draw in resamples(n, draws.n, draws.seed))


@dataclass(frozen=True)
class Ratio:
    """A sum of counts over a sum of counts; None where the second is 0."""

    counts: Callable[[Item], tuple[int, int]]
    """What an item adds to either."""

    def __call__(self, items: Sequence[Item]) -> float | None:
        """The value."""
        above, below = self._sums(items)
        return above / below if below else None

    def drawn(self, groups: Sequence[Sequence[Item]], draws: Sequence[Sequence[int]]) -> list[float | None]:
        """The value of each draw of groups; exact, as sums of integers are."""
        sums = np.array([self._sums(group) for group in groups], np.int64)
        found = (sums[np.array(draw, np.int64)].sum(axis=0) for draw in draws)
        return [int(above) / int(below) if below else None for above, below in found]

    def _sums(self, items: Sequence[Item]) -> tuple[int, int]:
        counts = [self.counts(item) for item in items]
        return sum(above for above, _ in counts), sum(below for _, below in counts)


@dataclass(frozen=True)
class OfColumns:
    """A function of what was said and of what is true, each an array over the items."""

    of: Callable[[Floats, Floats], float | None]

    def __call__(self, items: Sequence[Item]) -> float | None:
        """The value."""
        return self.of(*_columns(items))

    def drawn(self, groups: Sequence[Sequence[Item]], draws: Sequence[Sequence[int]]) -> list[float | None]:
        """The value of each draw of groups."""
        said, true = _columns([item for group in groups for item in group])
        numbers = iter(range(len(said)))
        members = [[next(numbers) for _ in group] for group in groups]
        found: list[float | None] = []
        for draw in draws:
            rows = np.array([row for place in draw for row in members[place]], np.int64)
            found.append(self.of(said[rows], true[rows]))
        return found


def _columns(items: Sequence[Item]) -> tuple[Floats, Floats]:
    said = np.array([item.said for item in items], np.float64)
    return said, np.array([item.truth for item in items], np.float64)


def share(called: Callable[[Item], bool | None]) -> Value:
    """The share of the items of which `called` is true, over those of which it says something."""

    def counts(item: Item) -> tuple[int, int]:
        found = called(item)
        return (0, 0) if found is None else (int(found), 1)

    return Ratio(counts)


def mean_said(items: Sequence[Item]) -> float | None:
    """The mean of what was said."""
    known = [item.said for item in items if item.said is not None]
    return math.fsum(known) / len(known) if known else None
