"""Two methods beside each other on the same reports."""

from __future__ import annotations

from fractions import Fraction

import pytest

from local_judge.stats.agreement.method import agreement_of_method, difference_of_methods
from local_judge.stats.agreement.ratings import Measure, RatedReport, RatedTask
from local_judge.stats.estimate import Estimate, Resamples, percentile


def tasks(*scores: tuple[float | None, float | None, float | None]) -> list[RatedTask]:
    """Tasks with three reports that two people rated 1, 2, 3, and the scores of a method."""
    return [
        RatedTask(
            f"t{number}",
            tuple(
                RatedReport(
                    system,
                    {"ann": Fraction(rank), "bob": Fraction(rank)},
                    system,
                    None if score is None else Fraction(str(score)),
                )
                for rank, (system, score) in enumerate(zip("abc", row, strict=True), 1)
            ),
        )
        for number, row in enumerate(scores)
    ]


def named(measures: tuple[Measure, ...]) -> dict[str, Estimate]:
    return {measure.id: measure.estimate for measure in measures}


RIGHT, WRONG, ONE_SWAP = (0.1, 0.2, 0.3), (0.3, 0.2, 0.1), (0.2, 0.1, 0.3)


def test_differences_by_hand() -> None:
    first, second = tasks(RIGHT, RIGHT, ONE_SWAP, WRONG), tasks(RIGHT, ONE_SWAP, ONE_SWAP, WRONG)
    found = difference_of_methods(first, second, draws=400)
    assert (found.n_reports, found.n_first, found.n_second) == (12, 0, 0)
    of = named(found.measures)
    # Pairs that agree of three on each task: 3 + 3 + 2 + 0 of 12, and 3 + 2 + 2 + 0.
    assert of["pairwise"].value == pytest.approx(1 / 12)
    # Spearman of one swap is 1/2: means of 1, 1, 1/2, -1 and of 1, 1/2, 1/2, -1.
    assert of["filtered_spearman"].value == pytest.approx(1 / 8)
    assert "overall_pearson_fisher" not in of, "its interval is over systems, and no draw of tasks"
    assert all(estimate.n == 4 for estimate in of.values())

    # Paired: task 1 alone differs, by one pair of three, so a draw that has it k times differs by k / 12.
    times = [draw.count(1) for draw in Resamples(4, 400, 0)]
    ordered = sorted(k / 12 for k in times)
    expected = percentile(ordered, 2.5), percentile(ordered, 97.5)
    assert (of["pairwise"].low, of["pairwise"].high) == pytest.approx(expected)
    assert of["pairwise"].n_draws == 400
    # The intervals of the two themselves are far wider: they hold what is hard for both.
    apart = named(agreement_of_method(first, draws=400).measures)["pairwise"]
    assert (apart.high or 0) - (apart.low or 0) > 2 * (expected[1] - expected[0])


def test_the_other_way_round_is_the_negative() -> None:
    first, second = tasks(RIGHT, ONE_SWAP, WRONG), tasks(ONE_SWAP, RIGHT, RIGHT)
    one = named(difference_of_methods(first, second, draws=100).measures)
    other = named(difference_of_methods(second, first, draws=100).measures)
    for name, estimate in one.items():
        turned = other[name]
        assert estimate.value is not None and turned.value is not None
        assert estimate.value == pytest.approx(-turned.value)
        assert (estimate.low, estimate.high) == pytest.approx((-(turned.high or 0), -(turned.low or 0)))


def test_a_method_differs_in_nothing_from_itself() -> None:
    same = tasks(RIGHT, ONE_SWAP, WRONG)
    for estimate in named(difference_of_methods(same, same, draws=50).measures).values():
        assert (estimate.value, estimate.low, estimate.high) == (0.0, 0.0, 0.0)


def test_only_reports_that_both_have_scored_count() -> None:
    first = tasks(RIGHT, RIGHT, (0.1, None, None))
    second = tasks((0.1, 0.2, None), WRONG, (None, 0.2, 0.3))
    found = difference_of_methods(first, second, draws=20)
    # Of t0 the first two, of t1 all; nothing of t2.
    assert (found.n_reports, found.n_first, found.n_second) == (5, 2, 2)
    of = named(found.measures)
    assert of["pairwise"].n == 2
    # 1 of 1 and 3 of 3 pairs, less 1 of 1 and 0 of 3.
    assert of["pairwise"].value == pytest.approx(4 / 4 - 1 / 4)


def test_what_does_not_exist_is_counted_and_has_a_reason() -> None:
    first, second = tasks(RIGHT, RIGHT), tasks((0.1, 0.1, 0.1), (0.1, 0.1, 0.1))
    of = named(difference_of_methods(first, second, draws=20).measures)
    assert (of["filtered_pearson"].value, of["filtered_pearson"].n_undefined) == (None, 2)
    assert of["filtered_pearson"].reason == "no task is kept that has a correlation"
    # Counted as 0 it exists: 1 - 0.
    assert of["filtered_pearson_zero"].value == pytest.approx(1.0)
    nothing = difference_of_methods(tasks(RIGHT), tasks((None, None, None)), draws=5)
    assert (nothing.n_reports, nothing.n_first) == (0, 3)
    assert {measure.estimate.reason for measure in nothing.measures} == {"no report that both have scored"}
    assert [measure.id for measure in nothing.measures] == list(of)
