"""Agreement of people and of methods over tasks."""

from __future__ import annotations

import random
from collections.abc import Mapping
from fractions import Fraction

import pytest

from local_judge.stats.agreement.annotators import agreement_of_people
from local_judge.stats.agreement.method import agreement_of_method, system_means
from local_judge.stats.agreement.ratings import Measure, RatedReport, RatedTask
from local_judge.stats.estimate import Estimate, SumStatistic


def task(id: str, reports: Mapping[str, tuple[Mapping[str, int], float | None]]) -> RatedTask:
    return RatedTask(
        id,
        tuple(
            RatedReport(
                system,
                {annotator: Fraction(score) for annotator, score in ratings.items()},
                system,
                None if score is None else Fraction(str(score)),
            )
            for system, (ratings, score) in reports.items()
        ),
    )


HEAT = task(
    "heat", {"a": ({"ann": 9, "bob": 8}, 0.6), "b": ({"ann": 4, "bob": 5}, 0.5), "c": ({"ann": 2}, 0.1)}
)
WATER = task("water", {"a": ({"ann": 7, "bob": 9}, 0.4), "b": ({"ann": 7, "bob": 5}, 0.4)})
FLAT = task("flat", {"a": ({"ann": 5, "bob": 5}, 0.3), "b": ({"ann": 5, "bob": 5}, 0.7)})
ODD = task("odd", {"a": ({"ann": 1, "bob": 9}, 0.3), "b": ({"ann": 9, "bob": 1}, 0.7)})
TASKS = [HEAT, WATER, FLAT, ODD]


def named(measures: tuple[Measure, ...]) -> dict[str, Estimate]:
    return {measure.id: measure.estimate for measure in measures}


def counted(found: Estimate) -> tuple[float | None, int, int, float | None]:
    return found.value, found.n, found.n_undefined, found.hits


def test_a_method_by_hand() -> None:
    agreement = agreement_of_method(TASKS, draws=200)
    found = named(agreement.measures)
    # heat: three pairs agree. water: people order, the method ties. flat, odd: people tie, the method orders.
    assert counted(found["pairwise"]) == (3 / 6, 6, 0, 3.0)
    # ann: heat 3 of 3; water tied by both: agrees; flat no; odd agrees. bob: heat 1 of 1, water, flat and odd no.
    assert counted(found["pairwise_annotators"]) == (6 / 10, 10, 0, 6.0)
    # flat: 0/0. odd: MSB = 0, MSW = 32, ICC = -1. water: means 8 and 6, MSB = 4, MSW = 2, ICC = 2/6.
    assert {one.task: one.filter for one in agreement.tasks} == {
        "flat": "undefined",
        "heat": "kept",
        "odd": "removed",
        "water": "kept",
    }
    # water is kept and its scores are constant.
    assert (found["filtered_pearson"].n, found["filtered_pearson"].n_undefined) == (1, 1)
    assert found["filtered_spearman"].value == 1.0
    assert found["filtered_spearman_zero"].value == 0.5
    assert found["filtered_spearman_zero"].n_undefined == 1
    # Of a the mean ratings are 8.5, 8, 5 and 5, the scores .6, .4, .3 and .3.
    assert system_means(TASKS)["a"] == (Fraction("26.5") / 4, Fraction("1.6") / 4)
    assert found["overall_pearson"].n == 3
    assert found["overall_pearson_fisher"].value == found["overall_pearson"].value
    assert found["overall_pearson_fisher"].low is None, "no Fisher interval of three systems"
    four = ("pairwise", "overall_pearson", "filtered_pearson", "filtered_spearman")
    assert found["overall"].value == pytest.approx(sum(found[name].value or 0.0 for name in four) / 4)


def test_people_by_hand() -> None:
    found = named(agreement_of_people(TASKS, draws=200))
    # ann and bob both rated two reports of each task: heat agrees; water: ann ties, bob does not; flat: both tie;
    # odd: opposite.
    assert counted(found["people_pairwise"]) == (2 / 4, 4, 0, 2.0)
    drop = named(agreement_of_people(TASKS, ties="drop", draws=0))["people_pairwise"]
    assert counted(drop) == (1 / 2, 2, 2, 1.0)
    # c in heat has one rating, so only ann has rated all of heat, which has no W then; nor has flat.
    assert (found["icc_2_1"].n, found["icc_2_1"].n_undefined) == (8, 1)
    assert (found["alpha_interval"].n, found["alpha_interval"].n_undefined) == (16, 1)
    assert (found["kappa_linear"].n, found["kendall_w"].n_undefined) == (1, 2)


def test_without_the_filter_all_tasks_that_have_a_correlation_count() -> None:
    # a: 1, 8, mean 4.5; b: 9, 2, mean 5.5: MSB = 2 (0.25 + 0.25) / 1 = 1, MSW = 24.5: ICC < 0. Scores: same order.
    apart = task("apart", {"a": ({"ann": 1, "bob": 8}, 0.3), "b": ({"ann": 9, "bob": 2}, 0.7)})
    tasks = [*TASKS, apart]
    agreement = agreement_of_method(tasks, filtered=False, draws=50)
    assert {one.task: one.filter for one in agreement.tasks}["apart"] == "removed"
    found = named(agreement.measures)
    # heat: means 8.5, 4.5, 2 in the order of .6, .5, .1; apart: 1. water's scores, flat's and odd's means are constant.
    assert (found["unfiltered_spearman"].value, found["unfiltered_spearman"].n) == (1.0, 2)
    assert found["unfiltered_spearman"].n_undefined == 3
    assert found["unfiltered_spearman_zero"].value == 2 / 5
    # heat: deviations 3.5, -0.5, -3 and 0.2, 0.1, -0.3: 1.55 / sqrt(21.5 x 0.14).
    assert found["unfiltered_pearson"].value == pytest.approx((1.55 / (21.5 * 0.14) ** 0.5 + 1) / 2)
    filtered = named(agreement_of_method(tasks, draws=50).measures)
    assert filtered["filtered_pearson"].n == 1
    assert not {"overall", "filtered_pearson"} & found.keys(), "the mean of the four is of filtered ones"
    assert found["pairwise"] == filtered["pairwise"]


def test_annotators_are_correlated_two_by_two_within_a_task() -> None:
    found = named(agreement_of_people(TASKS, draws=50))
    # Both rated a and b of heat: (9, 8), (4, 5): 1. odd: -1. ann is constant on water, both on flat.
    assert (found["people_pearson"].value, found["people_pearson"].n) == (0.0, 2)
    assert found["people_spearman"].n_undefined == 2
    ratings = {"ann": (1, 2, 5), "bob": (1, 3, 2), "cai": (3, 2, 1)}
    three = task(
        "three",
        {
            system: ({who: given[place] for who, given in ratings.items()}, None)
            for place, system in enumerate("abc")
        },
    )
    one = named(agreement_of_people([three], draws=50))
    # Spearman: ann and bob 1 - 6 x 2 / 24 = 1/2, ann and cai -1, bob and cai -1/2.
    assert one["people_spearman"].value == pytest.approx(-1 / 3)
    # Pearson: deviations -5/3, -2/3, 7/3 (26/3); -1, 1, 0 (2); 1, 0, -1 (2): 1 / sqrt(52/3), -4 / sqrt(52/3), -1/2.
    assert one["people_pearson"].value == pytest.approx((-3 / (52 / 3) ** 0.5 - 0.5) / 3)


def test_reports_without_score_take_part_in_the_filter_only() -> None:
    # With c unscored, the ICC of heat is of three reports still, and its pairs are one.
    unscored = HEAT._replace(reports=(*HEAT.reports[:2], HEAT.reports[2]._replace(score=None)))
    whole, part = agreement_of_method([HEAT], draws=0), agreement_of_method([unscored], draws=0)
    assert whole.tasks[0].icc == part.tasks[0].icc
    assert named(part.measures)["pairwise"].n == 1
    nothing = WATER._replace(reports=tuple(report._replace(score=None) for report in WATER.reports))
    assert agreement_of_method([HEAT, nothing], draws=0) == whole


def test_reports_without_system_are_counted() -> None:
    nameless = WATER._replace(reports=(WATER.reports[0], WATER.reports[1]._replace(system=None)))
    found = named(agreement_of_method([HEAT, nameless], draws=0).measures)["overall_pearson"]
    assert (found.n, found.n_undefined) == (3, 1)


def test_one_task_has_no_interval_and_an_undefined_number_has_a_reason() -> None:
    found = named(agreement_of_method([FLAT], draws=50).measures)
    assert found["pairwise"] == Estimate(0.0, 1, 0, 0.0)
    filtered = found["filtered_pearson"]
    assert filtered == Estimate(None, 0, reason=filtered.reason) and "no task" in filtered.reason
    assert found["overall"].reason == "3 of the four does not exist"
    alone = RatedTask("t", (RatedReport("a", {"ann": Fraction(3)}, "a", Fraction(1)),))
    for measure in (*agreement_of_people([alone], draws=9), *agreement_of_method([alone], draws=9).measures):
        assert measure.estimate.value is None
        assert measure.estimate.reason


def sample(seed: int) -> list[RatedTask]:
    generator = random.Random(seed)
    return [
        task(
            f"t{number}",
            {
                system: (
                    {
                        who: generator.randint(1, 9)
                        for who in ("ann", "bob", "cai")
                        if generator.random() < 0.9
                    }
                    or {"ann": 5},
                    generator.random(),
                )
                for system in ("a", "b", "c", "d")
            },
        )
        for number in range(8)
    ]


def test_order_of_tasks_reports_and_ratings_changes_nothing() -> None:
    tasks = sample(1)
    turned = [
        one._replace(
            reports=tuple(
                report._replace(ratings=dict(reversed(list(report.ratings.items()))))
                for report in reversed(one.reports)
            )
        )
        for one in reversed(tasks)
    ]
    assert agreement_of_people(turned, seed=3, draws=100) == agreement_of_people(tasks, seed=3, draws=100)
    one, other = (agreement_of_method(given, seed=3, draws=100) for given in (turned, tasks))
    assert one.measures == other.measures


def test_names_of_annotators_change_nothing() -> None:
    tasks = sample(2)
    names = {"ann": "zoe", "bob": "ann", "cai": "bob"}
    renamed = [
        one._replace(
            reports=tuple(
                report._replace(ratings={names[who]: score for who, score in report.ratings.items()})
                for report in one.reports
            )
        )
        for one in tasks
    ]
    for before, after in zip(
        agreement_of_people(tasks, draws=0), agreement_of_people(renamed, draws=0), strict=True
    ):
        assert after.estimate.value == pytest.approx(before.estimate.value, abs=1e-15), before.id
    assert agreement_of_method(renamed, draws=0) == agreement_of_method(tasks, draws=0)


def test_units_of_ratings_and_scores_change_nothing() -> None:
    tasks = sample(3)
    moved = [
        one._replace(
            reports=tuple(
                report._replace(
                    ratings={who: score * Fraction(3, 7) + 2 for who, score in report.ratings.items()},
                    score=(report.score or Fraction(0)) * 100 - 5,
                )
                for report in one.reports
            )
        )
        for one in tasks
    ]
    for before, after in zip(
        agreement_of_people(tasks, draws=50), agreement_of_people(moved, draws=50), strict=True
    ):
        assert after.estimate.value == pytest.approx(before.estimate.value, abs=1e-12), before.id
        assert counted(after.estimate)[1:] == counted(before.estimate)[1:]
        assert after.estimate.low == pytest.approx(before.estimate.low, abs=1e-12)
    assert agreement_of_method(moved, draws=50).measures == agreement_of_method(tasks, draws=50).measures


def test_a_method_that_is_the_mean_rating_agrees_wholly() -> None:
    tasks = [
        one._replace(reports=tuple(report._replace(score=report.mean) for report in one.reports))
        for one in sample(4)
    ]
    found = named(agreement_of_method(tasks, draws=50).measures)
    for name in ("pairwise", "overall_pearson", "filtered_pearson", "filtered_spearman", "filtered_tau"):
        assert (found[name].value, found[name].low, found[name].high) == (1.0, 1.0, 1.0), name


def test_an_interval_holds_the_number_and_follows_the_seed() -> None:
    one, again, other = (agreement_of_method(sample(5), seed=seed, draws=300).measures for seed in (1, 1, 2))
    assert one == again != other
    for measure in one:
        low, high, value = measure.estimate.low, measure.estimate.high, measure.estimate.value
        assert low is not None and high is not None and value is not None
        assert low <= value <= high, measure.id


def test_draws_in_which_a_number_does_not_exist_are_counted() -> None:
    # Only tasks drawn with heat or water have pairs that people do not tie; with flat alone (1 in 4 draws of two
    # tasks) the rate does not exist.
    found = named(agreement_of_method([HEAT, FLAT], ties="drop", draws=400).measures)["pairwise"]
    assert found.value == 1.0
    assert 250 < found.n_draws < 350
    # An interval that would rest on fewer than half of the draws is not given.
    flats = [FLAT._replace(id=f"flat{number}") for number in range(9)]

    def seldom(sums: Mapping[str, int]) -> Estimate:
        return Estimate(1.0 if sums["n"] else None, sums["n"])

    seldom_there = SumStatistic([{"n": 1}, {}], seldom).estimate([[0, 1], [1, 1], [1, 1]])
    assert seldom_there == Estimate(1.0, 1, n_draws=1)
    assert named(agreement_of_method(flats, ties="drop", draws=9).measures)["pairwise"].reason == (
        "all pairs are tied"
    )


def test_sums_beyond_64_bits_are_exact() -> None:
    huge = 10**30
    rows = [{"sum": huge, "n": 1}, {"sum": -huge, "n": 1}, {"sum": 3, "n": 1}]

    def first(sums: Mapping[str, int]) -> Estimate:
        return Estimate(float(sums["sum"]), sums["n"])

    measure = SumStatistic(rows, first)
    assert measure.found().value == 3.0
    assert measure.replicates([[0, 1, 2], [2, 2, 2]]) == [3.0, 9.0]
