"""How far people agree with each other.

Invariant: every measure is of all ratings, whatever any method says of the reports; ratings that are missing are left
out where a measure allows it, and what is left out is counted where it does not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, groupby
from typing import NamedTuple, get_args

from local_judge.stats.agreement import alpha, icc, kappa, pairs
from local_judge.stats.agreement.concordance import kendall_w
from local_judge.stats.agreement.correlation import pearson, spearman
from local_judge.stats.agreement.estimate import (
    DRAWS,
    Estimate,
    mean_estimate,
    replicates,
    resamples,
    with_interval,
)
from local_judge.stats.agreement.exact import scaled
from local_judge.stats.agreement.ratings import Measure, RatedTask
from local_judge.stats.agreement.sums import OfSums, tabulate


class _Part(NamedTuple):
    """What the measures need of one task."""

    order: pairs.Pairs
    one_way: icc.OneWay
    two_way: icc.TwoWay
    """Of the reports that everybody has rated."""
    n_incomplete: int
    """The others."""
    reliability: alpha.Reliability
    both: Mapping[tuple[str, str], Sequence[tuple[int, int]]]
    """The ratings that two people gave to the reports that both have rated."""
    pearson: float | None
    """Mean of the correlations of two people's ratings, over the pairs of people that have one."""
    spearman: float | None
    concordance: float | None


def agreement_of_people(
    tasks: Sequence[RatedTask], *, ties: pairs.Ties = "strict", seed: int = 0, draws: int = DRAWS
) -> tuple[Measure, ...]:
    """Every measure of agreement between annotators, in a fixed order.

    Args:
        tasks: at least one, with at least one rated report.
        ties: how the rate of pairs takes ties.
        seed: of the bootstrap.
        draws: of each interval.
    """
    by_id = sorted(tasks, key=lambda task: task.id)
    everybody = sorted({annotator for task in by_id for annotator in task.annotators})
    # Nothing here depends on the unit of the ratings: whole numbers are as good, and fast.
    factor = scaled(value for task in by_id for report in task.reports for value in report.ratings.values())
    parts = [_part(task, everybody, factor) for task in by_id]
    reliabilities = [part.reliability for part in parts]
    two_ways, incomplete = [part.two_way for part in parts], [part.n_incomplete for part in parts]
    drawn = resamples(len(parts), draws, seed)
    return (
        *(
            Measure(id, label, unit, measure.estimate(drawn))
            for id, label, unit, measure in (
                ("people_pairwise", "pairwise, two annotators", "pairs", _pairwise(parts, ties)),
                ("icc_1_1", "ICC(1,1)", "reports", _one_way(parts)),
                ("icc_2_1", "ICC(2,1)", "reports", icc.summed(two_ways, incomplete, icc.icc_2_1_of)),
                ("icc_2_k", "ICC(2,k)", "reports", icc.summed(two_ways, incomplete, icc.icc_2_k_of)),
                *(
                    (f"alpha_{scale}", f"alpha, {scale}", "ratings", alpha.summed(reliabilities, scale))
                    for scale in get_args(alpha.Scale)
                ),
                *(
                    (f"kappa_{weights}", f"kappa, {weights}", "people pairs", _kappa(parts, weights))
                    for weights in get_args(kappa.Weights)
                ),
            )
        ),
        *(
            Measure(id, label, "tasks", _mean_over_tasks(of_tasks, nothing, drawn))
            for id, label, of_tasks, nothing in (
                (
                    "people_pearson",
                    "Pearson, two annotators",
                    [part.pearson for part in parts],
                    "no two annotators have a correlation",
                ),
                (
                    "people_spearman",
                    "Spearman, two annotators",
                    [part.spearman for part in parts],
                    "no two annotators have a correlation",
                ),
                ("kendall_w", "Kendall's W", [part.concordance for part in parts], "no task has a W"),
            )
        ),
    )


def _pairwise(parts: Sequence[_Part], ties: pairs.Ties) -> OfSums:
    def statistic(sums: Sequence[int]) -> Estimate:
        return pairs.people_rate(pairs.Pairs(*sums), ties)

    return OfSums([part.order for part in parts], statistic)


def _one_way(parts: Sequence[_Part]) -> OfSums:
    # A report's sum squared / number of its ratings is no whole number, but these multiples are.
    factor = scaled(part.one_way.between for part in parts)

    def statistic(sums: Sequence[int]) -> Estimate:
        targets, ratings, whole, squares, between, sizes = sums
        return icc.icc_1_1_of(
            icc.OneWay(targets, ratings, Fraction(whole), Fraction(squares), Fraction(between, factor), sizes)
        )

    rows = [
        (one.targets, one.ratings, int(one.total), int(one.squares), int(one.between * factor), one.sizes)
        for one in (part.one_way for part in parts)
    ]
    return OfSums(rows, statistic)


def _kappa(parts: Sequence[_Part], weights: kappa.Weights) -> OfSums:
    keys, rows = tabulate([_crossed(part, weights) for part in parts])
    layout: list[tuple[int, list[int], list[int]]] = []
    start = 0
    for _, group in groupby(keys, key=lambda key: key[:2]):
        columns = list(group)
        first, second = ([value for *_, place, value in columns if place == who] for who in (1, 2))
        layout.append((start, first, second))
        start += len(columns)

    def statistic(sums: Sequence[int]) -> Estimate:
        people: list[kappa.Crossed] = []
        for start, first, second in layout:
            middle, end = start + 1 + len(first), start + 1 + len(first) + len(second)
            counts = dict(zip(first, sums[start + 1 : middle], strict=True))
            people.append(
                kappa.Crossed(sums[start], counts, dict(zip(second, sums[middle:end], strict=True)))
            )
        return kappa.mean_kappa(people, weights)

    return OfSums(rows, statistic)


def _crossed(part: _Part, weights: kappa.Weights) -> dict[tuple[str, str, int, int], int]:
    """Sums of pairs of people: what their differences cost at place 0, counts of ratings at 1 and 2, by rating."""
    columns: dict[tuple[str, str, int, int], int] = {}
    for (one, other), ratings in part.both.items():
        sums = kappa.crossed(ratings, weights)
        columns[one, other, 0, 0] = sums.cost
        columns |= {(one, other, 1, value): count for value, count in sums.first.items()}
        columns |= {(one, other, 2, value): count for value, count in sums.second.items()}
    return columns


def _mean_over_tasks(
    of_tasks: Sequence[float | None], nothing: str, drawn: Sequence[Sequence[int]]
) -> Estimate:
    def mean(values: Sequence[float | None]) -> Estimate:
        return mean_estimate(values, nothing)

    return with_interval(mean(of_tasks), replicates(of_tasks, mean, drawn), len(of_tasks))


def _part(task: RatedTask, everybody: Sequence[str], factor: int) -> _Part:
    whole = [
        {annotator: int(value * factor) for annotator, value in report.ratings.items()}
        for report in task.reports
    ]
    rows = [[ratings[annotator] for annotator in sorted(ratings)] for ratings in whole]
    complete = [
        [ratings[annotator] for annotator in everybody] for ratings in whole if len(ratings) == len(everybody)
    ]
    both = {
        (first, second): [
            (ratings[first], ratings[second]) for ratings in whole if first in ratings and second in ratings
        ]
        for first, second in combinations(task.annotators, 2)
    }
    return _Part(
        pairs.add(pairs.compare(*zip(*shared, strict=True)) for shared in both.values() if shared),
        icc.one_way(rows),
        icc.two_way(complete, len(everybody)),
        len(whole) - len(complete),
        alpha.reliability(rows),
        both,
        _between(both, pearson),
        _between(both, spearman),
        _concordance(task, whole),
    )


def _between(
    both: Mapping[tuple[str, str], Sequence[tuple[int, int]]],
    correlation: Callable[[Sequence[int], Sequence[int]], Estimate],
) -> float | None:
    """The mean over pairs of people of the correlation of their ratings."""
    columns = [tuple(zip(*ratings, strict=True)) for ratings in both.values() if ratings]
    return mean_estimate([correlation(*pair).value for pair in columns], "").value


def _concordance(task: RatedTask, ratings: Sequence[Mapping[str, int]]) -> float | None:
    """W of those who rated every rated report of the task."""
    thorough = [name for name in task.annotators if all(name in report for report in ratings)]
    return kendall_w([[report[name] for report in ratings] for name in thorough]).value
