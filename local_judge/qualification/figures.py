"""Figures from items, and their differences between judges.

Invariant: a measure is one function for its value, its bootstrap interval and its difference between judges; units are
drawn with a recorded seed, the same draws for every judge that was asked the same items.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from local_judge.qualification.model import Figure, Item, Unmeasured
from local_judge.stats.agreement.estimate import Estimate, resamples, with_interval

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
    values = [
        measure.value([item for place in draw for item in groups[place]])
        for draw in resamples(len(groups), draws.n, draws.seed)
    ]
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


def share(called: Callable[[Item], bool | None]) -> Value:
    """The share of the items of which `called` is true, over those of which it says something."""

    def value(items: Sequence[Item]) -> float | None:
        known = [found for item in items if (found := called(item)) is not None]
        return sum(known) / len(known) if known else None

    return value


def mean_said(items: Sequence[Item]) -> float | None:
    """The mean of what was said."""
    known = [item.said for item in items if item.said is not None]
    return math.fsum(known) / len(known) if known else None
