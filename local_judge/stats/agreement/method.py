"""How far a method's scores agree with people.

Invariant: which tasks are filtered out depends on people alone, so that methods are compared on the same tasks; a task
on which a correlation does not exist is counted, and is no zero unless the measure's name says so.

The measures are those of DeepResearch Bench (appendix I), in each of the readings that its text allows, and Kendall's
tau-b beside its correlations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Literal, NamedTuple

from local_judge.stats.agreement.correlation import fisher_interval, kendall_tau_b, pearson, spearman
from local_judge.stats.agreement.estimate import (
    DRAWS,
    Estimate,
    bootstrap,
    mean_estimate,
    resamples,
    undefined,
)
from local_judge.stats.agreement.icc import icc_1_1
from local_judge.stats.agreement.pairs import Pairs, Ties, add, compare, method_rate
from local_judge.stats.agreement.ratings import Measure, RatedReport, RatedTask

Verdict = Literal["kept", "removed", "undefined"]
"""What the filter makes of a task: its ICC(1,1) is 0 or more, is negative, or does not exist."""


class TaskAgreement(NamedTuple):
    """One task."""

    task: str
    n: int
    """Reports that have both ratings and a score."""
    icc: Estimate
    """ICC(1,1) of the ratings of all its rated reports."""
    filter: Verdict
    pearson: Estimate
    """Of the reports' mean ratings and scores, as the two that follow."""
    spearman: Estimate
    tau: Estimate


class MethodAgreement(NamedTuple):
    """One method."""

    measures: tuple[Measure, ...]
    tasks: tuple[TaskAgreement, ...]
    """Those with at least one report that has ratings and a score, by id."""


class _SystemSum(NamedTuple):
    n: int
    ratings: Fraction
    scores: Fraction

    def plus(self, other: _SystemSum) -> _SystemSum:
        return _SystemSum(self.n + other.n, self.ratings + other.ratings, self.scores + other.scores)


class _Part(NamedTuple):
    """What the measures need of one task."""

    of_means: Pairs
    of_annotators: Pairs
    systems: Mapping[str, _SystemSum]
    n_nameless: int
    """Reports whose system is not known."""
    task: TaskAgreement


_Statistic = Callable[[Sequence[_Part]], Estimate]
_Kind = Literal["pearson", "spearman", "tau"]


def agreement_of_method(
    tasks: Sequence[RatedTask], *, ties: Ties = "strict", seed: int = 0, draws: int = DRAWS
) -> MethodAgreement:
    """Every measure of agreement of the scores in `tasks` with the ratings in them, in a fixed order.

    Args:
        tasks: rated reports; those without score take part in the filter only.
        ties: how the rates of pairs take ties.
        seed: of the bootstrap.
        draws: of each interval.
    """
    scored = [task for task in tasks if any(report.score is not None for report in task.reports)]
    parts = [_part(task) for task in sorted(scored, key=lambda task: task.id)]
    drawn = resamples(len(parts), draws, seed)
    measures = [
        Measure(id, label, unit, bootstrap(parts, statistic, drawn))
        for id, label, unit, statistic in _measures(ties)
    ]
    place = [measure.id for measure in measures].index("overall_pearson")
    measures.insert(place + 1, _over_systems(measures[place]))
    return MethodAgreement(tuple(measures), tuple(part.task for part in parts))


def task_agreement(task: RatedTask) -> TaskAgreement:
    """The filter and the correlations of one task."""
    icc = icc_1_1([report.by_annotator for report in task.reports])
    scored = [(report.mean, report.score) for report in task.reports if report.score is not None]
    ratings, scores = [mean for mean, _ in scored], [score for _, score in scored]
    return TaskAgreement(
        task.id,
        len(scored),
        icc,
        "undefined" if icc.value is None else "removed" if icc.value < 0 else "kept",
        pearson(ratings, scores),
        spearman(ratings, scores),
        kendall_tau_b(ratings, scores),
    )


def _measures(ties: Ties) -> list[tuple[str, str, str, _Statistic]]:
    def of_means(parts: Sequence[_Part]) -> Estimate:
        return method_rate(add(part.of_means for part in parts), ties)

    def of_annotators(parts: Sequence[_Part]) -> Estimate:
        return method_rate(add(part.of_annotators for part in parts), ties)

    def filtered(kind: _Kind, undefined_as: float | None, parts: Sequence[_Part]) -> Estimate:
        kept = [part.task for part in parts if part.task.filter == "kept" and part.task.n > 1]
        values: list[float | None] = [getattr(task, kind).value for task in kept]
        return mean_estimate(values, "no task is kept that has a correlation", undefined_as=undefined_as)

    four: tuple[_Statistic, ...] = (
        of_means,
        _overall_pearson,
        partial(filtered, "pearson", None),
        partial(filtered, "spearman", None),
    )

    def overall(parts: Sequence[_Part]) -> Estimate:
        values = [statistic(parts).value for statistic in four]
        missing = values.count(None)
        if missing:
            return undefined(f"{missing} of the four does not exist", 4 - missing, missing)
        return mean_estimate(values, "")

    return [
        ("pairwise", "pairwise agreement, mean rating", "pairs", of_means),
        ("pairwise_annotators", "pairwise agreement, each annotator", "pairs", of_annotators),
        ("overall_pearson", "overall Pearson", "systems", _overall_pearson),
        ("filtered_pearson", "filtered average Pearson", "tasks", four[2]),
        ("filtered_spearman", "filtered average Spearman", "tasks", four[3]),
        ("filtered_tau", "filtered average tau-b", "tasks", partial(filtered, "tau", None)),
        (
            "filtered_pearson_zero",
            "filtered Pearson, undefined as 0",
            "tasks",
            partial(filtered, "pearson", 0.0),
        ),
        (
            "filtered_spearman_zero",
            "filtered Spearman, undefined as 0",
            "tasks",
            partial(filtered, "spearman", 0.0),
        ),
        ("overall", "mean of the four", "measures", overall),
    ]


def system_means(tasks: Sequence[RatedTask]) -> dict[str, tuple[Fraction, Fraction]]:
    """Mean rating and mean score of each system, by name, over its reports that have both."""
    sums = _by_system([_system_sums(_scored(task)) for task in tasks])
    return {name: (one.ratings / one.n, one.scores / one.n) for name, one in sorted(sums.items())}


def _overall_pearson(parts: Sequence[_Part]) -> Estimate:
    """Pearson of the systems' mean ratings and mean scores; `n` is the number of systems."""
    sums = sorted(_by_system([part.systems for part in parts]).items())
    found = pearson([one.ratings / one.n for _, one in sums], [one.scores / one.n for _, one in sums])
    return found._replace(n_undefined=sum(part.n_nameless for part in parts))


def _over_systems(measure: Measure) -> Measure:
    """The same number with the interval that systems drawn anew would have."""
    found = measure.estimate
    interval = None if found.value is None else fisher_interval(found.value, found.n)
    low, high = interval or (None, None)
    return Measure(
        "overall_pearson_fisher",
        "overall Pearson, other systems (Fisher)",
        measure.unit,
        found._replace(low=low, high=high, n_draws=0),
    )


def _scored(task: RatedTask) -> list[tuple[RatedReport, Fraction]]:
    return [(report, report.score) for report in task.reports if report.score is not None]


def _part(task: RatedTask) -> _Part:
    scored = _scored(task)
    scores = [score for _, score in scored]
    by_annotator: list[Pairs] = []
    for annotator in task.annotators:
        rated = [
            (report.ratings[annotator], score) for report, score in scored if annotator in report.ratings
        ]
        by_annotator.append(compare([rating for rating, _ in rated], [score for _, score in rated]))
    return _Part(
        compare([report.mean for report, _ in scored], scores),
        add(by_annotator),
        _system_sums(scored),
        sum(report.system is None for report, _ in scored),
        task_agreement(task),
    )


def _system_sums(scored: Sequence[tuple[RatedReport, Fraction]]) -> dict[str, _SystemSum]:
    return _by_system(
        [
            {report.system: _SystemSum(1, report.mean, score)}
            for report, score in scored
            if report.system is not None
        ]
    )


def _by_system(parts: Sequence[Mapping[str, _SystemSum]]) -> dict[str, _SystemSum]:
    sums: dict[str, _SystemSum] = {}
    for part in parts:
        for name, one in part.items():
            before = sums.get(name)
            sums[name] = one if before is None else before.plus(one)
    return sums
