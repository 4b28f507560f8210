"""Paired differences of means, with bootstrap intervals and permutation tests over tasks.

Invariant: both sides are drawn together, task by task, so that what makes a task easy or hard for both cancels out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

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


class Pair(NamedTuple):
    """Two values of one unit, such as a report's scores by two judges."""

    task: str
    """Tasks are drawn as a whole."""
    first: float
    second: float


class Difference(Frozen):
    """Mean of the second values minus mean of the first ones."""

    n: int
    """Number of pairs."""
    n_tasks: int
    first: float | None
    """Mean of the first values; null without pairs."""
    second: float | None
    value: float | None
    """second - first."""
    low: float | None = None
    high: float | None = None
    """95 % percentile bootstrap interval; null for fewer than two tasks."""
    p: float | None = Field(default=None, ge=0, le=1)
    """Two-sided p-value of "no difference" (`stats.estimate.sign_flip_p`); null for fewer than six tasks."""
    p_holm: float | None = Field(default=None, ge=0, le=1)
    """The p-value, corrected for the number of differences that were tested together (Holm 1979)."""


def paired_difference(pairs: Sequence[Pair], *, seed: int = 0, draws: int = DRAWS) -> Difference:
    """Return the mean difference of pairs, with a percentile interval over draws of tasks and a p-value.

    Formula: sum of (second - first) over the pairs / number of pairs, in each draw of as many tasks with replacement
    (the cluster bootstrap, Davison and Hinkley 1997, section 3.8). For the p-value, the two sides of all pairs of a
    task are exchanged together, which changes the sign of the task's sum. Sums are exact.
    """
    tasks: dict[str, list[Pair]] = {}
    for pair in pairs:
        tasks.setdefault(pair.task, []).append(pair)
    factor = scaled(exact(value) for pair in pairs for value in (pair.first, pair.second))
    parts = [
        {
            "first": sum(int(exact(pair.first) * factor) for pair in own),
            "second": sum(int(exact(pair.second) * factor) for pair in own),
            "n": len(own),
        }
        for own in tasks.values()
    ]

    def difference(sums: Mapping[str, int]) -> Estimate:
        n = sums.get("n", 0)
        return Estimate((sums["second"] - sums["first"]) / (factor * n), n) if n else undefined("no pairs")

    def mean(side: str) -> float | None:
        return sum(part[side] for part in parts) / (factor * len(pairs)) if pairs else None

    statistic = SumStatistic(parts, difference)
    found = statistic.found()
    drawn = statistic.replicates(Resamples(len(tasks), draws, seed)) if len(tasks) > 1 and draws else []
    ranged = with_interval(found, drawn, len(tasks))
    return Difference(
        n=len(pairs),
        n_tasks=len(tasks),
        first=mean("first"),
        second=mean("second"),
        value=found.value,
        low=ranged.low,
        high=ranged.high,
        p=sign_flip_p([part["second"] - part["first"] for part in parts], seed=seed),
    )


def corrected(differences: Sequence[Difference]) -> list[Difference]:
    """Return differences that are tested together with their p-values corrected by Holm's method."""
    values = holm([one.p for one in differences])
    return [one.model_copy(update={"p_holm": value}) for one, value in zip(differences, values, strict=True)]
