"""Ratings of reports, scores of a method, and pairwise agreement: do people and scores prefer the same of two reports?

Invariants: ratings and scores are fractions; a missing rating is absent. A rate is stored with its counts, so that the
rates of tasks add up to the rate of all; the order of two numbers is decided on fractions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from statistics import mean, pstdev
from typing import Literal, NamedTuple

from local_judge.stats.estimate import Estimate, SumStatistic, mean_estimate, replicates, undefined
from local_judge.stats.numeric import sign


class RatedReport(NamedTuple):
    """One report."""

    id: str
    """Unique in its task; orders the reports."""
    ratings: Mapping[str, Fraction]
    """Ratings by annotator; at least one."""
    system: str | None = None
    """The agent that wrote it, where that is known."""
    score: Fraction | None = None
    """The method's; None where it has none."""

    @property
    def mean(self) -> Fraction:
        """The mean of its ratings."""
        return mean(self.ratings.values())

    @property
    def by_annotator(self) -> list[Fraction]:
        """Its ratings, annotators in the order of their names."""
        return [self.ratings[annotator] for annotator in sorted(self.ratings)]


class RatedTask(NamedTuple):
    """The rated reports of one task."""

    id: str
    reports: tuple[RatedReport, ...]

    @property
    def annotators(self) -> list[str]:
        """Annotators with at least one rating of its reports."""
        return sorted({annotator for report in self.reports for annotator in report.ratings})

    @property
    def n_missing(self) -> int:
        """Ratings that would make its table of annotators and reports complete."""
        return len(self.annotators) * len(self.reports) - sum(len(report.ratings) for report in self.reports)


class Measure(NamedTuple):
    """One measure with its name."""

    id: str
    label: str
    """Label in tables."""
    unit: str
    """Unit that `estimate.n` counts."""
    estimate: Estimate


class OverJudges(NamedTuple):
    """One measure over several judges."""

    id: str
    label: str
    unit: str
    """Unit of the measure; this mean is over judges."""
    mean: float | None
    """Mean over the judges that have the measure."""
    std: float | None
    """Population standard deviation over them; None for fewer than two."""
    n: int
    n_undefined: int
    """Judges without the measure."""


def over_judges(judges: Sequence[Sequence[Measure]]) -> tuple[OverJudges, ...]:
    """Return each measure's mean and standard deviation over judges, in the order of the measures.

    Formula (DEER, Table 3): mean, and sqrt(sum((x - mean)^2) / n). That it divides by n follows from the five judges of
    DEER, Table 17: 0.06, 0.06 and 0.03, where n - 1 gives 0.07, 0.06 and 0.04.
    """
    found: list[OverJudges] = []
    for measures in zip(*judges, strict=True):
        values = [one.estimate.value for one in measures if one.estimate.value is not None]
        found.append(
            OverJudges(
                *measures[0][:3],
                mean=mean(values) if values else None,
                std=pstdev(values) if len(values) > 1 else None,
                n=len(values),
                n_undefined=len(measures) - len(values),
            )
        )
    return tuple(found)


def ordered(tasks: Mapping[str, Mapping[str, RatedReport]]) -> tuple[RatedTask, ...]:
    """Tasks by id with their reports by id."""
    return tuple(
        RatedTask(task, tuple(reports[id] for id in sorted(reports)))
        for task, reports in sorted(tasks.items())
    )


Ties = Literal["strict", "half", "drop"]
"""`strict`: a tie is an order of its own, and agrees with a tie only. `half`: a tie against an order is half an
agreement. `drop`: pairs that people tie do not count."""


class Pairs(NamedTuple):
    """Counts of pairs of reports."""

    compared: int = 0
    agreed: int = 0
    """Same order, or tied by both."""
    half_tied: int = 0
    """Tied by one and not by the other."""
    tied_first: int = 0
    """Tied by the first (people), whatever the second says."""
    tied_either: int = 0
    tied_both: int = 0


def compare(first: Sequence[Fraction | int], second: Sequence[Fraction | int]) -> Pairs:
    """Return the counts over all pairs of reports of one task, by two lists of their scores in the same order."""
    signs = [
        (sign(first[i] - first[j]), sign(second[i] - second[j]))
        for i, j in combinations(range(len(first)), 2)
    ]
    return Pairs(
        len(signs),
        sum(a == b for a, b in signs),
        sum((a == 0) is not (b == 0) for a, b in signs),
        sum(a == 0 for a, _ in signs),
        sum(a == 0 or b == 0 for a, b in signs),
        sum(a == 0 and b == 0 for a, b in signs),
    )


def add(parts: Iterable[Pairs]) -> Pairs:
    """Return the counts of `parts` together."""
    return Pairs(*map(sum, zip(Pairs(), *parts, strict=True)))


def method_rate(counts: Pairs, ties: Ties) -> Estimate:
    """Pairwise agreement of people (first) and a method (second); `n` is the number of pairs.

    Formula (DeepResearch Bench, Equation 7, over all tasks; DEER, appendix H, in each task): the share of pairs with
    sgn(M_i - M_j) = sgn(H_i - H_j). `half` adds half of those that one side ties and the other does not; `drop` leaves
    those out that people tie, and counts them in `n_undefined`.
    """
    return _rate(counts, ties, counts.tied_first)


def people_rate(counts: Pairs, ties: Ties) -> Estimate:
    """Pairwise agreement of two people with each other: as `method_rate`, but `drop` leaves out what either ties."""
    return _rate(counts, ties, counts.tied_either)


def pooled_rate(
    parts: Sequence[Pairs], ties: Ties, rate: Callable[[Pairs, Ties], Estimate]
) -> SumStatistic[str]:
    """`method_rate` or `people_rate` over several tasks together."""

    def statistic(sums: Mapping[str, int]) -> Estimate:
        return rate(Pairs(**sums), ties)

    return SumStatistic([part._asdict() for part in parts], statistic)


def mean_rate(
    parts: Sequence[Pairs],
    ties: Ties,
    rate: Callable[[Pairs, Ties], Estimate],
    drawn: Iterable[Sequence[int]],
) -> tuple[Estimate, list[float | None]]:
    """Return the mean over tasks of `method_rate` or `people_rate`, and its values in the draws; `n` counts tasks.

    Formula (DEER, appendix H): the mean over tasks of the share of a task's pairs. Tasks weigh alike, in `pooled_rate`
    pairs do; the two are equal if all tasks have equally many pairs.
    """

    def mean(tasks: Sequence[tuple[int, float | None]]) -> Estimate:
        return mean_estimate([value for n, value in tasks if n], "no task has two reports to compare")

    tasks = [(part.compared, rate(part, ties).value) for part in parts]
    return mean(tasks), replicates(tasks, mean, drawn)


def _rate(counts: Pairs, ties: Ties, tied: int) -> Estimate:
    if not counts.compared:
        return undefined("no task has two reports to compare")
    hits, n, dropped = float(counts.agreed), counts.compared, 0
    if ties == "half":
        hits += counts.half_tied / 2
    elif ties == "drop":
        hits, n, dropped = float(counts.agreed - counts.tied_both), counts.compared - tied, tied
    if n == 0:
        return undefined("all pairs are tied", 0, dropped)
    return Estimate(hits / n, n, dropped, hits)
