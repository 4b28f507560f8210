"""Length bias: relation of a score to the length of the report.

Three views of the same reports:

- overall: all reports as one sample. Hard tasks may have long reports and low scores: this view mixes what differs
  between tasks with what differs between reports of one task.
- within: reports compared with others on the same task only, all tasks pooled; tasks of one report tell nothing here.
- tasks: each task with at least `LEAST` reports by itself.

Invariants: what does not exist (constant scores, too few reports) is None with the reason and never NaN; every interval
names its seed; the same reports give the same numbers, in whatever order they come.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypedDict

import numpy as np
from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

from local_judge.base.model import Frozen
from local_judge.stats.correlation import (
    centred,
    kendall_draws,
    kendall_test,
    pearson_rows,
    slope_rows,
    spearman_rows,
    t_test,
)
from local_judge.stats.estimate import LEVEL, Estimate, undefined
from local_judge.stats.numeric import Floats, Ints, rounded

LEAST = 3
"""Reports that a correlation needs: two always lie on a line."""
LEAST_DRAWN = 5
"""Reports that an interval needs: draws from fewer are mostly copies of one or two of them."""
DRAWS = 2_000
PER = 1_000
"""The slope is in points per so many words, characters or sentences."""


class Observation(NamedTuple):
    """One report."""

    id: str
    """Orders the reports; unique."""
    task: str | None
    """None: a task of its own."""
    length: float
    score: float


@dataclass(frozen=True, config=ConfigDict(extra="forbid", allow_inf_nan=False))
class Correlation(Estimate):
    """A correlation of score and length; `n` is the number of reports.

    It has no interval where it exists in fewer than half of the draws, or for fewer than `LEAST_DRAWN` reports.
    """

    p_value: float | None = None
    """Two-sided, against independence; None where its approximation has no value (|r| = 1)."""


class Relation(Frozen):
    """Score and length in one sample."""

    n: int
    """Reports."""
    n_tasks: int
    degrees: int | None
    """Degrees of freedom of the p-values of Pearson and Spearman: n - 2, within tasks n - tasks - 1."""
    pearson: Correlation
    spearman: Correlation
    kendall: Correlation
    slope: Estimate
    """Points per 1,000 words (characters, sentences)."""
    reason: str = ""
    """Reason for missing numbers."""


class TaskRelation(Frozen):
    """One task by itself."""

    task: str
    relation: Relation


class LengthBias(Frozen):
    """Relation of one score to length."""

    n: int
    overall: Relation
    within: Relation
    tasks: tuple[TaskRelation, ...]
    """Tasks of at least `LEAST` reports, by id."""
    too_few: tuple[tuple[str, int], ...]
    """Other tasks with their numbers of reports, by id. Reports without a task are not among them."""
    seed: int
    draws: int


def length_bias(observations: Sequence[Observation], *, seed: int = 0, draws: int = DRAWS) -> LengthBias:
    """Return the relation of the score to the length, in all three views.

    Args:
        observations: Reports in any order.
        seed: Random seed of the bootstrap.
        draws: Draws of each interval. Reports are drawn with replacement, within each task or from all.

    Raises:
        ValueError: Two observations have the same id.
    """
    if len({one.id for one in observations}) < len(observations):
        raise ValueError("two observations have the same id")
    # A report without a task is a task of its own, and no task's name begins with NUL.
    tasks: dict[str, list[Observation]] = {}
    for one in sorted(observations, key=lambda one: one.id):
        tasks.setdefault("\0" + one.id if one.task is None else one.task, []).append(one)
    ordered = {task: tasks[task] for task in sorted(tasks)}
    shared = {task: reports for task, reports in ordered.items() if len(reports) > 1}
    return LengthBias(
        n=len(observations),
        overall=_relation(
            [[one for reports in ordered.values() for one in reports]], len(ordered), seed, draws
        ),
        within=_relation(list(shared.values()), len(shared), seed, draws, within=True),
        tasks=tuple(
            TaskRelation(task=task, relation=_relation([reports], 1, seed, draws))
            for task, reports in shared.items()
            if len(reports) >= LEAST
        ),
        too_few=tuple(
            (task, len(reports))
            for task, reports in ordered.items()
            if len(reports) < LEAST and not task.startswith("\0")
        ),
        seed=seed,
        draws=draws,
    )


def _relation(
    groups: Sequence[Sequence[Observation]], n_tasks: int, seed: int, draws: int, *, within: bool = False
) -> Relation:
    """Return the relation in one sample; reports are drawn within each of `groups`."""
    flat = [one for group in groups for one in group]
    number = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    x, y = rounded([one.length for one in flat]), rounded([one.score for one in flat])
    n, reason = len(flat), _why_not(x, y, number, within)
    if reason:
        none = Correlation(None, n, reason=reason)
        return Relation(
            n=n,
            n_tasks=n_tasks,
            degrees=None,
            pearson=none,
            spearman=none,
            kendall=none,
            slope=undefined(reason, n),
            reason=reason,
        )
    # Within tasks, n - tasks - 1: each mean that is taken away costs one. Otherwise there is one mean: n - 2.
    degrees = n - len(groups) - 1
    drawn = _resamples(number, np.random.default_rng(seed), draws if n >= LEAST_DRAWN else 0)
    counts = np.array([np.bincount(row, minlength=n) for row in drawn], np.float64).reshape(-1, n)

    def settled(values: Floats) -> Floats:
        return centred(values, number) if within else values

    own, many = (settled(x), settled(y)), (settled(x[drawn]), settled(y[drawn]))

    def correlation(value: Floats, drawn: Floats, p_value: Callable[[float], float | None]) -> Correlation:
        r = min(1.0, max(-1.0, float(value)))  # without what rounding adds beyond 1
        return Correlation(r, n, p_value=p_value(r), **_interval(drawn))

    def by_t(r: float) -> float | None:
        return t_test(r, degrees)

    tau = kendall_draws(x, y, number, np.ones((1, n)))[0]
    return Relation(
        n=n,
        n_tasks=n_tasks,
        degrees=degrees,
        pearson=correlation(pearson_rows(*own), pearson_rows(*many), by_t),
        spearman=correlation(spearman_rows(*own), spearman_rows(*many), by_t),
        kendall=correlation(tau, kendall_draws(x, y, number, counts), lambda _: kendall_test(x, y, number)),
        slope=Estimate(PER * float(slope_rows(*own)), n, **_interval(PER * slope_rows(*many))),
    )


def _why_not(x: Floats, y: Floats, number: Ints, within: bool) -> str:
    """Return why a sample has no correlation; '' if it has one."""
    where = " of each task" if within else ""
    if len(x) < LEAST:
        reports = "report" if len(x) == 1 else "reports"
        shared = " that share a task with another" if within else ""
        return f"{len(x)} {reports}{shared}, needs {LEAST}"
    if within:
        x, y = centred(x, number), centred(y, number)
    if np.ptp(x) == 0:
        return f"all reports{where} are equally long"
    if np.ptp(y) == 0:
        return f"all reports{where} have the same score"
    return ""


def _resamples(number: Ints, generator: np.random.Generator, draws: int) -> Ints:
    """(draws, n) positions, drawn with replacement from those of the same group."""
    out = np.empty((draws, len(number)), np.int64)
    for group in range(int(number[-1]) + 1):
        [members] = np.nonzero(number == group)
        out[:, members] = members[generator.integers(len(members), size=(draws, len(members)))]
    return out


class _Interval(TypedDict):
    low: float | None
    high: float | None
    n_draws: int


def _interval(drawn: Floats) -> _Interval:
    """Return the percentiles of the draws in which the number exists, and how many these are.

    numpy's percentile and `estimate.percentile` may differ in the last digit, and stored intervals are numpy's.
    """
    known = drawn[~np.isnan(drawn)]
    if 2 * len(known) < len(drawn) or not len(known):
        return {"low": None, "high": None, "n_draws": len(known)}
    rest = (100 - LEVEL) / 2
    low, high = np.percentile(known, [rest, 100 - rest])
    return {"low": float(low), "high": float(high), "n_draws": len(known)}
