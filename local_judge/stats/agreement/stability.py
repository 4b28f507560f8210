"""Do judges give the same reports the same scores, and put them in the same order?

Invariant: all measures are of the reports that every judge has scored, and in each draw of the bootstrap of the reports
of the same tasks; what a judge has not scored is counted. Reports on one task stay together in a draw.

    kendall_w        Kendall's W of the judges' orders of all reports
    mean_spearman    mean over pairs of judges of Spearman's rank correlation of their scores
    mean_tau         the same of Kendall's tau-b
    alpha_interval   Krippendorff's alpha for an interval scale
    icc_2_1          ICC(2,1): absolute agreement of one judge's score
    icc_2_k          ICC(2,k): absolute agreement of the mean of all judges' scores

These are the measures of the stability of judges in DEER, Tables 4, 21 and 22. Formulas stand with
the functions that compute them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, combinations, pairwise
from typing import Final, NamedTuple

import numpy as np

from local_judge.stats.agreement import chance, icc
from local_judge.stats.agreement.ratings import Measure
from local_judge.stats.correlation import kendall_draws, kendall_w, spearman_rows
from local_judge.stats.estimate import (
    DRAWS,
    Estimate,
    Resamples,
    mean_estimate,
    undefined,
    with_interval,
)
from local_judge.stats.numeric import Floats, exact, rounded, scaled

LEAST_REPORTS: Final = 3
"""Two reports always have an order, which is the same or the opposite."""


class JudgedReport(NamedTuple):
    """One report."""

    id: str
    """Unique; orders the reports."""
    task: str | None
    """None: a task of its own."""
    scores: Mapping[str, float]
    """Scores by judge, without judges that gave none."""


class PairOfJudges(NamedTuple):
    """Two judges on the reports that all have scored."""

    first: str
    second: str
    spearman: float | None
    tau: float | None
    """None where a judge gives all of these reports one score."""


class Stability(NamedTuple):
    """Agreement of judges by one score."""

    measures: tuple[Measure, ...]
    """Measures in the order of the module's docstring."""
    pairs: tuple[PairOfJudges, ...]
    n_reports: int
    """Number of reports that every judge has scored."""
    n_tasks: int
    """Number of tasks of these reports."""
    n_missing: Mapping[str, int]
    """Number of reports without a score, by judge."""


_NAMES: Final = (
    ("kendall_w", "Kendall's W", "reports"),
    ("mean_spearman", "mean Spearman", "pairs of judges"),
    ("mean_tau", "mean tau-b", "pairs of judges"),
    ("alpha_interval", "alpha, interval", "scores"),
    ("icc_2_1", "ICC(2,1)", "reports"),
    ("icc_2_k", "ICC(2,k)", "reports"),
)
"""Id, label and unit of each measure."""


def stability_of_judges(
    reports: Sequence[JudgedReport], judges: Sequence[str], *, seed: int = 0, draws: int = DRAWS
) -> Stability:
    """Return every measure of agreement of `judges` on `reports`.

    Args:
        reports: with their scores; those of other judges are passed over.
        judges: two at least, all different.
        seed: of the bootstrap over tasks.
        draws: of each interval.
    """
    whole = [one for one in reports if all(judge in one.scores for judge in judges)]
    parts = _by_task(whole)
    missing = {judge: sum(judge not in one.scores for one in reports) for judge in judges}
    if len(whole) < LEAST_REPORTS:
        reason = f"{len(whole)} reports that all judges have scored, needs {LEAST_REPORTS}"
        nothing = [Measure(id, label, unit, undefined(reason)) for id, label, unit in _NAMES]
        return Stability(tuple(nothing), (), len(whole), len(parts), missing)
    drawn = Resamples(len(parts), draws, seed)
    orders, *drawn_orders = _orders(parts, judges, drawn)
    found = (
        with_interval(_w(orders.w, len(whole)), [one.w for one in drawn_orders], len(parts)),
        _mean(orders.spearman, [one.spearman for one in drawn_orders], len(parts)),
        _mean(orders.tau, [one.tau for one in drawn_orders], len(parts)),
        *_of_sums(parts, judges, drawn),
    )
    return Stability(
        tuple(Measure(*names, estimate) for names, estimate in zip(_NAMES, found, strict=True)),
        tuple(
            PairOfJudges(one, other, rho, tau)
            for (one, other), rho, tau in zip(
                combinations(judges, 2), orders.spearman, orders.tau, strict=True
            )
        ),
        len(whole),
        len(parts),
        missing,
    )


class _Orders(NamedTuple):
    """Agreement of the judges' orders of the reports in one draw."""

    w: float | None
    spearman: Sequence[float | None]
    """Correlation of each pair of judges."""
    tau: Sequence[float | None]


def _by_task(reports: Sequence[JudgedReport]) -> list[list[JudgedReport]]:
    """Tasks in the order of their first reports, reports by id."""
    tasks: dict[tuple[str, bool], list[JudgedReport]] = {}
    for one in sorted(reports, key=lambda one: one.id):
        unit = (one.id, True) if one.task is None else (one.task, False)
        tasks.setdefault(unit, []).append(one)
    return list(tasks.values())


def _orders(
    parts: Sequence[Sequence[JudgedReport]], judges: Sequence[str], drawn: Iterable[Sequence[int]]
) -> list[_Orders]:
    """Return the agreement on all reports, then on those of each draw."""
    reports = [one for own in parts for one in own]
    table = np.array([rounded([one.scores[judge] for one in reports]) for judge in judges])
    # Whole numbers in the same order.
    levels = np.unique(table, return_inverse=True)[1].reshape(table.shape)
    ends = accumulate(len(own) for own in parts)
    places = [range(end - len(own), end) for own, end in zip(parts, ends, strict=True)]
    samples = [
        list(range(len(reports))),
        *([place for part in draw for place in places[part]] for draw in drawn),
    ]
    counts = np.array([np.bincount(sample, minlength=len(reports)) for sample in samples], np.float64)
    pairs = list(combinations(range(len(judges)), 2))
    first, second = ([pair[side] for pair in pairs] for side in (0, 1))
    alone = np.zeros(len(reports), np.int64)
    taus = np.array([kendall_draws(table[one], table[other], alone, counts) for one, other in pairs]).T
    return [
        _Orders(
            kendall_w(levels[:, sample].tolist()).value,
            _known(spearman_rows(table[first][:, sample], table[second][:, sample])),
            _known(tau),
        )
        for sample, tau in zip(samples, taus, strict=True)
    ]


def _known(values: Floats) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in values]


def _w(value: float | None, n: int) -> Estimate:
    return undefined("no judge has an order", n) if value is None else Estimate(value, n)


def _mean(values: Sequence[float | None], drawn: Sequence[Sequence[float | None]], n_tasks: int) -> Estimate:
    """Return the mean over the pairs of judges that have a correlation."""

    def mean(found: Sequence[float | None]) -> Estimate:
        return mean_estimate(found, "no two judges have a correlation")

    return with_interval(mean(values), [mean(draw).value for draw in drawn], n_tasks)


def _of_sums(
    parts: Sequence[Sequence[JudgedReport]], judges: Sequence[str], drawn: Iterable[Sequence[int]]
) -> Iterator[Estimate]:
    """Alpha and both ICC. They do not depend on the unit of the scores: whole numbers are as good, and fast."""
    fractions = [[[exact(one.scores[judge]) for judge in judges] for one in own] for own in parts]
    factor = scaled(score for own in fractions for row in own for score in row)
    rows = [[[int(score * factor) for score in row] for row in own] for own in fractions]
    yield chance.pooled_alpha([chance.count_ratings(own) for own in rows], "interval").estimate(drawn)
    tables = [icc.two_way(own, len(judges)) for own in rows]
    yield icc.pooled_icc(tables, "2,1").estimate(drawn)
    yield icc.pooled_icc(tables, "2,k").estimate(drawn)


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
    """Number of tasks on which each system has a score."""


def order_stability(scores: Mapping[str, Mapping[str, float]], *, seed: int, draws: int) -> OrderStability:
    """Return the order of systems by their mean over tasks, and how often draws of tasks keep it.

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
        np.array([table[draw].mean(axis=0) for draw in Resamples(len(table), draws, seed)]).reshape(
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
    """Return the rank of each system; equal means have one rank."""
    return {system: 1 + sum(mean > own for _, mean in order) for system, own in order}
