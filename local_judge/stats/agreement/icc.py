"""Intraclass correlations: the share of the ratings' variance that lies between the things rated.

Invariants: the sign of a value, and whether it is 0, come from fractions, so that a filter by sign does not depend on
rounding; all sums are of numbers, so that those of several tasks add up to those of the tasks together.

Names and formulas are those of Shrout and Fleiss 1979 (Psychological Bulletin 86, 420-428).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple

from local_judge.stats.agreement.estimate import Estimate, undefined
from local_judge.stats.agreement.exact import Number, exact, total
from local_judge.stats.agreement.sums import OfSums


class OneWay(NamedTuple):
    """Sums over targets (things rated), each of which may have raters of its own; those without rating do not count."""

    targets: int
    ratings: int
    total: Fraction
    squares: Fraction
    """Sum of the squared ratings."""
    between: Fraction
    """Sum over the targets of (sum of its ratings)^2 / number of its ratings."""
    sizes: int
    """Sum over the targets of (number of its ratings)^2."""


class TwoWay(NamedTuple):
    """Sums over targets that the same people have all rated."""

    targets: int
    columns: tuple[Fraction, ...]
    """Sum of the ratings of each person."""
    squares: Fraction
    rows: Fraction
    """Sum over the targets of (sum of its ratings)^2."""


def one_way(rows: Iterable[Sequence[Number]]) -> OneWay:
    """The sums of `rows`, the ratings of one target each."""
    found = [[exact(number) for number in row] for row in rows if row]
    return OneWay(
        len(found),
        sum(map(len, found)),
        total(number for row in found for number in row),
        total(number * number for row in found for number in row),
        total(total(row) * total(row) / len(row) for row in found),
        sum(len(row) ** 2 for row in found),
    )


def two_way(rows: Iterable[Sequence[Number]], n_raters: int) -> TwoWay:
    """The sums of `rows`, the ratings of one target each by the same `n_raters` people in the same order.

    Raises:
        ValueError: a row has more or fewer ratings.
    """
    found = [[exact(number) for number in row] for row in rows]
    if any(len(row) != n_raters for row in found):
        raise ValueError("not everybody has rated everything")
    return TwoWay(
        len(found),
        tuple(total(row[rater] for row in found) for rater in range(n_raters)),
        total(number * number for row in found for number in row),
        total(total(row) * total(row) for row in found),
    )


def mean_squares(sums: OneWay) -> tuple[Fraction, Fraction] | None:
    """Mean squares between and within targets.

    Formula: MSB = (sum(T_i^2/k_i) - T^2/N) / (n - 1), MSW = (sum(x^2) - sum(T_i^2/k_i)) / (N - n), where T_i is the sum
    of the k_i ratings of target i, and T that of all N.

    Returns:
        None where there are fewer than two targets, or none with two ratings.
    """
    n, ratings = sums.targets, sums.ratings
    if n < 2 or ratings == n:
        return None
    between = (sums.between - sums.total * sums.total / ratings) / (n - 1)
    return between, (sums.squares - sums.between) / (ratings - n)


def icc_1_1_of(sums: OneWay) -> Estimate:
    """ICC(1,1) from sums; see `icc_1_1`."""
    found = mean_squares(sums)
    if found is None:
        return undefined("needs two reports, and two ratings of one", sums.targets)
    between, within = found
    k = Fraction(sums.ratings**2 - sums.sizes, sums.ratings * (sums.targets - 1))
    denominator = between + (k - 1) * within
    if denominator == 0:
        return undefined("all ratings are equal", sums.targets)
    return Estimate(float((between - within) / denominator), sums.targets)


def icc_2_1_of(sums: TwoWay) -> Estimate:
    """ICC(2,1) from sums; see `icc_2_1`."""
    return _two_way_icc(sums, single=True)


def icc_2_k_of(sums: TwoWay) -> Estimate:
    """ICC(2,k) from sums; see `icc_2_k`."""
    return _two_way_icc(sums, single=False)


def summed(parts: Sequence[TwoWay], n_incomplete: Sequence[int], of: Callable[[TwoWay], Estimate]) -> OfSums:
    """`icc_2_1_of` or `icc_2_k_of` over several tasks together.

    Args:
        parts: of each task, with whole numbers only.
        n_incomplete: of each task, the targets that not everybody has rated; `n_undefined` is their number.
        of: which of the two.
    """

    def statistic(sums: Sequence[int]) -> Estimate:
        incomplete, targets, squares, rows, *columns = sums
        found = of(TwoWay(targets, tuple(map(Fraction, columns)), Fraction(squares), Fraction(rows)))
        return found._replace(n_undefined=incomplete)

    return OfSums(
        [
            (incomplete, part.targets, int(part.squares), int(part.rows), *map(int, part.columns))
            for part, incomplete in zip(parts, n_incomplete, strict=True)
        ],
        statistic,
    )


def icc_1_1(rows: Iterable[Sequence[Number]]) -> Estimate:
    """Reliability of one rating where each target has raters of its own; `n` is the number of targets.

    Formula (Shrout and Fleiss 1979, case 1): (MSB - MSW) / (MSB + (k - 1) MSW). Where targets have unequal numbers of
    ratings, k is (N - sum(k_i^2)/N) / (n - 1) (Donner 1986), which is k where they are equal.

    Args:
        rows: the ratings of each target.
    """
    return icc_1_1_of(one_way(rows))


def icc_2_1(rows: Sequence[Sequence[Number]]) -> Estimate:
    """Absolute agreement of one rating where the same people have rated all targets; `n` is the number of targets.

    Formula (Shrout and Fleiss 1979, case 2): (MSR - MSE) / (MSR + (k - 1) MSE + k (MSC - MSE) / n).

    Args:
        rows: the ratings of each target, by the same people in the same order.

    Raises:
        ValueError: not everybody has rated everything.
    """
    return icc_2_1_of(two_way(rows, len(rows[0]) if rows else 0))


def icc_2_k(rows: Sequence[Sequence[Number]]) -> Estimate:
    """Absolute agreement of the mean of k people's ratings; `n` is the number of targets.

    Formula (Shrout and Fleiss 1979, case 2, mean of k): (MSR - MSE) / (MSR + (MSC - MSE) / n).

    Args:
        rows: the ratings of each target, by the same people in the same order.

    Raises:
        ValueError: not everybody has rated everything.
    """
    return icc_2_k_of(two_way(rows, len(rows[0]) if rows else 0))


def _two_way_icc(sums: TwoWay, *, single: bool) -> Estimate:
    n, k = sums.targets, len(sums.columns)
    if n < 2 or k < 2:
        return undefined(f"{n} reports that all of {k} people rated, needs 2 of each", n)
    whole = total(sums.columns)
    level = whole * whole / (n * k)
    of_rows = sums.rows / k - level
    of_columns = total(column * column for column in sums.columns) / n - level
    rows, columns = of_rows / (n - 1), of_columns / (k - 1)
    error = (sums.squares - level - of_rows - of_columns) / ((n - 1) * (k - 1))
    of_raters = (columns - error) / n
    denominator = rows + (k - 1) * error + k * of_raters if single else rows + of_raters
    if denominator == 0:
        return undefined("all ratings are equal", n)
    if denominator < 0:
        return undefined("the estimated variance of the mean rating is negative", n)
    return Estimate(float((rows - error) / denominator), n)
