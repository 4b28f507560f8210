"""Would the order of systems be the same on other tasks?

Invariant: systems are compared on the tasks on which each of them has a score, the same tasks in every draw; systems
with equal means have no order, which no draw can keep or lose.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np

from local_judge.stats.estimate import Estimate, resamples, undefined
from local_judge.stats.numeric import rounded

LEAST_TASKS = 3
"""Fewer draw much the same tasks again and again."""


class OrderStability(NamedTuple):
    """An order and how far draws of tasks keep it."""

    order: tuple[tuple[str, float], ...]
    """Systems with their means, the best first; of equal ones the earlier name."""
    kept: Estimate
    """Share of the draws in which every two systems stand as they do on all tasks; `n` is the number of draws."""
    closest: tuple[str, str] | None
    """The two neighbours in the order that most draws put otherwise; None where none have an order."""
    closest_kept: Estimate | None
    n_tasks: int
    """On which each system has a score."""


def order_stability(scores: Mapping[str, Mapping[str, float]], *, seed: int, draws: int) -> OrderStability:
    """The order of systems by their mean over tasks, and how often draws of tasks keep it.

    Formula: with m_s the mean of system s, and m*_s its mean over tasks drawn with replacement, the same for all
    systems: the share of the draws with m*_s > m*_t for each s, t with m_s > m_t.

    Args:
        scores: by task, and by system; two systems at least in all.
        seed: of the draws.
        draws: how many.
    """
    systems = sorted({system for own in scores.values() for system in own})
    complete = [own for _, own in sorted(scores.items()) if len(own) == len(systems)]
    if len(systems) < 2 or len(complete) < LEAST_TASKS:
        reason = (
            f"{len(complete)} tasks with a score of each of {len(systems)} systems; needs {LEAST_TASKS} tasks "
            "and two systems"
        )
        return OrderStability((), undefined(reason), None, None, len(complete))
    table = np.array([[own[system] for system in systems] for own in complete], np.float64)
    means = rounded(table.mean(axis=0))
    ranked = sorted(range(len(systems)), key=lambda place: (-means[place], systems[place]))
    order = tuple((systems[place], float(means[place])) for place in ranked)
    drawn = rounded(
        np.array([table[draw].mean(axis=0) for draw in resamples(len(table), draws, seed)]).reshape(
            -1, len(systems)
        )
    )
    pairs = [(one, other) for one, other in combinations(ranked, 2) if means[one] > means[other]]
    if not pairs or not draws:
        reason = "all systems have the same mean" if not pairs else "nothing was drawn"
        return OrderStability(order, undefined(reason), None, None, len(table))
    stays = {(one, other): drawn[:, one] > drawn[:, other] for one, other in pairs}
    whole = np.logical_and.reduce(list(stays.values()))
    shares = [(float(stays[pair].mean()), pair) for pair in pairwise(ranked) if pair in stays]
    least, (one, other) = min(shares, key=lambda row: row[0])
    return OrderStability(
        order,
        Estimate(float(whole.mean()), draws, hits=float(whole.sum())),
        (systems[one], systems[other]),
        Estimate(least, draws),
        len(table),
    )


def ranks_of(order: Sequence[tuple[str, float]]) -> dict[str, int]:
    """The rank of each system; equal means have one rank."""
    return {system: 1 + sum(mean > own for _, mean in order) for system, own in order}
