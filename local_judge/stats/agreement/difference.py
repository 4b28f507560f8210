"""By how much one method agrees better with people than another.

Invariant: both are measured on the same reports of the same tasks, and in each draw of the bootstrap on the same tasks
again: what makes a task hard for both is in no difference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from local_judge.stats.agreement.method import Part, Replicated, parts_of, replicated_measures
from local_judge.stats.agreement.pairwise import Ties
from local_judge.stats.agreement.ratings import Measure, RatedReport, RatedTask
from local_judge.stats.estimate import DRAWS, Estimate, resamples, undefined, with_interval


class Difference(NamedTuple):
    """One method less another."""

    measures: tuple[Measure, ...]
    """By the names of `MethodAgreement`; `n` is the number of tasks, `n_undefined` what either had to leave out."""
    n_reports: int
    """Decision reports that both have scored: the differences are of these."""
    n_first: int
    """Decision reports that only the first has scored."""
    n_second: int


def difference_of_methods(
    first: Sequence[RatedTask],
    second: Sequence[RatedTask],
    *,
    ties: Ties = "strict",
    filtered: bool = True,
    seed: int = 0,
    draws: int = DRAWS,
) -> Difference:
    """Every measure of the first method less that of the second, with the interval of the paired bootstrap over tasks.

    Formula: in each draw of tasks, measure(first) - measure(second); the 2.5th and the 97.5th percentile of these
    (Efron and Tibshirani 1993, chapter 13). A draw in which either does not exist is not among them.

    Args:
        first: the rated tasks with the scores of one method; at least one report is scored.
        second: the same with those of the other.
        ties: how the rates of pairs take ties.
        filtered: as of `agreement_of_method`.
        seed: of the bootstrap.
        draws: of each interval.
    """
    ones, others = _scores(first), _scores(second)
    both = {unit for unit in ones if unit in others}
    if not both:
        return Difference(
            _none(parts_of(first) or parts_of(second), ties, filtered), 0, len(ones), len(others)
        )
    sides = [parts_of(_only(tasks, both)) for tasks in (first, second)]
    drawn = resamples(len(sides[0]), draws, seed)
    measured = (replicated_measures(parts, drawn, ties, filtered) for parts in sides)
    measures = tuple(_less(one, other, len(sides[0])) for one, other in zip(*measured, strict=True))
    return Difference(measures, len(both), len(ones) - len(both), len(others) - len(both))


def _none(parts: Sequence[Part], ties: Ties, filtered: bool) -> tuple[Measure, ...]:
    """No measure of two methods that have scored no report together."""
    reason = undefined("no report that both have scored")
    measures = (one.measure for one in replicated_measures(parts, (), ties, filtered))
    return tuple(one._replace(unit="tasks", estimate=reason) for one in measures)


def _scores(tasks: Sequence[RatedTask]) -> Mapping[tuple[str, str], None]:
    return {
        (task.id, report.id): None for task in tasks for report in task.reports if report.score is not None
    }


def _only(tasks: Sequence[RatedTask], units: set[tuple[str, str]]) -> list[RatedTask]:
    """The tasks with the scores of some reports; ratings stay, since the filter is of all of them."""

    def kept(task: RatedTask, report: RatedReport) -> RatedReport:
        return report if (task.id, report.id) in units else report._replace(score=None)

    return [task._replace(reports=tuple(kept(task, one) for one in task.reports)) for task in tasks]


def _less(one: Replicated, other: Replicated, n_tasks: int) -> Measure:
    first, second = one.measure.estimate, other.measure.estimate
    n_undefined = first.n_undefined + second.n_undefined
    if first.value is None or second.value is None:
        found = undefined(first.reason or second.reason, n_tasks, n_undefined)
    else:
        drawn = [
            None if left is None or right is None else left - right
            for left, right in zip(one.drawn, other.drawn, strict=True)
        ]
        difference = Estimate(first.value - second.value, n_tasks, n_undefined)
        found = with_interval(difference, drawn, n_tasks)
    return one.measure._replace(unit="tasks", estimate=found)
