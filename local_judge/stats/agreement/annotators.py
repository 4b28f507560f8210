"""Inter-annotator agreement: how far people agree with each other.

Invariant: every measure is of all ratings, whatever any method says of the reports; ratings that are missing are left
out where a measure allows it, and what is left out is counted where it does not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple, get_args

from local_judge.stats.agreement import chance, icc
from local_judge.stats.agreement.ratings import (
    Measure,
    Pairs,
    RatedTask,
    Ties,
    add,
    compare,
    mean_rate,
    people_rate,
    pooled_rate,
)
from local_judge.stats.correlation import kendall_w, pearson, spearman
from local_judge.stats.estimate import (
    DRAWS,
    Estimate,
    Resamples,
    SumStatistic,
    mean_estimate,
    replicates,
    with_interval,
)
from local_judge.stats.numeric import scaled


class _Part(NamedTuple):
    """Sums of one task that the measures need."""

    pairs: Pairs
    one_way: icc.OneWay
    two_way: icc.TwoWay
    """Sums over the reports that all annotators have rated."""
    counts: chance.Counts
    both: Mapping[tuple[str, str], Sequence[tuple[int, int]]]
    """The ratings that two people gave to the reports that both have rated."""
    pearson: float | None
    """Mean of the correlations of two people's ratings, over the pairs of people that have one."""
    spearman: float | None
    w: float | None
    """Kendall's, of those who rated every rated report."""


def agreement_of_people(
    tasks: Sequence[RatedTask], *, ties: Ties = "strict", seed: int = 0, draws: int = DRAWS
) -> tuple[Measure, ...]:
    """Return every measure of agreement between annotators, in a fixed order.

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
    counts, two_ways = [part.counts for part in parts], [part.two_way for part in parts]
    drawn = Resamples(len(parts), draws, seed)

    def of_sums(id: str, label: str, unit: str, measure: SumStatistic[Any]) -> Measure:
        return Measure(id, label, unit, measure.estimate(drawn))

    def over_tasks(id: str, label: str, values: Sequence[float | None], nothing: str) -> Measure:
        def mean(found: Sequence[float | None]) -> Estimate:
            return mean_estimate(found, nothing)

        found = with_interval(mean(values), replicates(values, mean, drawn), len(values))
        return Measure(id, label, "tasks", found)

    pairs = [part.pairs for part in parts]
    rate = pooled_rate(pairs, ties, people_rate)
    by_task = with_interval(*mean_rate(pairs, ties, people_rate, drawn), len(parts))
    one_way = SumStatistic([part.one_way for part in parts], icc.icc_1_1_of)
    uncorrelated = "no two annotators have a correlation"
    return (
        of_sums("people_pairwise", "pairwise, two annotators", "pairs", rate),
        Measure("people_pairwise_tasks", "pairwise by task, two annotators", "tasks", by_task),
        of_sums("icc_1_1", "ICC(1,1)", "reports", one_way),
        of_sums("icc_2_1", "ICC(2,1)", "reports", icc.pooled_icc(two_ways, "2,1")),
        of_sums("icc_2_k", "ICC(2,k)", "reports", icc.pooled_icc(two_ways, "2,k")),
        *(
            of_sums(f"alpha_{scale}", f"alpha, {scale}", "ratings", chance.pooled_alpha(counts, scale))
            for scale in get_args(chance.Scale)
        ),
        *(
            of_sums(f"kappa_{weights}", f"kappa, {weights}", "people pairs", _kappa(parts, weights))
            for weights in get_args(chance.Weights)
        ),
        over_tasks(
            "people_pearson", "Pearson, two annotators", [part.pearson for part in parts], uncorrelated
        ),
        over_tasks(
            "people_spearman", "Spearman, two annotators", [part.spearman for part in parts], uncorrelated
        ),
        over_tasks("kendall_w", "Kendall's W", [part.w for part in parts], "no task has a W"),
    )


def _kappa(
    parts: Sequence[_Part], weights: chance.Weights
) -> SumStatistic[tuple[tuple[str, str], tuple[int, int]]]:
    """Return the mean over pairs of people, each pair's sums taken over all tasks."""

    def statistic(sums: Mapping[tuple[tuple[str, str], tuple[int, int]], int]) -> Estimate:
        people: defaultdict[tuple[str, str], dict[tuple[int, int], int]] = defaultdict(dict)
        for (pair, key), count in sums.items():
            people[pair][key] = count
        return chance.mean_kappa(people.values(), weights)

    return SumStatistic(
        [
            {
                (pair, key): count
                for pair, ratings in part.both.items()
                for key, count in chance.cross(ratings, weights).items()
            }
            for part in parts
        ],
        statistic,
    )


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
    thorough = [name for name in task.annotators if all(name in ratings for ratings in whole)]
    return _Part(
        add(compare(*zip(*shared, strict=True)) for shared in both.values() if shared),
        icc.one_way(rows),
        icc.two_way(complete, len(everybody), len(whole) - len(complete)),
        chance.count_ratings(rows),
        both,
        _between(both, pearson),
        _between(both, spearman),
        kendall_w([[ratings[name] for ratings in whole] for name in thorough]).value,
    )


def _between(
    both: Mapping[tuple[str, str], Sequence[tuple[int, int]]],
    correlation: Callable[[Sequence[int], Sequence[int]], Estimate],
) -> float | None:
    """Return the mean over pairs of people of the correlation of their ratings."""
    columns = [tuple(zip(*ratings, strict=True)) for ratings in both.values() if ratings]
    return mean_estimate([correlation(*pair).value for pair in columns], "").value
