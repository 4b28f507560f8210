"""Length bias: how a score goes with the length of the report.

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
from typing import NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict

from local_judge.stats.measures import (
    Floats,
    Ints,
    Kind,
    centred,
    kendall,
    kendall_test,
    pearson,
    rounded,
    slope,
    spearman,
    t_test,
)

LEAST = 3
"""Reports that a correlation needs: two always lie on a line."""
LEAST_DRAWN = 5
"""Reports that an interval needs: draws from fewer are mostly copies of one or two of them."""
DRAWS = 2_000
LEVEL = 95
"""Percent of the draws that lie in an interval."""
PER = 1_000
"""The slope is in points per so many words, characters or sentences."""

_PAIRED: tuple[tuple[Kind, Callable[[Floats, Floats], Floats]], ...] = (
    ("pearson", pearson),
    ("spearman", spearman),
)


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Observation(NamedTuple):
    """One report."""

    id: str
    """Orders the reports; unique."""
    task: str | None
    """None: a task of its own."""
    length: float
    score: float


class Estimate(_Frozen):
    """A number with its bootstrap interval."""

    value: float | None
    low: float | None = None
    high: float | None = None
    """Percentiles of the draws in which the number exists; None where it exists in fewer than half of them, and for
    fewer than `LEAST_DRAWN` reports."""
    n_draws: int = 0
    """These draws."""


class Correlation(Estimate):
    """A correlation of score and length."""

    p_value: float | None = None
    """Two-sided, against independence; None where its approximation has no value (|r| = 1)."""


class Relation(_Frozen):
    """Score and length in one sample."""

    n: int
    """Reports."""
    n_tasks: int
    degrees: int | None
    """Of freedom, of the p-values of Pearson and Spearman: n - 2, within tasks n - tasks - 1."""
    pearson: Correlation
    spearman: Correlation
    kendall: Correlation
    slope: Estimate
    """Points per 1,000 words (characters, sentences)."""
    reason: str = ""
    """Why the numbers do not exist."""


class TaskRelation(_Frozen):
    """One task by itself."""

    task: str
    relation: Relation


class LengthBias(_Frozen):
    """How one score goes with length."""

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
    """How the score goes with the length, in all three views.

    Args:
        observations: in any order.
        seed: of the bootstrap.
        draws: of each interval. Reports are drawn with replacement: within tasks those of each task, otherwise
            all.

    Raises:
        ValueError: two observations have the same id.
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
    """The relation in one sample; reports are drawn within each of `groups`."""
    flat = [one for group in groups for one in group]
    number = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    x, y = rounded([one.length for one in flat]), rounded([one.score for one in flat])
    reason = _why_not(x, y, number, within)
    if reason:
        none = Correlation(value=None)
        return Relation(
            n=len(flat),
            n_tasks=n_tasks,
            degrees=None,
            pearson=none,
            spearman=none,
            kendall=none,
            slope=Estimate(value=None),
            reason=reason,
        )
    # Within tasks, n - tasks - 1: each mean that is taken away costs one. Otherwise there is one mean: n - 2.
    degrees = len(flat) - len(groups) - 1
    drawn = _resamples(number, np.random.default_rng(seed), draws if len(flat) >= LEAST_DRAWN else 0)
    counts = np.array([np.bincount(row, minlength=len(flat)) for row in drawn], np.float64)
    counts = counts.reshape(-1, len(flat))

    def settled(values: Floats) -> Floats:
        return centred(values, number) if within else values

    own, many = (settled(x), settled(y)), (settled(x[drawn]), settled(y[drawn]))
    found: dict[Kind, Correlation] = {}
    for kind, measure in _PAIRED:
        value = _clipped(measure(*own))
        found[kind] = _correlation(value, measure(*many), t_test(value, degrees))
    whole = np.ones((1, len(flat)))
    tau = _clipped(kendall(x, y, number, whole)[0])
    found["kendall"] = _correlation(tau, kendall(x, y, number, counts), kendall_test(x, y, number))
    low, high, known = _interval(PER * slope(*many))
    gain = Estimate(value=PER * float(slope(*own)), low=low, high=high, n_draws=known)
    return Relation(
        n=len(flat),
        n_tasks=n_tasks,
        degrees=degrees,
        pearson=found["pearson"],
        spearman=found["spearman"],
        kendall=found["kendall"],
        slope=gain,
    )


def _why_not(x: Floats, y: Floats, number: Ints, within: bool) -> str:
    """Why a sample has no correlation; '' where it has one."""
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


def _clipped(value: Floats) -> float:
    """A correlation, without what rounding adds beyond 1."""
    return min(1.0, max(-1.0, float(value)))


def _correlation(value: float, drawn: Floats, p_value: float | None) -> Correlation:
    low, high, known = _interval(drawn)
    return Correlation(value=value, low=low, high=high, n_draws=known, p_value=p_value)


def _interval(drawn: Floats) -> tuple[float | None, float | None, int]:
    """The percentiles of the draws in which the number exists, and how many these are."""
    known = drawn[~np.isnan(drawn)]
    if 2 * len(known) < len(drawn) or not len(known):
        return None, None, len(known)
    rest = (100 - LEVEL) / 2
    low, high = np.percentile(known, [rest, 100 - rest])
    return float(low), float(high), len(known)
