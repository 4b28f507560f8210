"""Figures from items, and their differences between judges.

Invariant: a measure is one function for its value, its bootstrap interval and its difference between judges; units are
drawn with a recorded seed, the same draws for every judge that was asked the same items.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from local_judge.lab.qualification.model import Figure, Item, Unmeasured
from local_judge.stats.calibration.reliability import ece_of, gaps_of
from local_judge.stats.calibration.separation import auc_of
from local_judge.stats.estimate import Estimate, resamples, with_interval
from local_judge.stats.numeric import Floats, rounded

Counts = npt.NDArray[np.int64]
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


def where(facets: Mapping[str, str]) -> Callable[[Item], bool]:
    """Which items have all of some facets."""
    return lambda item: all(item.facets[facet] == value for facet, value in facets.items())


def steps(facets: Mapping[str, str]) -> str:
    """How the id of a figure over items with some facets ends: `/facet=value` for each."""
    return "".join(f"/{facet}={value}" for facet, value in facets.items())


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
    values = in_draws(measure.value, groups, draws)
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


def in_draws(value: Value, groups: Sequence[Sequence[Item]], draws: Draws) -> list[float | None]:
    """A value over the items of the groups that each draw takes."""
    if isinstance(value, Ratio | Auc | Ece):
        return value.drawn(groups, draws)
    return [
        value([item for place in draw for item in groups[place]]) for draw in draws_of(len(groups), draws)
    ]


@lru_cache(maxsize=64)
def draws_of(n: int, draws: Draws) -> tuple[tuple[int, ...], ...]:
    """Positions below `n`, with replacement: the same for every figure over as many units."""
    return tuple(tuple(draw) for draw in resamples(n, draws.n, draws.seed))


@lru_cache(maxsize=64)
def times_of(n: int, draws: Draws) -> Counts:
    """How often each position stands in each of `draws_of`: shape (draws, n)."""
    rows = [np.bincount(np.array(draw, np.int64), minlength=n) for draw in draws_of(n, draws)]
    return np.array(rows, np.int64).reshape(-1, n)


@dataclass(frozen=True)
class Ratio:
    """A sum of counts over a sum of counts; None where the second is 0."""

    counts: Callable[[Item], tuple[int, int]]
    """What an item adds to either."""

    def __call__(self, items: Sequence[Item]) -> float | None:
        """The value."""
        above, below = self._sums(items)
        return above / below if below else None

    def drawn(self, groups: Sequence[Sequence[Item]], draws: Draws) -> list[float | None]:
        """The value of each draw of groups; exact, as sums of integers are."""
        sums = np.array([self._sums(group) for group in groups], np.int64)
        found: list[tuple[int, int]] = (times_of(len(groups), draws) @ sums).tolist()
        return [above / below if below else None for above, below in found]

    def _sums(self, items: Sequence[Item]) -> tuple[int, int]:
        counts = [self.counts(item) for item in items]
        return sum(above for above, _ in counts), sum(below for _, below in counts)


class Auc:
    """Area under the ROC curve of what was said (`stats.calibration.separation.auc`)."""

    def __call__(self, items: Sequence[Item]) -> float | None:
        """The value; None without a true or without an untrue item."""
        return auc_of(*_columns(items))

    def drawn(self, groups: Sequence[Sequence[Item]], draws: Draws) -> list[float | None]:
        """The value of each draw of groups.

        Formula: with w_gh twice the pairs of a true item of group g and an untrue one of group h that stand rightly, a
        tie as half a pair, and c_g how often g is drawn: sum c_g c_h w_gh / (2 sum c_g true_g sum c_h untrue_h). All
        sums are of integers.
        """
        said, true = _columns([item for group in groups for item in group])
        owner = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
        member = (owner == np.arange(len(groups))[:, None]).astype(np.int64)
        right, untrue = said[true == 1][:, None], said[true != 1][None, :]
        pairs = 2 * (right > untrue).astype(np.int64) + (right == untrue)
        wins = member[:, true == 1] @ pairs @ member[:, true != 1].T
        times = times_of(len(groups), draws)
        above = ((times @ wins) * times).sum(axis=1)
        below = 2 * (times @ member[:, true == 1].sum(axis=1)) * (times @ member[:, true != 1].sum(axis=1))
        return [int(one) / int(of) if of else None for one, of in zip(above, below, strict=True)]


class Ece:
    """Expected calibration error of what was said, bins of equal width (`stats.calibration.reliability.ece`)."""

    def __call__(self, items: Sequence[Item]) -> float | None:
        """The value."""
        return ece_of(*_columns(items)) if items else None

    def drawn(self, groups: Sequence[Sequence[Item]], draws: Draws) -> list[float | None]:
        """The value of each draw of groups, to as many digits as the order of additions leaves."""
        gaps = np.array([gaps_of(*_columns(group)) for group in groups], np.float64)
        times = times_of(len(groups), draws)
        sizes = times @ np.array([len(group) for group in groups], np.int64)
        return [float(value) for value in rounded(np.abs(times @ gaps).sum(axis=1) / sizes)]


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
