"""Intraclass correlations: the share of the ratings' variance that lies between the things rated.

Invariants: the sign of a value, and whether it is 0, come from fractions, so that a filter by sign does not depend on
rounding; all sums are of numbers, so that those of several tasks add up to those of the tasks together.

Names and formulas are those of Shrout and Fleiss 1979 (Psychological Bulletin 86, 420-428).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Literal

from local_judge.stats.estimate import Estimate, SumStatistic, undefined
from local_judge.stats.numeric import Number, whole_rows

Form = Literal["2,1", "2,k"]
"""ICC(2,1) or ICC(2,k)."""

OneWay = Mapping[tuple[str, int], int]
"""Sums over targets (things rated), each of which may have raters of its own:

    targets    the targets with a rating
    ratings    of all of them
    total      the sum of the ratings
    squares    the sum of the squared ratings
    sizes      the sum over the targets of (number of its ratings)^2
    between    for each k, the sum of (sum of its ratings)^2 over the targets with k ratings

The second part of a name is k, and 0 for names without k.
"""

TwoWay = Mapping[tuple[str, int], int]
"""Sums over targets that the same people have all rated: `targets`, `squares`, the sum of the squared ratings, `rows`,
the sum over the targets of (sum of its ratings)^2, for each rater i `column`, the sum of the i-th one's ratings, and
`incomplete`, how many targets not everybody has rated."""


def one_way(rows: Iterable[Sequence[int]]) -> OneWay:
    """Return the sums of `rows`, the ratings of one target each; those without rating do not count."""
    sums: Counter[tuple[str, int]] = Counter()
    for row in rows:
        if row:
            sums["targets", 0] += 1
            sums["ratings", 0] += len(row)
            sums["total", 0] += sum(row)
            sums["squares", 0] += sum(number * number for number in row)
            sums["sizes", 0] += len(row) ** 2
            sums["between", len(row)] += sum(row) ** 2
    return sums


def two_way(rows: Iterable[Sequence[int]], n_raters: int, n_incomplete: int = 0) -> TwoWay:
    """Return the sums of `rows`, the ratings of one target each by the same `n_raters` people in the same order.

    Raises:
        ValueError: a row has more or fewer ratings.
    """
    sums = Counter({("incomplete", 0): n_incomplete, **{("column", rater): 0 for rater in range(n_raters)}})
    for row in rows:
        if len(row) != n_raters:
            raise ValueError("not everybody has rated everything")
        sums["targets", 0] += 1
        sums["squares", 0] += sum(number * number for number in row)
        sums["rows", 0] += sum(row) ** 2
        for rater, number in enumerate(row):
            sums["column", rater] += number
    return sums


def mean_squares(sums: OneWay) -> tuple[Fraction, Fraction] | None:
    """Mean squares between and within targets.

    Formula: MSB = (sum(T_i^2/k_i) - T^2/N) / (n - 1), MSW = (sum(x^2) - sum(T_i^2/k_i)) / (N - n), where T_i is the sum
    of the k_i ratings of target i, and T that of all N.

    Returns:
        None where there are fewer than two targets, or none with two ratings.
    """
    n, ratings = sums.get(("targets", 0), 0), sums.get(("ratings", 0), 0)
    if n < 2 or ratings == n:
        return None
    of_targets = sum(
        (Fraction(squared, k) for (name, k), squared in sums.items() if name == "between"), Fraction(0)
    )
    between = (of_targets - Fraction(sums["total", 0] ** 2, ratings)) / (n - 1)
    return between, (sums["squares", 0] - of_targets) / (ratings - n)


def icc_1_1(rows: Iterable[Sequence[Number]]) -> Estimate:
    """Reliability of one rating where each target has raters of its own; `n` is the number of targets.

    Formula (Shrout and Fleiss 1979, case 1): (MSB - MSW) / (MSB + (k - 1) MSW). Where targets have unequal numbers of
    ratings, k is (N - sum(k_i^2)/N) / (n - 1) (Donner 1986), which is k where they are equal.

    Args:
        rows: the ratings of each target.
    """
    return icc_1_1_of(one_way(whole_rows(rows)))


def icc_1_1_of(sums: OneWay) -> Estimate:
    """ICC(1,1) from sums; see `icc_1_1`."""
    n, ratings = sums.get(("targets", 0), 0), sums.get(("ratings", 0), 0)
    found = mean_squares(sums)
    if found is None:
        return undefined("needs two reports, and two ratings of one", n)
    between, within = found
    k = Fraction(ratings**2 - sums["sizes", 0], ratings * (n - 1))
    denominator = between + (k - 1) * within
    if denominator == 0:
        return undefined("all ratings are equal", n)
    return Estimate(float((between - within) / denominator), n)


def icc_2_1(rows: Sequence[Sequence[Number]]) -> Estimate:
    """Absolute agreement of one rating where the same people have rated all targets; `n` is the number of targets.

    Formula (Shrout and Fleiss 1979, case 2): (MSR - MSE) / (MSR + (k - 1) MSE + k (MSC - MSE) / n).

    Args:
        rows: the ratings of each target, by the same people in the same order.

    Raises:
        ValueError: not everybody has rated everything.
    """
    return two_way_icc(two_way(whole_rows(rows), len(rows[0]) if rows else 0), "2,1")


def icc_2_k(rows: Sequence[Sequence[Number]]) -> Estimate:
    """Absolute agreement of the mean of k people's ratings; `n` is the number of targets.

    Formula (Shrout and Fleiss 1979, case 2, mean of k): (MSR - MSE) / (MSR + (MSC - MSE) / n).

    Args:
        rows: the ratings of each target, by the same people in the same order.

    Raises:
        ValueError: not everybody has rated everything.
    """
    return two_way_icc(two_way(whole_rows(rows), len(rows[0]) if rows else 0), "2,k")


def pooled_icc(parts: Sequence[TwoWay], form: Form) -> SumStatistic[tuple[str, int]]:
    """ICC(2,1) or ICC(2,k) over several tasks together; `n_undefined` is the number of incomplete targets."""
    return SumStatistic(parts, partial(two_way_icc, form=form))


def two_way_icc(sums: TwoWay, form: Form) -> Estimate:
    """ICC(2,1) or ICC(2,k) from sums; see `icc_2_1` and `icc_2_k`."""
    return replace(_two_way_icc(sums, form), n_undefined=sums.get(("incomplete", 0), 0))


def _two_way_icc(sums: TwoWay, form: Form) -> Estimate:
    totals = [total for (name, _), total in sums.items() if name == "column"]
    n, k = sums.get(("targets", 0), 0), len(totals)
    if n < 2 or k < 2:
        return undefined(f"{n} reports that all of {k} people rated, needs 2 of each", n)
    level = Fraction(sum(totals) ** 2, n * k)
    of_rows = Fraction(sums["rows", 0], k) - level
    of_columns = Fraction(sum(total * total for total in totals), n) - level
    rows, columns = of_rows / (n - 1), of_columns / (k - 1)
    error = (sums["squares", 0] - level - of_rows - of_columns) / ((n - 1) * (k - 1))
    of_raters = (columns - error) / n
    denominator = rows + (k - 1) * error + k * of_raters if form == "2,1" else rows + of_raters
    if denominator == 0:
        return undefined("all ratings are equal", n)
    if denominator < 0:
        return undefined("the estimated variance of the mean rating is negative", n)
    return Estimate(float((rows - error) / denominator), n)
