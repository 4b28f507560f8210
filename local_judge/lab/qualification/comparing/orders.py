"""Judges on the same reports: how far their scores agree, and whether each would keep its order of systems.

    tau          Kendall's tau-b over reports
    difference   mean |first - second|, bias: mean (first - second), on the score's own scale
    icc          ICC(2,1) of Shrout and Fleiss

Intervals are of a bootstrap over tasks: reports on one task stay together.

Invariant: two judges are compared on the reports that both have scored; on fewer than three nothing is said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Final, NamedTuple

import numpy as np

from local_judge.lab.qualification.comparing.model import Agreeing, Stability
from local_judge.lab.qualification.figures import Draws, draws_of
from local_judge.stats.agreement.icc import icc_2_1
from local_judge.stats.agreement.order_stability import OrderStability, order_stability, ranks_of
from local_judge.stats.correlation import kendall_draws
from local_judge.stats.estimate import Estimate, undefined, with_interval
from local_judge.stats.numeric import DIGITS, Floats

LEAST_REPORTS: Final = 3


class Scored(NamedTuple):
    """One score of one report by one judge."""

    protocol: str
    score: str
    judge: str
    report: str
    task: str | None
    system: str | None
    value: float | None


def agreeing(rows: Sequence[Scored], judges: Sequence[str], draws: Draws) -> list[Agreeing]:
    """Each two judges by each score, in the order in which scores first occur."""
    return [
        _agreeing(metric, first, second, own, draws)
        for metric, own in _by_metric(rows)
        for first, second in combinations(judges, 2)
        if {first, second} <= {row.judge for row in own}
    ]


def stabilities(rows: Sequence[Scored], judges: Sequence[str], draws: Draws) -> list[Stability]:
    """Each judge by each score of reports of which two systems at least are named."""
    found: list[Stability] = []
    for metric, own in _by_metric(rows):
        kept = {
            judge: made for judge in judges if (made := _kept([r for r in own if r.judge == judge], draws))
        }
        for judge, one in kept.items():
            mine = [row for row in own if row.judge == judge]
            found.append(
                Stability(
                    protocol=metric[0],
                    score=metric[1],
                    judge=judge,
                    n_tasks=one.n_tasks,
                    n_reports=len(mine),
                    n_missing=sum(row.value is None for row in mine),
                    order=one.order,
                    kept=one.kept,
                    closest=one.closest,
                    closest_kept=one.closest_kept,
                    same_order={
                        other: same
                        for other in kept
                        if other != judge and (same := _same_order(own, judge, other)) is not None
                    },
                )
            )
    return found


def _same_order(rows: Sequence[Scored], judge: str, other: str) -> bool | None:
    """Whether two judges put systems in one order, on the reports that both have scored; None where there is none."""
    sides = [{row.report: row for row in rows if row.judge == one} for one in (judge, other)]
    both = {
        report
        for report in sides[0].keys() & sides[1].keys()
        if all(side[report].value is not None for side in sides)
    }
    no_draws = Draws(0, 0)
    orders = [
        made.order if (made := _kept([row for id, row in side.items() if id in both], no_draws)) else ()
        for side in sides
    ]
    return ranks_of(orders[0]) == ranks_of(orders[1]) if all(orders) else None


def _by_metric(rows: Sequence[Scored]) -> Iterator[tuple[tuple[str, str], list[Scored]]]:
    for metric in dict.fromkeys((row.protocol, row.score) for row in rows):
        yield metric, [row for row in rows if (row.protocol, row.score) == metric]


def _agreeing(
    metric: tuple[str, str], first: str, second: str, rows: Sequence[Scored], draws: Draws
) -> Agreeing:
    sides = [
        {row.report: row for row in rows if row.judge == judge and row.value is not None}
        for judge in (first, second)
    ]
    both = sorted(sides[0].keys() & sides[1].keys())
    shares = _shares(both, sides, draws)
    return Agreeing(
        protocol=metric[0],
        score=metric[1],
        first=first,
        second=second,
        n=len(both),
        n_only_first=len(sides[0]) - len(both),
        n_only_second=len(sides[1]) - len(both),
        **shares,
    )


def _shares(both: Sequence[str], sides: Sequence[dict[str, Scored]], draws: Draws) -> dict[str, Estimate]:
    if len(both) < LEAST_REPORTS:
        reason = f"{len(both)} reports that both have scored, needs {LEAST_REPORTS}"
        return dict.fromkeys(("tau", "difference", "bias", "icc"), undefined(reason))
    x, y = (np.array([side[report].value for report in both], np.float64) for side in sides)
    tasks = [sides[0][report].task or f"report {report}" for report in both]
    names = sorted(set(tasks))
    place = np.array([names.index(task) for task in tasks], np.int64)
    drawn = [np.bincount(draw, minlength=len(names))[place] for draw in draws_of(len(names), draws)]
    counts = np.array(drawn, np.float64).reshape(-1, len(both))

    def estimate(measure: Callable[[Floats], Floats], missing: str = "") -> Estimate:
        value = _number(measure(np.ones((1, len(both))))[0])
        values = [_number(one) for one in measure(counts)]
        found = with_interval(Estimate(value, len(both)), values, len(names))
        return replace(found, reason="" if value is not None else missing)

    groups = np.zeros(len(both), np.int64)
    apart = x - y
    return {
        "tau": estimate(lambda n: kendall_draws(x, y, groups, n), "the scores of one are all equal"),
        "difference": estimate(lambda n: n @ np.abs(apart) / n.sum(axis=1)),
        "bias": estimate(lambda n: n @ apart / n.sum(axis=1)),
        "icc": icc_2_1([(float(a), float(b)) for a, b in zip(x, y, strict=True)]),
    }


def _kept(rows: Sequence[Scored], draws: Draws) -> OrderStability | None:
    """None where fewer than two systems are named."""
    given: dict[str, dict[str, list[float]]] = {}
    for row in rows:
        if row.system is not None and row.value is not None:
            task = given.setdefault(row.task or f"report {row.report}", {})
            task.setdefault(row.system, []).append(row.value)
    if len({row.system for row in rows} - {None}) < 2:
        return None
    means = {
        task: {system: float(np.mean(own)) for system, own in systems.items()}
        for task, systems in given.items()
    }
    return order_stability(means, seed=draws.seed, draws=draws.n)


def _number(value: float) -> float | None:
    return None if np.isnan(value) else round(float(value), DIGITS) + 0.0
