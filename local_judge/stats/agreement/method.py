"""Agreement of a method's scores with people, and the difference of two methods.

Invariant: which tasks are filtered out depends on people alone, so that methods are compared on the same tasks; a task
on which a correlation does not exist is counted, and is no zero unless the measure's name says so.

The measures are those of DeepResearch Bench, appendix I, in each of the readings that its text allows, and Kendall's
tau-b beside its correlations. Without the filter, correlations within tasks are of all tasks, as DEER, appendix H
reports them; its pairwise agreement is the mean over tasks. Of several judges, it reports the mean and the standard
deviation of each measure (DEER, Table 3).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from statistics import mean
from typing import Any, Literal, NamedTuple

from local_judge.stats.agreement.icc import icc_1_1
from local_judge.stats.agreement.ratings import (
    Measure,
    Pairs,
    RatedReport,
    RatedTask,
    Ties,
    add,
    compare,
    mean_rate,
    method_rate,
    pooled_rate,
)
from local_judge.stats.correlation import fisher_interval, kendall_tau_b, pearson, spearman
from local_judge.stats.estimate import (
    DRAWS,
    Estimate,
    Resamples,
    SumStatistic,
    mean_estimate,
    replicates,
    undefined,
    with_interval,
)
from local_judge.stats.numeric import scaled

Verdict = Literal["kept", "removed", "undefined"]
"""Decision of the filter on a task: its ICC(1,1) is 0 or more, negative, or undefined."""


class TaskAgreement(NamedTuple):
    """One task."""

    task: str
    n: int
    """Reports that have both ratings and a score."""
    icc: Estimate
    """ICC(1,1) of the ratings of all its rated reports."""
    filter: Verdict
    pearson: Estimate
    """Correlation of the reports' mean ratings and scores, as `spearman` and `tau`."""
    spearman: Estimate
    tau: Estimate


class MethodAgreement(NamedTuple):
    """One method."""

    measures: tuple[Measure, ...]
    tasks: tuple[TaskAgreement, ...]
    """Tasks with at least one report that has ratings and a score, by id."""


class Part(NamedTuple):
    """Sums of one task that the measures need."""

    of_means: Pairs
    of_annotators: Pairs
    reports: Sequence[tuple[str | None, Fraction, Fraction]]
    """System, mean rating and score of the reports that have both."""
    task: TaskAgreement


_Kind = Literal["pearson", "spearman", "tau"]
Correlation = Callable[[Sequence[Fraction], Sequence[Fraction]], Estimate]


class Replicated(NamedTuple):
    """A measure before it has an interval, with its values in the draws."""

    measure: Measure
    drawn: list[float | None]


def agreement_of_method(
    tasks: Sequence[RatedTask],
    *,
    ties: Ties = "strict",
    filtered: bool = True,
    seed: int = 0,
    draws: int = DRAWS,
) -> MethodAgreement:
    """Return every measure of agreement of the scores in `tasks` with their ratings, in a fixed order.

    Args:
        tasks: at least one report with ratings and a score; those without score take part in the filter only.
        ties: how the rates of pairs take ties.
        filtered: whether correlations within tasks are of the tasks that the filter keeps, or of all.
        seed: of the bootstrap.
        draws: of each interval.
    """
    parts = parts_of(tasks)
    measures = [
        one.measure._replace(estimate=with_interval(one.measure.estimate, one.drawn, len(parts)))
        for one in replicated_measures(parts, Resamples(len(parts), draws, seed), ties, filtered)
    ]
    place = next(number for number, one in enumerate(measures) if one.id == "overall_pearson")
    measures.insert(place + 1, _fisher(measures[place]))
    return MethodAgreement(tuple(measures), tuple(part.task for part in parts))


def parts_of(tasks: Sequence[RatedTask]) -> list[Part]:
    """Return the sums of each task with at least one report that has ratings and a score, by id."""
    scored = [task for task in tasks if any(report.score is not None for report in task.reports)]
    return [_part(task) for task in sorted(scored, key=lambda task: task.id)]


def replicated_measures(
    parts: Sequence[Part], drawn: Iterable[Sequence[int]], ties: Ties, filtered: bool
) -> list[Replicated]:
    """Return every measure with its values in the draws, in a fixed order."""

    def of_sums(id: str, label: str, unit: str, statistic: SumStatistic[Any]) -> Replicated:
        return Replicated(Measure(id, label, unit, statistic.found()), statistic.replicates(drawn))

    def within(id: str, label: str, kind: _Kind, undefined_as: float | None = None) -> Replicated:
        def mean(tasks: Sequence[TaskAgreement]) -> Estimate:
            return _mean_within_tasks(tasks, kind, filtered, undefined_as)

        tasks = [part.task for part in parts]
        name = "filtered" if filtered else "unfiltered"
        measure = Measure(f"{name}_{id}", f"{name} {label}", "tasks", mean(tasks))
        return Replicated(measure, replicates(tasks, mean, drawn))

    of_means = [part.of_means for part in parts]
    by_mean = pooled_rate(of_means, ties, method_rate)
    by_task, by_task_drawn = mean_rate(of_means, ties, method_rate, drawn)
    by_annotator = pooled_rate([part.of_annotators for part in parts], ties, method_rate)
    systems = _over_systems(parts)
    measures = [
        of_sums("pairwise", "pairwise, mean rating", "pairs", by_mean),
        Replicated(
            Measure("pairwise_tasks", "pairwise by task, mean rating", "tasks", by_task), by_task_drawn
        ),
        of_sums("pairwise_annotators", "pairwise, each annotator", "pairs", by_annotator),
        of_sums("overall_pearson", "overall Pearson", "systems", systems(pearson)),
        of_sums("overall_tau", "overall tau-b", "systems", systems(kendall_tau_b)),
        within("pearson", "Pearson", "pearson"),
        within("spearman", "Spearman", "spearman"),
        within("tau", "tau-b", "tau"),
        within("pearson_zero", "Pearson, undef. as 0", "pearson", 0.0),
        within("spearman_zero", "Spearman, undef. as 0", "spearman", 0.0),
    ]
    if filtered:
        four = ("pairwise", "overall_pearson", "filtered_pearson", "filtered_spearman")
        measures.append(_mean_of_four([one for one in measures if one.measure.id in four]))
    return measures


def task_agreement(task: RatedTask) -> TaskAgreement:
    """Return the filter and the correlations of one task."""
    icc = icc_1_1([report.by_annotator for report in task.reports])
    scored = _scored(task)
    ratings, scores = [rating for _, rating, _ in scored], [score for _, _, score in scored]
    return TaskAgreement(
        task.id,
        len(scored),
        icc,
        "undefined" if icc.value is None else "removed" if icc.value < 0 else "kept",
        pearson(ratings, scores),
        spearman(ratings, scores),
        kendall_tau_b(ratings, scores),
    )


def system_means(tasks: Sequence[RatedTask]) -> dict[str, tuple[Fraction, Fraction]]:
    """Mean rating and mean score of each system, by name, over its reports that have both."""
    found: dict[str, list[tuple[Fraction, Fraction]]] = {}
    for task in tasks:
        for system, rating, score in _scored(task):
            if system is not None:
                found.setdefault(system, []).append((rating, score))
    return {
        name: (mean([rating for rating, _ in reports]), mean([score for _, score in reports]))
        for name, reports in sorted(found.items())
    }


def _mean_within_tasks(
    tasks: Sequence[TaskAgreement], kind: _Kind, filtered: bool, undefined_as: float | None
) -> Estimate:
    """The mean over all tasks, or those that the filter keeps; a task with one report has nothing to correlate."""
    values: list[float | None] = [
        getattr(task, kind).value for task in tasks if (task.filter == "kept" or not filtered) and task.n > 1
    ]
    nothing = "no task is kept that has a correlation" if filtered else "no task has a correlation"
    return mean_estimate(values, nothing, undefined_as=undefined_as)


def _mean_of_four(four: Sequence[Replicated]) -> Replicated:
    """Return the plain mean of four measures; undefined if one of them is."""

    def mean(values: Sequence[float | None]) -> Estimate:
        missing = values.count(None)
        if missing:
            return undefined(f"{missing} of the four does not exist", len(values) - missing, missing)
        return mean_estimate(values, "")

    found = mean([one.measure.estimate.value for one in four])
    drawn = [mean(values).value for values in zip(*(one.drawn for one in four), strict=True)]
    return Replicated(Measure("overall", "mean of the four", "measures", found), drawn)


def _over_systems(parts: Sequence[Part]) -> Callable[[Correlation], SumStatistic[tuple[str | None, str]]]:
    """Return a function that gives a correlation of the systems' mean ratings and mean scores; `n` counts systems."""
    reports = [report for part in parts for report in part.reports]
    of_ratings = scaled(rating for _, rating, _ in reports)
    of_scores = scaled(score for _, _, score in reports)
    names = sorted({system for system, _, _ in reports if system is not None})
    tables: list[Counter[tuple[str | None, str]]] = []
    for part in parts:
        table: Counter[tuple[str | None, str]] = Counter()
        for system, rating, score in part.reports:
            table[system, "n"] += 1
            table[system, "ratings"] += int(rating * of_ratings)
            table[system, "scores"] += int(score * of_scores)
        tables.append(table)

    def statistic(correlation: Correlation, sums: Mapping[tuple[str | None, str], int]) -> Estimate:
        drawn = [(name, n) for name in names if (n := sums[name, "n"])]
        found = correlation(
            [Fraction(sums[name, "ratings"], n) for name, n in drawn],
            [Fraction(sums[name, "scores"], n) for name, n in drawn],
        )
        return replace(found, n_undefined=sums.get((None, "n"), 0))

    return lambda correlation: SumStatistic(tables, partial(statistic, correlation))


def _fisher(measure: Measure) -> Measure:
    """Return the same number with Fisher's interval, as if systems were drawn at random."""
    found = measure.estimate
    interval = None if found.value is None else fisher_interval(found.value, found.n)
    low, high = interval or (None, None)
    return Measure(
        "overall_pearson_fisher",
        "overall Pearson (Fisher)",
        measure.unit,
        replace(found, low=low, high=high, n_draws=0),
    )


def _scored(task: RatedTask) -> list[tuple[str | None, Fraction, Fraction]]:
    return [(report.system, report.mean, report.score) for report in task.reports if report.score is not None]


def _part(task: RatedTask) -> Part:
    reports = _scored(task)
    by_annotator: list[Pairs] = []
    for annotator in task.annotators:
        rated = [
            (report.ratings[annotator], report.score)
            for report in task.reports
            if report.score is not None and annotator in report.ratings
        ]
        by_annotator.append(compare([rating for rating, _ in rated], [score for _, score in rated]))
    return Part(
        compare([rating for _, rating, _ in reports], [score for _, _, score in reports]),
        add(by_annotator),
        reports,
        task_agreement(task),
    )


class Difference(NamedTuple):
    """One method less another."""

    measures: tuple[Measure, ...]
    """Differences, named as in `MethodAgreement`; `n` counts tasks, `n_undefined` what either method leaves out."""
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
    """Return every measure of the first method less that of the second, with a paired bootstrap interval over tasks.

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
    drawn = Resamples(len(sides[0]), draws, seed)
    measured = (replicated_measures(parts, drawn, ties, filtered) for parts in sides)
    measures = tuple(_less(one, other, len(sides[0])) for one, other in zip(*measured, strict=True))
    return Difference(measures, len(both), len(ones) - len(both), len(others) - len(both))


def _none(parts: Sequence[Part], ties: Ties, filtered: bool) -> tuple[Measure, ...]:
    """Return undefined measures for two methods that have no scored report in common."""
    reason = undefined("no report that both have scored")
    measures = (one.measure for one in replicated_measures(parts, (), ties, filtered))
    return tuple(one._replace(unit="tasks", estimate=reason) for one in measures)


def _scores(tasks: Sequence[RatedTask]) -> Mapping[tuple[str, str], None]:
    return {
        (task.id, report.id): None for task in tasks for report in task.reports if report.score is not None
    }


def _only(tasks: Sequence[RatedTask], units: set[tuple[str, str]]) -> list[RatedTask]:
    """Return the tasks with the scores of some reports; ratings stay, since the filter is of all of them."""

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
