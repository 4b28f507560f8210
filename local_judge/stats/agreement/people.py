"""How far people agree with each other.

Invariant: every measure is of all ratings, whatever any method says of the reports; ratings that are missing are left
out where a measure allows it, and what is left out is counted where it does not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import combinations
from typing import NamedTuple, get_args

from local_judge.stats.agreement import alpha, icc, kappa, pairs
from local_judge.stats.agreement.concordance import kendall_w
from local_judge.stats.agreement.estimate import (
    DRAWS,
    Estimate,
    bootstrap,
    mean_estimate,
    resamples,
    undefined,
)
from local_judge.stats.agreement.exact import scaled
from local_judge.stats.agreement.ratings import Measure, RatedTask


class _Part(NamedTuple):
    """What the measures need of one task."""

    order: pairs.Pairs
    one_way: icc.OneWay
    two_way: icc.TwoWay
    """Of the reports that everybody has rated."""
    n_incomplete: int
    """The others."""
    reliability: alpha.Reliability
    both: Mapping[tuple[str, str], kappa.Both]
    concordance: float | None


_Statistic = Callable[[Sequence[_Part]], Estimate]


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
    drawn = resamples(len(parts), draws, seed)
    return tuple(
        Measure(id, label, unit, bootstrap(parts, statistic, drawn))
        for id, label, unit, statistic in _measures(ties, len(everybody))
    )


def _measures(ties: pairs.Ties, n_people: int) -> list[tuple[str, str, str, _Statistic]]:
    def order(parts: Sequence[_Part]) -> Estimate:
        return pairs.people_rate(pairs.add(part.order for part in parts), ties)

    def icc_1_1(parts: Sequence[_Part]) -> Estimate:
        return icc.icc_1_1_of(icc.add_one_way([part.one_way for part in parts]))

    def two_way(of: Callable[[icc.TwoWay], Estimate], parts: Sequence[_Part]) -> Estimate:
        missing = sum(part.n_incomplete for part in parts)
        if n_people < 2:
            return undefined("one annotator", 0, missing)
        sums = icc.add_two_way([part.two_way for part in parts])
        return of(sums)._replace(n_undefined=missing)

    def krippendorff(scale: alpha.Scale, parts: Sequence[_Part]) -> Estimate:
        return alpha.alpha_of(alpha.add([part.reliability for part in parts]), scale)

    def cohen(weights: kappa.Weights, parts: Sequence[_Part]) -> Estimate:
        together: dict[tuple[str, str], dict[tuple[int, int], int]] = {}
        for part in parts:
            for people, both in part.both.items():
                counts = together.setdefault(people, {})
                for ratings, count in both.items():
                    counts[ratings] = counts.get(ratings, 0) + count
        return kappa.mean_kappa(together.values(), weights)

    def concordance(parts: Sequence[_Part]) -> Estimate:
        return mean_estimate([part.concordance for part in parts], "no task has a W")

    return [
        ("people_pairwise", "annotators: pairwise agreement", "pairs", order),
        ("icc_1_1", "annotators: ICC(1,1)", "reports", icc_1_1),
        ("icc_2_1", "annotators: ICC(2,1)", "reports", partial(two_way, icc.icc_2_1_of)),
        ("icc_2_k", "annotators: ICC(2,k)", "reports", partial(two_way, icc.icc_2_k_of)),
        *(
            (f"alpha_{scale}", f"annotators: alpha, {scale}", "ratings", partial(krippendorff, scale))
            for scale in get_args(alpha.Scale)
        ),
        *(
            (f"kappa_{weights}", f"annotators: kappa, {weights}", "people pairs", partial(cohen, weights))
            for weights in get_args(kappa.Weights)
        ),
        ("kendall_w", "annotators: Kendall's W", "tasks", concordance),
    ]


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
        (first, second): Counter(
            (ratings[first], ratings[second]) for ratings in whole if first in ratings and second in ratings
        )
        for first, second in combinations(task.annotators, 2)
    }
    return _Part(
        pairs.add(_order(whole, first, second) for first, second in both),
        icc.one_way(rows),
        icc.two_way(complete, len(everybody)),
        len(whole) - len(complete),
        alpha.reliability(rows),
        {people: counts for people, counts in both.items() if counts},
        _concordance(task, whole),
    )


def _order(ratings: Sequence[Mapping[str, int]], first: str, second: str) -> pairs.Pairs:
    """Pairs of reports as two people order them, of those that both rated."""
    shared = [report for report in ratings if first in report and second in report]
    return pairs.compare(
        [Fraction(report[first]) for report in shared], [Fraction(report[second]) for report in shared]
    )


def _concordance(task: RatedTask, ratings: Sequence[Mapping[str, int]]) -> float | None:
    """W of those who rated every rated report of the task."""
    thorough = [name for name in task.annotators if all(name in report for report in ratings)]
    return kendall_w([[report[name] for report in ratings] for name in thorough]).value
