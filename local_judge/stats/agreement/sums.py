"""Measures of sums over tasks, and their values in the draws of a bootstrap.

Invariant: sums are of whole numbers and exact, however large, so that a measure has the same value, and is undefined in
the same draws, in whatever order tasks come.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from local_judge.stats.agreement.estimate import Estimate, with_interval

Key = TypeVar("Key", bound=tuple[object, ...] | int | str)


class OfSums(NamedTuple):
    """A measure that needs of several tasks only the sums over them."""

    rows: Sequence[Sequence[int]]
    """Of each task, equally long."""
    statistic: Callable[[Sequence[int]], Estimate]
    """The measure from the sums of the columns of some rows."""

    def found(self) -> Estimate:
        """Of all tasks, without interval."""
        return self.statistic([sum(column) for column in zip(*self.rows, strict=True)])

    def replicates(self, drawn: Sequence[Sequence[int]]) -> list[float | None]:
        """Of the tasks at the positions of each draw; a task drawn twice counts twice."""
        n = len(self.rows)
        largest = max((abs(number) for row in self.rows for number in row), default=0)
        kind = np.int64 if largest * n < 2**62 else object
        table = np.array([list(row) for row in self.rows], dtype=kind).reshape(n, -1)
        times = np.array([np.bincount(draw, minlength=n) for draw in drawn]).reshape(-1, n)
        return [self.statistic(sums).value for sums in (times.astype(kind) @ table).tolist()]

    def estimate(self, drawn: Sequence[Sequence[int]]) -> Estimate:
        """Of all tasks, with its interval."""
        return with_interval(self.found(), self.replicates(drawn), len(self.rows))


def tabulate(counts: Sequence[Mapping[Key, int]]) -> tuple[list[Key], list[list[int]]]:
    """The keys of all `counts`, in order, and a row of numbers under them for each; 0 where one lacks a key."""
    keys = sorted({key: None for count in counts for key in count})
    return keys, [[count.get(key, 0) for key in keys] for count in counts]
