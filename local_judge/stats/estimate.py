"""A number with what it rests on, and its bootstrap interval over tasks.

Invariants: an interval is of the same function as its number, over draws that a recorded seed makes (except those of
shares that labels correct, by a jackknife: `stats.prediction_powered`); draws in which the number does not exist are
counted, and an interval that would rest on fewer than half of the draws is not given. No number is NaN or infinite.
Sums over tasks are of whole numbers and exact, however large, so that a statistic of sums has the same value, and is
undefined in the same draws, in whatever order tasks come.
"""

from __future__ import annotations

import math
import random
from array import array
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

Key = TypeVar("Key", bound=Hashable)
Part = TypeVar("Part")

LEVEL = 95
"""Percent of the draws that lie in an interval."""
DRAWS = 1_000


@dataclass(frozen=True, config=ConfigDict(extra="forbid", allow_inf_nan=False))
class Estimate:
    """One measure."""

    value: float | None
    """The figure; null with a reason such as 0/0."""
    n: int
    """Number of units: pairs, systems, tasks, reports or ratings, depending on the measure."""
    n_undefined: int = 0
    """Number of units that are left out because they have no value or cannot be compared."""
    hits: float | None = None
    """Hits of a rate: value = hits / n."""
    low: float | None = None
    high: float | None = None
    """Percentiles of the draws in which the number exists; of `stats.prediction_powered`, ends without draws."""
    n_draws: int = 0
    """These draws."""
    reason: str = ""
    """Reason for a missing value."""


def undefined(reason: str, n: int = 0, n_undefined: int = 0) -> Estimate:
    """Return a measure without value."""
    return Estimate(None, n, n_undefined, reason=reason)


class Resamples:
    """`draws` times `n` positions below `n`, with replacement; equal seeds give equal draws on every machine.

    Each iteration computes the draws again, so that one draw at a time is in memory.
    """

    def __init__(self, n: int, draws: int, seed: int) -> None:
        self._n, self._draws, self._seed = n, draws, seed

    def __iter__(self) -> Iterator[Sequence[int]]:
        # random() is the one method of Random whose sequence Python promises to keep, and NumPy that of the legacy
        # generator. Both are the Mersenne twister with 53 bits, so that equal states give equal numbers.
        _, state, _ = random.Random(self._seed).getstate()
        generator = np.random.RandomState()
        generator.set_state(("MT19937", np.array(state[:-1], dtype=np.uint32), state[-1], 0, 0.0))
        for _ in range(self._draws):
            yield array("i", (generator.random_sample(self._n) * self._n).astype(np.intc).tobytes())


def replicates(
    parts: Sequence[Part], measure: Callable[[Sequence[Part]], Estimate], drawn: Iterable[Sequence[int]]
) -> list[float | None]:
    """`measure` of `[parts[i] for i in draw]`, for each draw."""
    return [measure([parts[index] for index in draw]).value for draw in drawn]


def by_group(rows: Iterable[Part], group: Callable[[Part], str]) -> list[list[Part]]:
    """Return the rows of each group, in the alphabetical order of the groups: the units of a bootstrap."""
    groups: dict[str, list[Part]] = {}
    for row in rows:
        groups.setdefault(group(row), []).append(row)
    return [groups[name] for name in sorted(groups)]


def in_draws(
    value: Callable[[Sequence[Part]], float | None],
    groups: Sequence[Sequence[Part]],
    drawn: Iterable[Sequence[int]],
) -> list[float | None]:
    """Return the value over the rows of the groups in each draw; a group drawn twice counts twice."""
    return [value([row for place in draw for row in groups[place]]) for draw in drawn]


def in_most_draws(values: Sequence[float | None]) -> list[float]:
    """Return the values that exist, in ascending order; none where they exist in fewer than half of the draws."""
    known = sorted(value for value in values if value is not None)
    return known if 2 * len(known) >= len(values) else []


def with_interval(found: Estimate, values: Sequence[float | None], n_tasks: int) -> Estimate:
    """`found` with the percentile interval of its `values` in the draws (Efron and Tibshirani 1993, chapter 13).

    Formula: the 2.5th and the 97.5th percentile. Systems, reports and annotators are not drawn: the interval says how
    far the number would differ on other tasks with the same systems and people. One task has no interval.
    """
    if n_tasks < 2:
        return found
    known = in_most_draws(values)
    if found.value is None or not known:
        return replace(found, n_draws=len(values) - values.count(None))
    rest = (100 - LEVEL) / 2
    low, high = percentile(known, rest), percentile(known, 100 - rest)
    return replace(found, low=low, high=high, n_draws=len(known))


class SumStatistic(NamedTuple, Generic[Key]):
    """A measure that needs of several tasks only the sums over them."""

    parts: Sequence[Mapping[Key, int]]
    """Named numbers of each task; a missing name counts as 0."""
    statistic: Callable[[Mapping[Key, int]], Estimate]
    """The measure from the sums of some tasks' numbers."""

    def found(self) -> Estimate:
        """Return the measure over all tasks, without interval."""
        return self.statistic({key: sum(part.get(key, 0) for part in self.parts) for key in self._keys()})

    def replicates(self, drawn: Iterable[Sequence[int]]) -> list[float | None]:
        """Return the measure over the tasks of each draw; a task drawn twice counts twice."""
        n, keys = len(self.parts), self._keys()
        rows = [[part.get(key, 0) for key in keys] for part in self.parts]
        largest = max((abs(number) for row in rows for number in row), default=0)
        kind = np.int64 if largest * n < 2**62 else object
        table = np.array(rows, dtype=kind).reshape(n, len(keys))
        sums: list[list[int]] = [
            (np.bincount(draw, minlength=n).astype(kind) @ table).tolist() for draw in drawn
        ]
        return [self.statistic(dict(zip(keys, row, strict=True))).value for row in sums]

    def estimate(self, drawn: Iterable[Sequence[int]]) -> Estimate:
        """Return the measure over all tasks, with its interval."""
        return with_interval(self.found(), self.replicates(drawn), len(self.parts))

    def _keys(self) -> list[Key]:
        return list(dict.fromkeys(key for part in self.parts for key in part))


def percentile(ordered: Sequence[float], percent: float) -> float:
    """The percentile of numbers in ascending order, linear between neighbours (Hyndman and Fan 1996, definition 7)."""
    place = (len(ordered) - 1) * percent / 100
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def mean_estimate(
    values: Sequence[float | None], nothing: str, *, undefined_as: float | None = None
) -> Estimate:
    """Return the mean of the values that exist.

    Formula: sum of them / their number; where `undefined_as` is given, those that do not exist count as it.

    Args:
        values: None for a missing value; counted in `n_undefined` either way.
        nothing: the reason, where nothing can be averaged.
        undefined_as: 0 for the variant that takes what does not exist for no correlation.
    """
    known = [value for value in values if value is not None]
    missing = len(values) - len(known)
    if undefined_as is not None:
        known += [undefined_as] * missing
    if not known:
        return undefined(nothing, 0, missing)
    return Estimate(math.fsum(known) / len(known), len(known), missing)


LEAST_UNITS: Final = 6
"""Units that a test needs: where all of n units say the same, even the sign test gives 2 / 2^n, which is 0.0625 for
five and 0.031 for six."""
SIGNIFICANT: Final = 0.05


EXACT_UNITS: Final = 14
"""Greatest number of units of which all patterns of signs are enumerated: 2^14 = 16,384."""
FLIPS: Final = 9_999
"""Number of patterns that are drawn for more units."""
FLIP_BLOCK: Final = 400
"""Number of patterns that are drawn at once."""


def sign_flip_p(differences: Sequence[int], *, seed: int = 0) -> float | None:
    """Two-sided p-value of "no difference", from the paired differences of independent units by a permutation test.

    If nothing differs between the two sides of a pair, each unit's difference is as likely with the other sign.
    Formula (Fisher 1935, The Design of Experiments, section 21): the share of the 2^n patterns of signs s with
    |sum s_i d_i| >= |sum d_i|. For more than `EXACT_UNITS` units: (1 + number of them) / (1 + B) for B patterns drawn
    at random (Phipson and Smyth 2010, equation 2).

    Args:
        differences: the sum of each unit's differences, or another contribution to a mean, as whole numbers.
        seed: random seed of the patterns that are drawn.

    Returns:
        None for fewer than `LEAST_UNITS` units.
    """
    n = len(differences)
    if n < LEAST_UNITS:
        return None
    flips = _flips(n, seed)
    total = sum(differences)
    exact_in_floats = sum(map(abs, differences)) < 2**52
    own = np.array(differences, dtype=np.float64 if exact_in_floats else object)
    extreme = 0
    for packed in np.array_split(flips, 1 + 8 * flips.size // 1_000_000):
        rows = np.unpackbits(packed, axis=1, count=n)
        sums = total - 2 * (rows.astype(own.dtype) @ own)
        extreme += int((abs(sums) >= abs(total)).sum())
    return extreme / len(flips) if n <= EXACT_UNITS else (1 + extreme) / (1 + len(flips))


@lru_cache(maxsize=4)
def _flips(n: int, seed: int) -> npt.NDArray[np.uint8]:
    """Return patterns of signs, a bit for each unit, 1 for a flipped one. Shape: (patterns, n / 8, rounded up)."""
    if n <= EXACT_UNITS:
        patterns = (np.arange(2**n, dtype=np.int64)[:, None] >> np.arange(n) & 1).astype(np.uint8)
        return np.packbits(patterns, axis=1)
    # The legacy generator is the one whose sequence NumPy promises to keep.
    generator = np.random.RandomState(seed)
    # Four of these numbers come from one of the generator's: blocks of a multiple of four continue the sequence.
    sizes = [min(FLIP_BLOCK, FLIPS - begin) for begin in range(0, FLIPS, FLIP_BLOCK)]
    return np.concatenate(
        [np.packbits(generator.randint(0, 2, (size, n), np.uint8), axis=1) for size in sizes]
    )


def holm(values: Sequence[float | None]) -> list[float | None]:
    """P-values corrected for being several, in their order; what does not exist is not counted.

    Formula (Holm 1979): the k-th smallest of m becomes the greatest of (m - j + 1) p_j over j <= k, at most 1. Whatever
    is then at most 0.05 is so with a chance of at most 5 % that any one of them is wrong, however they depend.
    """
    order = sorted((value, place) for place, value in enumerate(values) if value is not None)
    found: list[float | None] = [None] * len(values)
    greatest = 0.0
    for before, (value, place) in enumerate(order):
        greatest = max(greatest, min(1.0, (len(order) - before) * value))
        found[place] = greatest
    return found
