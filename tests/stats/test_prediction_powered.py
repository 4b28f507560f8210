"""Shares of a judge's calls, corrected by people's labels."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import pytest

from local_judge.stats.estimate import Estimate
from local_judge.stats.prediction_powered import LabelledUnit, cluster_interval, corrected_share


def units(*rows: tuple[float, float | None]) -> list[LabelledUnit]:
    return [LabelledUnit(f"r{n // 2}", call, label) for n, (call, label) in enumerate(rows)]


def test_a_known_value() -> None:
    # Labelled: calls 1 1 0 0, labels 1 0 0 0. Not labelled: calls 1 1 1 0.
    found = corrected_share(units((1, 1), (1, 0), (0, 0), (0, 0), (1, None), (1, None), (1, None), (0, None)))
    assert found.judge.value == pytest.approx(5 / 8)
    assert found.people.value == pytest.approx(1 / 4)
    # cov = mean of (f - 1/2)(y - 1/4) = (3/8 - 1/8 + 1/8 + 1/8) / 4 = 1/8; var of all eight calls = 5/8 * 3/8 = 15/64.
    weight = (1 / 8) / ((1 + 4 / 4) * 15 / 64)
    assert found.weight == pytest.approx(weight) == pytest.approx(4 / 15)
    # w * 3/4 + mean(y) - w * mean(f) = 1/4 + w / 4.
    assert found.corrected.value == pytest.approx(1 / 4 + weight / 4) == pytest.approx(19 / 60)


def test_all_labelled_is_the_peoples_share() -> None:
    found = corrected_share(units((1, 1), (1, 0), (0, 0), (1, 1)))
    assert found.corrected.value == found.people.value == 0.5
    assert found.weight == 0.0


def test_a_judge_that_tells_nothing_apart_has_no_weight() -> None:
    found = corrected_share(units((1, 1), (1, 0), (1, 0), (1, 0), (1, None), (1, None)))
    assert (found.weight, found.corrected.value, found.judge.value) == (0.0, 0.25, 1.0)


def test_without_labels_nothing_is_corrected() -> None:
    found = corrected_share(units((1, None), (0, None)))
    assert found.judge.value == 0.5
    assert found.corrected.value is None and found.corrected.reason == "no labels"
    assert corrected_share([]).judge.reason == "no calls"


def reports(*rows: Sequence[tuple[float, float | None]]) -> list[LabelledUnit]:
    return [LabelledUnit(f"r{n}", call, label) for n, row in enumerate(rows) for call, label in row]


def test_an_interval_has_known_values() -> None:
    # 97.5 % quantiles: 1.959964 of the normal distribution, 4.302653 of t with two degrees of freedom. This variance
    # makes the size 2, so that one unit is a yes: P(at least one of 2) = 1 - (1 - p)^2 = 0.025 at the lower bound.
    variance = 0.25 / 2 * (1.959964 / 4.302653) ** 2
    low = 1 - math.sqrt(1 - 0.025)
    assert cluster_interval(0.5, variance, 3, 12) == pytest.approx((low, 1 - low), abs=1e-6)


def test_labels_that_are_all_alike_have_an_interval() -> None:
    # The size is the number of reports: P(6 of 6) = p^6 = 0.025 at the lower bound, 0.5407.
    low = 0.025 ** (1 / 6)
    for share, ends in ((1, (low, 1.0)), (0, (0.0, 1 - low))):
        found = corrected_share(reports(*[[(0, share), (1, share), (1, None)]] * 6)).corrected
        assert (found.low, found.high) == pytest.approx(ends)


def test_the_variance_is_between_reports() -> None:
    # Shares of three reports of four claims: 1/4, 2/4 and 3/4. Without one: 5/8, 4/8 and 3/8.
    found = corrected_share(reports(*([(1, float(n < yes)) for n in range(4)] for yes in (1, 2, 3))))
    # (3 - 1) / 3 ((1/8)^2 + 0 + (1/8)^2) = 1/48
    assert (found.people.low, found.people.high) == pytest.approx(cluster_interval(0.5, 1 / 48, 3, 12))
    assert (found.corrected.low, found.corrected.high) == (found.people.low, found.people.high)
    assert found.clusters == 3


def test_reports_that_are_alike_count_no_more_than_their_units() -> None:
    # Five reports with 5 of 10 labels and one with 6, and as many calls without a label: 31 of 60 and 62 of 120.
    # For the people's share V = 5/6 (5 (1/300)^2 + (1/60)^2) = 1/3600, so that p (1 - p) / V (z / t)^2 is about 520.
    half, more = ([(float(n < yes), float(n < yes)) for n in range(10)] for yes in (5, 6))
    found = corrected_share(
        reports(*[row + [(call, None) for call, _ in row] for row in [half] * 5 + [more]])
    )
    for one, yes, n in ((found.people, 31, 60), (found.judge, 62, 120), (found.corrected, 62, 120)):
        assert tails(one, yes, n) == pytest.approx((0.025, 0.025))


def tails(found: Estimate, yes: int, n: int) -> tuple[float, float]:
    """Probabilities of at least `yes` of `n` at the lower end and of at most `yes` at the upper one."""
    low, high = found.low, found.high
    assert low is not None and high is not None
    return (
        sum(math.comb(n, k) * low**k * (1 - low) ** (n - k) for k in range(yes, n + 1)),
        sum(math.comb(n, k) * high**k * (1 - high) ** (n - k) for k in range(yes + 1)),
    )


def test_labels_that_agree_with_all_calls_leave_room_for_errors() -> None:
    # No report differs from another. w = cov / ((1 + 10 / 50) var) = 0.25 / (1.2 * 0.25) = 5/6.
    found = corrected_share(reports(*[[(1, 1), (0, 0), *[(1, None), (0, None)] * 5]] * 5))
    assert found.weight == pytest.approx(5 / 6)
    assert (found.corrected.low, found.corrected.high) == pytest.approx(
        cluster_interval(0.5, (5 / 6 / 10) ** 2, 5, 60)
    )


def test_reports_whose_ids_differ_in_a_last_nul_are_several() -> None:
    found = corrected_share([LabelledUnit(id_, 1, 1) for id_ in ("r", "r\0", "r\0\0") for _ in range(4)])
    assert found.clusters == 3 and found.people.low is not None


@pytest.mark.parametrize(
    "rows",
    [
        [[(1, 1)]],
        [[(1, 1), (0, 0), (1, 0)]] * 3,  # nine labels
        [[(1, 1), (0, 0), (1, 0), (0, 0), (1, None)]] * 2,  # two reports
        [[(1, 1), (0, 0)] * 5, [(1, 0)], *[[(1, None)]] * 9],  # two reports with labels
    ],
)
def test_few_labels_or_reports_have_no_interval(rows: Sequence[Sequence[tuple[float, float | None]]]) -> None:
    found = corrected_share(reports(*rows))
    assert found.corrected.value is not None
    assert found.corrected.low is found.corrected.high is found.people.low is None


def test_an_interval_over_six_reports_holds_its_level() -> None:
    # Ten labels of each report, half of whose claims is true in some reports and nearly all in others.
    holds = 0
    for seed in range(200):
        draw = random.Random(seed).random
        rows: list[LabelledUnit] = []
        for report in range(6):
            share = 0.5 if draw() < 0.5 else 0.9
            for n in range(20):
                true = draw() < share
                call = draw() < (0.8 if true else 0.6)
                rows.append(LabelledUnit(str(report), float(call), float(true) if n < 10 else None))
        found = corrected_share(rows).corrected
        assert found.low is not None and found.high is not None
        holds += found.low <= 0.7 <= found.high
    # 95 % intervals: 200 * 0.95 = 190; fewer than 183 has a probability of 0.01.
    assert holds >= 183


def test_a_biased_judge_is_corrected_and_the_interval_holds_the_truth() -> None:
    # The judge calls 30 % of the untrue claims supported: its share is far off, the corrected one is not.
    holds, narrower = 0, 0
    for seed in range(60):
        draw = random.Random(seed).random
        rows: list[LabelledUnit] = []
        for report in range(40):
            for _ in range(10):
                true = draw() < 0.6
                call = (draw() < 0.95) if true else (draw() < 0.3)
                labelled = draw() < 0.25
                rows.append(LabelledUnit(str(report), float(call), float(true) if labelled else None))
        found = corrected_share(rows)
        assert found.judge.value is not None and found.judge.value > 0.64
        low, high = found.corrected.low, found.corrected.high
        assert (
            low is not None
            and high is not None
            and found.people.low is not None
            and found.people.high is not None
        )
        holds += low <= 0.6 <= high
        narrower += high - low < found.people.high - found.people.low
    # 95 % intervals: 60 * 0.95 = 57; fewer than 52 has a probability below 0.01.
    assert holds >= 52
    # The judge's calls tell more than the labels alone.
    assert narrower >= 55
