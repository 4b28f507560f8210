"""Each measure against textbook examples, and what must not change it."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import combinations

import pytest
from scipy import stats

from local_judge.stats.agreement.annotators import agreement_of_people
from local_judge.stats.agreement.chance import Scale, Weights, cohen_kappa, krippendorff_alpha
from local_judge.stats.agreement.icc import icc_1_1, icc_2_1, icc_2_k
from local_judge.stats.agreement.method import agreement_of_method
from local_judge.stats.agreement.ratings import (
    Measure,
    RatedReport,
    RatedTask,
    Ties,
    compare,
    method_rate,
    over_judges,
    people_rate,
)
from local_judge.stats.correlation import fisher_interval, kendall_tau_b, kendall_w, pearson, spearman
from local_judge.stats.estimate import Estimate, Resamples, mean_estimate, percentile
from local_judge.stats.numeric import doubled_ranks, exact

SHROUT_FLEISS = [
    [9, 2, 5, 8],
    [6, 1, 3, 2],
    [8, 4, 6, 8],
    [7, 1, 2, 6],
    [10, 5, 6, 9],
    [6, 2, 4, 7],
]
"""Shrout and Fleiss 1979, table 2: six targets by four judges."""

_ = None
KRIPPENDORFF: list[list[int | None]] = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, _, _, _],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, _, 3],
    [_, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, _],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, _],
]
"""Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability", section C: four observers by twelve units."""

UNITS = [[number for row in KRIPPENDORFF if (number := row[unit]) is not None] for unit in range(12)]


def value(found: Estimate) -> float:
    assert found.value is not None, found.reason
    return found.value


def test_icc_of_shrout_and_fleiss() -> None:
    # Table 4 of the paper prints .17, .29 and .62. From its mean squares BMS 11.24, WMS 6.26, JMS 32.49, EMS 1.02:
    # (11.24 - 6.26) / (11.24 + 3 x 6.26), (11.24 - 1.02) / (11.24 + 3 x 1.02 + 4 x 31.47 / 6),
    # (11.24 - 1.02) / (11.24 + 31.47 / 6).
    assert round(value(icc_1_1(SHROUT_FLEISS)), 2) == 0.17
    assert round(value(icc_2_1(SHROUT_FLEISS)), 2) == 0.29
    assert round(value(icc_2_k(SHROUT_FLEISS)), 2) == 0.62
    assert value(icc_1_1(SHROUT_FLEISS)) == pytest.approx((11.24 - 6.26) / (11.24 + 3 * 6.26), abs=1e-3)


def test_icc_of_exactly_zero_is_zero() -> None:
    # T = 22, 25, 19, 23: MSB = 3 x sum((T_i/3 - 89/12)^2) / 3 = 25/12, and MSW = 50/3 / 8 = 25/12 too.
    rows = [[7, 6, 9], [8, 8, 9], [7, 8, 4], [7, 9, 7]]
    assert icc_1_1(rows).value == 0.0
    # Rounded arithmetic misses it: tenths must not.
    assert icc_1_1([[number / 10 for number in row] for row in rows]).value == 0.0


def test_icc_that_does_not_exist() -> None:
    assert icc_1_1([[7, 7, 7], [7, 7, 7]]) == Estimate(None, 2, reason="all ratings are equal")
    assert icc_1_1([[7], [8]]).value is None
    assert icc_1_1([[7, 8]]).value is None
    assert icc_2_1([[7, 7], [7, 7]]).value is None
    assert icc_2_k([]).value is None
    # MSR = MSC = 0 and MSE > 0: by the formula ICC(2,k) would be n, which is no correlation.
    assert "negative" in icc_2_k([[1, 2], [2, 1]]).reason
    with pytest.raises(ValueError, match="not everybody"):
        icc_2_1([[1, 2], [1]])


def test_icc_bounds() -> None:
    # All variance within: -1/(k - 1). All between: 1.
    assert icc_1_1([[1, 2, 3], [3, 2, 1]]).value == -0.5
    assert icc_1_1([[1, 1], [2, 2]]).value == 1.0


def test_icc_with_unequal_numbers_of_ratings() -> None:
    # Sums 4, 10 and 9 of 2, 2 and 1 ratings, 23 of 5 in all.
    rows = [[1, 3], [4, 6], [9]]
    between = (Fraction(16, 2) + Fraction(100, 2) + 81 - Fraction(23 * 23, 5)) / 2
    within = Fraction(1 + 9 + 16 + 36 + 81 - (8 + 50 + 81), 2)
    k = (5 - Fraction(4 + 4 + 1, 5)) / 2
    assert value(icc_1_1(rows)) == float((between - within) / (between + (k - 1) * within))


def test_krippendorffs_own_example() -> None:
    # The paper: nominal .743, ordinal .815, interval .849; 40 pairable values, unit 12 has one.
    scales: tuple[tuple[Scale, float], ...] = (("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849))
    for scale, printed in scales:
        found = krippendorff_alpha(UNITS, scale)
        assert round(value(found), 3) == printed
        assert (found.n, found.n_undefined) == (40, 1)


def test_alpha_of_two_people_by_hand() -> None:
    # Krippendorff 2011, section A: binary, two observers, ten units. o_01 = 4, n_0 = 14, n_1 = 6:
    # 1 - (20 - 1) x 4 / (14 x 6) = .095.
    one, other = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
    found = krippendorff_alpha(list(zip(one, other, strict=True)), "nominal")
    assert value(found) == float(1 - Fraction(19 * 4, 14 * 6))
    assert round(value(found), 3) == 0.095


def test_alpha_that_does_not_exist() -> None:
    assert krippendorff_alpha([[3, 3], [3, 3]], "interval").reason == "all ratings are equal"
    assert krippendorff_alpha([[3], [4]], "nominal") == Estimate(None, 0, 2, reason="nothing has two ratings")


@pytest.mark.parametrize("scale", ["nominal", "ordinal", "interval"])
def test_alpha_by_its_definition(scale: Scale) -> None:
    # The definition, pair by pair, with delta as the paper writes it.
    values = sorted(number for unit in UNITS if len(unit) > 1 for number in unit)
    count = {number: values.count(number) for number in values}

    def delta(c: int, k: int) -> Fraction:
        low, high = min(c, k), max(c, k)
        if scale == "nominal":
            return Fraction(c != k)
        if scale == "interval":
            return Fraction((c - k) ** 2)
        between = sum(n for g, n in count.items() if low <= g <= high)
        return (Fraction(between) - Fraction(count[low] + count[high], 2)) ** 2 if c != k else Fraction(0)

    n = len(values)
    observed = (
        sum(
            (
                2 * delta(c, k) / (len(unit) - 1)
                for unit in UNITS
                if len(unit) > 1
                for c, k in combinations(unit, 2)
            ),
            Fraction(0),
        )
        / n
    )
    expected = sum((2 * delta(c, k) for c, k in combinations(values, 2)), Fraction(0)) / (n * (n - 1))
    assert value(krippendorff_alpha(UNITS, scale)) == float(1 - observed / expected)


def test_kappa_by_hand() -> None:
    # 50 grants, two readers: both yes 20, both no 15, yes/no 5, no/yes 10. p_o = .7, p_e = .5 x .6 + .5 x .4 = .5:
    # kappa = .4.
    one = [1] * 25 + [0] * 25
    other = [1] * 20 + [0] * 5 + [1] * 10 + [0] * 15
    assert cohen_kappa(one, other, "unweighted").value == 0.4
    # With two categories the weights say the same.
    assert cohen_kappa(one, other, "linear").value == 0.4
    assert cohen_kappa(one, other, "quadratic").value == 0.4


@pytest.mark.parametrize(("weights", "power"), [("unweighted", 0), ("linear", 1), ("quadratic", 2)])
def test_kappa_by_its_definition(weights: Weights, power: int) -> None:
    one, other = [1, 2, 2, 5, 3, 1, 4], [1, 3, 2, 4, 3, 2, 1]
    cost = [[0 if a == b else abs(a - b) ** power for b in other] for a in one]
    observed = Fraction(sum(cost[i][i] for i in range(7)), 7)
    expected = Fraction(sum(map(sum, cost)), 49)
    assert value(cohen_kappa(one, other, weights)) == pytest.approx(float(1 - observed / expected), abs=1e-15)


def test_quadratic_kappa_does_not_depend_on_unused_categories() -> None:
    one, other = [1, 2, 9, 9], [1, 9, 9, 2]
    assert (
        cohen_kappa(one, other, "linear").value
        == cohen_kappa([n * 10 for n in one], [n * 10 for n in other], "linear").value
    )


def test_kappa_that_does_not_exist() -> None:
    assert cohen_kappa([3, 3], [3, 3], "linear").reason == "all ratings are equal"
    assert cohen_kappa([], [], "linear").reason == "nothing was rated by both"


def test_w_of_siegel() -> None:
    # Siegel 1956, "Nonparametric Statistics", chapter 9: three executives rank six applicants. Rank sums 8, 14, 11, 11,
    # 11, 8, S = 25.5, W = 12 x 25.5 / (9 x (216 - 6)) = .16.
    found = kendall_w([[1, 6, 3, 2, 5, 4], [1, 5, 6, 4, 2, 3], [6, 3, 2, 5, 4, 1]])
    assert (found.value, found.n) == (float(Fraction(306, 1890)), 6)


def test_w_by_hand() -> None:
    # Three judges, four things, no ties: rank sums 4, 6, 8, 12, mean 7.5, S = 12.25 + 2.25 + .25 + 20.25 = 35.
    # W = 12 x 35 / (9 x (64 - 4)) = 420/540 = 7/9.
    assert kendall_w([[1, 2, 3, 4], [1, 3, 2, 4], [2, 1, 3, 4]]).value == float(Fraction(7, 9))


def test_w_with_ties_by_hand() -> None:
    # Two judges, ranks 1 2.5 2.5 4 and 1 2 3 4: sums 2, 4.5, 5.5, 8, mean 5, S = 9 + .25 + .25 + 9 = 18.5;
    # T = 2^3 - 2 = 6. W = 12 x 18.5 / (4 x 60 - 2 x 6) = 222/228.
    assert kendall_w([[1, 2, 2, 3], [1, 2, 3, 4]]).value == float(Fraction(222, 228))


def test_w_of_complete_agreement_with_ties_is_1_and_without_order_does_not_exist() -> None:
    assert kendall_w([[1, 2, 2, 3], [5, 7, 7, 9]]).value == 1.0
    assert kendall_w([[1, 2, 3], [3, 2, 1]]).value == 0.0
    assert kendall_w([[1, 1], [2, 2]]).reason == "no one has an order"
    assert kendall_w([[1, 2]]).value is None
    with pytest.raises(ValueError, match="same things"):
        kendall_w([[1, 2], [1]])


def test_tau_by_hand() -> None:
    # Pairs of (1,1) (2,3) (2,2) (3,3): concordant 4 of 6, one tied in x, one tied in y, none discordant:
    # 4 / sqrt(5 x 5).
    assert kendall_tau_b([1, 2, 2, 3], [1, 3, 2, 3]).value == 0.8


def test_correlations_agree_with_scipy() -> None:
    generator = random.Random(5)
    for _round in range(60):
        n = generator.randint(3, 9)
        x = [float(generator.randint(0, 4)) for _index in range(n)]
        y = [generator.randint(0, 40) / 10 for _index in range(n)]
        if len({*x}) == 1 or len({*y}) == 1:
            continue
        assert value(pearson(x, y)) == pytest.approx(stats.pearsonr(x, y).statistic, abs=1e-12)
        assert value(spearman(x, y)) == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)
        assert value(kendall_tau_b(x, y)) == pytest.approx(stats.kendalltau(x, y).statistic, abs=1e-12)


def test_correlations_are_exact_at_their_ends() -> None:
    assert pearson([0.1, 0.2, 0.3], [1, 2, 3]).value == 1.0
    assert pearson([0.1, 0.2, 0.3], [-1, -2, -3]).value == -1.0
    assert spearman([1, 2, 3, 4], [2, 1, 4, 3]).value == 0.6
    assert pearson([1, 2, 3], [1, 2, 1]).value == 0.0


def test_a_constant_list_has_no_correlation() -> None:
    for measure in (pearson, spearman, kendall_tau_b):
        assert measure([1, 1, 1], [1, 2, 3]) == Estimate(None, 3, reason="the first list is constant")
        # 0.1 + 0.2 and 0.3 differ in the last bit, which is no order.
        assert measure([1, 2], [0.1 + 0.2, 0.3]).reason == "the second list is constant"
        assert measure([2], [3]).reason == "fewer than 2 pairs of values"
        with pytest.raises(ValueError, match="2 numbers against 1"):
            measure([1, 2], [1])


def test_what_is_no_number_is_refused() -> None:
    for number in (math.nan, math.inf):
        with pytest.raises(ValueError, match="no score"):
            pearson([1.0, number], [1, 2])
    assert exact(-0.0) == 0
    assert exact(1e300) == 10**300


def test_fisher() -> None:
    # atanh(.9) = 1.4722; -+ 1.96 gives -.4877 and 3.4322; tanh: -.4524 and .9979.
    low, high = fisher_interval(0.9, 4) or (0.0, 0.0)
    assert (round(low, 4), round(high, 4)) == (-0.4524, 0.9979)
    assert fisher_interval(0.9, 3) is None
    assert fisher_interval(1.0, 10) is None


def test_doubled_ranks() -> None:
    assert doubled_ranks([30, 10, 30, 40]) == [5, 2, 5, 8]


TIES: tuple[Ties, ...] = ("strict", "half", "drop")


def test_ties_of_a_pair() -> None:
    def rate(first: int, second: int, ties: Ties) -> float | None:
        return method_rate(
            compare([Fraction(first), Fraction(0)], [Fraction(second), Fraction(0)]), ties
        ).value

    assert [rate(1, 1, ties) for ties in TIES] == [1.0, 1.0, 1.0]
    assert [rate(1, -1, ties) for ties in TIES] == [0.0, 0.0, 0.0]
    assert [rate(0, 1, ties) for ties in TIES] == [0.0, 0.5, None]
    assert [rate(1, 0, ties) for ties in TIES] == [0.0, 0.5, 0.0]
    assert [rate(0, 0, ties) for ties in TIES] == [1.0, 1.0, None]


def test_pairs_keep_their_counts() -> None:
    # Of six pairs people tie one (the third with the fourth); the method ties none and inverts one.
    people = [Fraction(n) for n in (9, 6, 3, 3)]
    method = [Fraction(n) for n in (5, 6, 2, 1)]
    counts = compare(people, method)
    assert method_rate(counts, "strict") == Estimate(4 / 6, 6, 0, 4.0)
    assert method_rate(counts, "half") == Estimate(4.5 / 6, 6, 0, 4.5)
    assert method_rate(counts, "drop") == Estimate(4 / 5, 5, 1, 4.0)
    assert method_rate(compare([], []), "strict").value is None


def test_what_annotators_tie_does_not_depend_on_who_comes_first() -> None:
    one, other = [Fraction(n) for n in (1, 1, 2, 4)], [Fraction(n) for n in (1, 3, 3, 2)]
    for ties in TIES:
        assert people_rate(compare(one, other), ties) == people_rate(compare(other, one), ties)


def test_measures_do_not_depend_on_unit_or_zero() -> None:
    generator = random.Random(8)
    rows = [[generator.randint(1, 7) for _index in range(3)] for _row in range(9)]
    moved = [[Fraction(7, 3) * number - 4 for number in row] for row in rows]
    shuffled = [[row[2], row[0], row[1]] for row in rows]
    for other in (moved, shuffled, rows[::-1]):
        for icc in (icc_1_1, icc_2_1, icc_2_k):
            assert icc(other).value == icc(rows).value
        for scale in ("nominal", "ordinal", "interval"):
            assert krippendorff_alpha(other, scale).value == krippendorff_alpha(rows, scale).value
        columns, others = list(zip(*rows, strict=True)), list(zip(*other, strict=True))
        assert kendall_w(others).value == kendall_w(columns).value
    x, y = [row[0] for row in rows], [row[1] for row in rows]
    u, v = [row[0] for row in moved], [row[1] for row in moved]
    for weights in ("unweighted", "linear", "quadratic"):
        assert cohen_kappa(x, y, weights).value == cohen_kappa(y, x, weights).value
        assert value(cohen_kappa(u, v, weights)) == pytest.approx(
            value(cohen_kappa(x, y, weights)), abs=1e-15
        )
    for measure in (pearson, spearman, kendall_tau_b):
        assert measure(x, y).value == measure(y, x).value == measure(u, y).value
        assert value(measure([-n for n in x], y)) == -value(measure(x, y))


def test_percentiles_and_means() -> None:
    assert percentile([1.0, 2.0, 3.0, 4.0], 50) == 2.5
    assert percentile([7.0], 97.5) == 7.0
    assert mean_estimate([1.0, None, 0.0], "") == Estimate(0.5, 2, 1)
    assert mean_estimate([1.0, None, 0.5], "", undefined_as=0.0) == Estimate(0.5, 3, 1)
    assert mean_estimate([None], "none") == Estimate(None, 0, 1, reason="none")


def test_draws_are_those_of_the_seed() -> None:
    first = Resamples(5, 3, 1)
    assert [*first] == [*first] == [*Resamples(5, 3, 1)] != [*Resamples(5, 3, 2)]
    assert {index for draw in Resamples(5, 100, 0) for index in draw} == {0, 1, 2, 3, 4}


def test_draws_are_those_of_python_s_generator() -> None:
    generator = random.Random(2**70)
    expected = [[int(generator.random() * 77) for _ in range(77)] for _ in range(13)]
    assert [list(draw) for draw in Resamples(77, 13, 2**70)] == expected


def rated(task: str, ratings: list[tuple[float, float]], scores: list[float | None]) -> RatedTask:
    """A task whose reports have ratings by two people and scores."""
    return RatedTask(
        task,
        tuple(
            RatedReport(
                str(number),
                {"ann": exact(one), "bob": exact(other)},
                str(number),
                None if score is None else exact(score),
            )
            for number, ((one, other), score) in enumerate(zip(ratings, scores, strict=True))
        ),
    )


@pytest.mark.parametrize(
    ("ties", "pooled", "by_task"),
    [
        # Means 1, 2, 3 against 3, 2, 1: 0 of 3 pairs. Means 1, 2 against 5, 6: 1 of 1. Means 4, 4 against 1, 2: tied by
        # people alone. One report has no pair, and is no task of the mean.
        ("strict", 1 / 5, (0 + 1 + 0) / 3),
        ("half", 1.5 / 5, (0 + 1 + 0.5) / 3),
        ("drop", 1 / 4, (0 + 1) / 2),
    ],
)
def test_pairwise_agreement_by_task_weighs_tasks_alike(ties: Ties, pooled: float, by_task: float) -> None:
    tasks = [
        rated("a", [(1, 1), (2, 2), (3, 3)], [3, 2, 1]),
        rated("b", [(1, 1), (2, 2)], [5, 6]),
        rated("c", [(3, 5), (5, 3)], [1, 2]),
        rated("d", [(1, 1)], [1]),
    ]
    found = {one.id: one for one in agreement_of_method(tasks, ties=ties, draws=20).measures}
    assert (found["pairwise"].unit, found["pairwise"].estimate.value) == ("pairs", pytest.approx(pooled))
    one = found["pairwise_tasks"]
    assert (one.unit, one.estimate.value) == ("tasks", pytest.approx(by_task))
    assert (one.estimate.n, one.estimate.n_undefined) == ((2, 1) if ties == "drop" else (3, 0))


def test_pairwise_agreement_of_people_by_task() -> None:
    # ann 1 2 3 and bob 1 3 2: 2 of 3 pairs. ann 3 5 and bob 5 3: 0 of 1.
    tasks = [rated("a", [(1, 1), (2, 3), (3, 2)], [None] * 3), rated("b", [(3, 5), (5, 3)], [None] * 2)]
    found = {one.id: one.estimate.value for one in agreement_of_people(tasks, draws=0)}
    assert (found["people_pairwise"], found["people_pairwise_tasks"]) == (
        2 / 4,
        pytest.approx((2 / 3 + 0) / 2),
    )


def test_the_standard_deviation_over_judges_is_that_of_deers_table_3() -> None:
    """Table 17 has the five judges, Table 3 their mean and standard deviation, computed before rounding.

    The rounded figures give means of 0.736, 0.706 and 0.840, and 0.0592, 0.0575, 0.0341 by n; n - 1 gives 0.0662,
    0.0643 and 0.0381, which is 0.07, 0.06 and 0.04.
    """
    table_17 = [
        (0.81, 0.80, 0.89),
        (0.76, 0.70, 0.82),
        (0.75, 0.73, 0.87),
        (0.63, 0.67, 0.82),
        (0.73, 0.63, 0.80),
    ]
    judges = [
        [
            Measure(name, name, "tasks", Estimate(value, 15))
            for name, value in zip(("r", "rho", "pa"), row, strict=True)
        ]
        for row in table_17
    ]
    found = over_judges(judges)
    assert [round(one.mean or 0, 3) for one in found] == [0.736, 0.706, 0.84]
    assert [round(one.std or 0, 2) for one in found] == [0.06, 0.06, 0.03]
    missing = over_judges([judges[0], [one._replace(estimate=Estimate(None, 0)) for one in judges[1]]])
    assert missing[0][3:] == (0.81, None, 1, 1)
