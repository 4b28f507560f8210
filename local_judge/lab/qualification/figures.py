"""Figures computed from items, and their bootstrap replicates.

Invariant: one function of a measure gives its value, its bootstrap interval and its difference between judges. Units
are drawn with a recorded seed, with the same draws for every judge that was asked the same items.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from local_judge.lab.qualification.model import Figure, Item, Unmeasured
from local_judge.stats import estimate
from local_judge.stats.calibration.measures import auc_of, ece_of, gaps_of
from local_judge.stats.estimate import (
    LEAST_UNITS,
    Estimate,
    Resamples,
    by_group,
    sign_flip_p,
    with_interval,
)
from local_judge.stats.numeric import DIGITS, Floats, rounded

Counts = npt.NDArray[np.int64]
Value = Callable[[Sequence[Item]], float | None]
Where = Callable[[Item], bool]
Better = Literal["more", "less"] | None
"""Direction in which a figure is better; None if neither is."""


class Measure(NamedTuple):
    """Definition of one figure."""

    id: str
    of: Where
    """Condition for the items that the figure covers."""
    value: Value
    """Value over the answered items; None if it is not defined."""
    better: Better = None


MeasureRow = tuple[str, Value, Better]
"""Name, value and better direction of a measure that is taken of several subsets of items."""


def measures(part: str, subset: str, of: Where, rows: Iterable[MeasureRow]) -> list[Measure]:
    """Return one measure for each row, with ids `part/name` followed by `subset`."""
    return [Measure(f"{part}/{name}{subset}", of, value, better) for name, value, better in rows]


def where(facets: Mapping[str, str]) -> Where:
    """Return the condition that an item has all the given facets."""
    return lambda item: all(item.facets[facet] == value for facet, value in facets.items())


def steps(facets: Mapping[str, str]) -> str:
    """Return the end of the id of a figure over items with some facets: `/facet=value` for each."""
    return "".join(f"/{facet}={value}" for facet, value in facets.items())


def facet_values(items: Iterable[Item], *facets: str) -> list[dict[str, str]]:
    """Return `{facet: value}` for each value that occurs, facet by facet, values in alphabetical order."""
    items = list(items)
    return [{facet: value} for facet in facets for value in sorted({item.facets[facet] for item in items})]


class Draws(NamedTuple):
    """Number of bootstrap draws, and their seed."""

    n: int
    seed: int


Drawn = tuple[tuple[int, ...], ...]
"""Positions of units in each draw."""


def figure(
    measure: Measure, items: Sequence[Item], draws: Draws, unmeasured: Sequence[Unmeasured] = ()
) -> Figure:
    """Compute one figure with its interval over units.

    Args:
        measure: the definition.
        items: all items of the part.
        draws: of the bootstrap.
        unmeasured: known reasons for missing values.
    """
    concerned = [item for item in items if measure.of(item)]
    answered = [item for item in concerned if item.said is not None]
    n, n_failed = len(answered), len(concerned) - len(answered)
    value = measure.value(answered) if answered else None
    if value is None:
        known = next((one for one in unmeasured if measure.id.startswith(one.figures)), None)
        if known is not None:
            reason, by_judge = known.reason, known.by_judge
        elif concerned and not answered:
            reason, by_judge = f"the judge answered none of {len(concerned)}", True
        else:
            reason, by_judge = "not defined" if concerned else "nothing was asked", False
        return Figure(id=measure.id, value=None, n=n, n_failed=n_failed, reason=reason, by_judge=by_judge)
    groups = by_unit(answered)
    drawn = in_draws(measure.value, groups, draws_of(len(groups), draws))
    found = with_interval(Estimate(value, n), drawn, len(groups))
    return Figure(id=measure.id, value=value, low=found.low, high=found.high, n=n, n_failed=n_failed)


def by_unit(items: Sequence[Item]) -> list[list[Item]]:
    """Group items by unit, in the alphabetical order of the units."""
    return by_group(items, lambda item: item.unit)


def in_draws(value: Value, groups: Sequence[Sequence[Item]], drawn: Drawn) -> list[float | None]:
    """Return the value over the items of the groups in each draw."""
    if isinstance(value, Ratio | Auc | Ece):
        return value.drawn(groups, times_of(len(groups), drawn))
    return estimate.in_draws(value, groups, drawn)


@lru_cache(maxsize=64)
def draws_of(n: int, draws: Draws) -> Drawn:
    """Draw positions below `n` with replacement: the same for every figure over the same number of units."""
    return tuple(tuple(draw) for draw in Resamples(n, draws.n, draws.seed))


def leaving_one_out(n: int) -> Drawn:
    """Return all positions below `n` but one, for each of them; nothing where there are too few for a p-value."""
    if n < LEAST_UNITS:
        return ()
    return tuple(tuple(place for place in range(n) if place != left) for left in range(n))


def pseudo_values(value: float, left_out: Sequence[float | None]) -> list[int] | None:
    """Return what each unit contributes to a difference that need not be a mean, as whole numbers.

    Formula: the pseudo-values n d - (n - 1) d_i, where d_i is the difference without unit i (Tukey 1958). Their mean is
    d where d is a mean over units of equal size; for areas under ROC curves they are the components of DeLong's
    variance (Hanley and Hajian-Tilaki 1997).

    Args:
        value: the difference of all n units.
        left_out: the difference without each of them; None where it is not defined.

    Returns:
        None where a difference is not defined.
    """
    n = len(left_out)
    pseudo = [n * value - (n - 1) * without for without in left_out if without is not None]
    return [round(one * 10**DIGITS) for one in pseudo] if len(pseudo) == n else None


def jackknife_p(value: float, left_out: Sequence[float | None], seed: int) -> float | None:
    """Return `stats.estimate.sign_flip_p` of the `pseudo_values`; None where they are not defined."""
    contributions = pseudo_values(value, left_out)
    return None if contributions is None else sign_flip_p(contributions, seed=seed)


@lru_cache(maxsize=64)
def times_of(n: int, drawn: Drawn) -> Counts:
    """Count how often each position below `n` occurs in each draw. Shape: (draws, n)."""
    rows = [np.bincount(np.array(draw, np.int64), minlength=n) for draw in drawn]
    return np.array(rows, np.int64).reshape(-1, n)


@dataclass(frozen=True)
class Ratio:
    """Sum of counts over a sum of counts; None if the second is 0."""

    counts: Callable[[Item], tuple[int, int]]
    """Contribution of an item to the numerator and to the denominator."""

    def __call__(self, items: Sequence[Item]) -> float | None:
        """Return the value."""
        above, below = self._sums(items)
        return above / below if below else None

    def drawn(self, groups: Sequence[Sequence[Item]], times: Counts) -> list[float | None]:
        """Return the value in each draw of groups, exact because the sums are of integers."""
        sums = np.array([self._sums(group) for group in groups], np.int64)
        found: list[tuple[int, int]] = (times @ sums).tolist()
        return [above / below if below else None for above, below in found]

    def _sums(self, items: Sequence[Item]) -> tuple[int, int]:
        counts = [self.counts(item) for item in items]
        return sum(above for above, _ in counts), sum(below for _, below in counts)


class Auc:
    """Area under the ROC curve of the answers (`stats.calibration.measures.auc`)."""

    def __call__(self, items: Sequence[Item]) -> float | None:
        """Return the value; None if all items are true, or none is."""
        return auc_of(*_columns(items))

    def drawn(self, groups: Sequence[Sequence[Item]], times: Counts) -> list[float | None]:
        """Return the value in each draw of groups.

        Formula: sum c_g c_h w_gh / (2 sum c_g true_g sum c_h untrue_h), where c_g is how often group g is drawn and
        w_gh is twice the number of pairs of a true item of group g and an untrue item of group h that are in the right
        order, with a tie as half a pair. All sums are of integers.
        """
        said, true = _columns([item for group in groups for item in group])
        owner = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
        member = (owner == np.arange(len(groups))[:, None]).astype(np.int64)
        right, untrue = said[true == 1][:, None], said[true != 1][None, :]
        pairs = 2 * (right > untrue).astype(np.int64) + (right == untrue)
        wins = member[:, true == 1] @ pairs @ member[:, true != 1].T
        above = ((times @ wins) * times).sum(axis=1)
        below = 2 * (times @ member[:, true == 1].sum(axis=1)) * (times @ member[:, true != 1].sum(axis=1))
        return [int(one) / int(of) if of else None for one, of in zip(above, below, strict=True)]


class Ece:
    """Expected calibration error of the answers, bins of equal width (`stats.calibration.measures.ece`)."""

    def __call__(self, items: Sequence[Item]) -> float | None:
        """Return the value."""
        return ece_of(*_columns(items)) if items else None

    def drawn(self, groups: Sequence[Sequence[Item]], times: Counts) -> list[float | None]:
        """Return the value in each draw of groups, rounded to the digits that the order of additions leaves."""
        gaps = np.array([gaps_of(*_columns(group)) for group in groups], np.float64)
        sizes = times @ np.array([len(group) for group in groups], np.int64)
        return [float(value) for value in rounded(np.abs(times @ gaps).sum(axis=1) / sizes)]


def _columns(items: Sequence[Item]) -> tuple[Floats, Floats]:
    said = np.array([item.said for item in items], np.float64)
    return said, np.array([item.truth for item in items], np.float64)


def share(holds: Callable[[Item], bool | None]) -> Value:
    """Return the measure of the share of items for which `holds` is true, out of those for which it is not None."""

    def counts(item: Item) -> tuple[int, int]:
        found = holds(item)
        return (0, 0) if found is None else (int(found), 1)

    return Ratio(counts)


called_share = share(lambda item: item.called)
"""Share of the decided items whose decision is yes."""


def mean_said(items: Sequence[Item]) -> float | None:
    """Return the mean of the answers."""
    known = [item.said for item in items if item.said is not None]
    return math.fsum(known) / len(known) if known else None
