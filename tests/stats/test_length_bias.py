from __future__ import annotations

import json
import random

import pytest
from scipy import stats

from local_judge.stats.length import Estimate, LengthBias, Observation, Relation, length_bias

FEW = 200


def observe(*rows: tuple[str | None, float, float]) -> list[Observation]:
    """From (task, length, score)."""
    return [Observation(f"r{number:03}", *row) for number, row in enumerate(rows)]


def bias(*rows: tuple[str | None, float, float], seed: int = 0) -> LengthBias:
    return length_bias(observe(*rows), seed=seed, draws=FEW)


def values(relation: Relation) -> tuple[float | None, ...]:
    return (
        relation.pearson.value,
        relation.spearman.value,
        relation.kendall.value,
        relation.slope.value,
    )


def test_four_reports_with_a_tie() -> None:
    found = bias((None, 100, 1), (None, 200, 2), (None, 300, 2), (None, 400, 4)).overall
    # x - 250: -150 -50 50 150; y - 2.25: -1.25 -0.25 -0.25 1.75. Products: 187.5 + 12.5 - 12.5 + 262.5 = 450.
    # Squares of x: 22500 + 2500 + 2500 + 22500 = 50000; of y: 1.5625 + 0.0625 + 0.0625 + 3.0625 = 4.75.
    assert found.pearson.value == pytest.approx(450 / (50_000 * 4.75) ** 0.5)
    # Per 1,000 words: 1000 * 450 / 50000 = 9.
    assert found.slope.value == pytest.approx(9.0)
    # Ranks of y: 1 2.5 2.5 4; less 2.5: -1.5 0 0 1.5. Products with -1.5 -0.5 0.5 1.5: 2.25 + 2.25 = 4.5.
    # Squares: 5 and 4.5. 4.5 / sqrt(5 * 4.5) = 0.948683.
    assert found.spearman.value == pytest.approx(4.5 / (5 * 4.5) ** 0.5)
    # Six pairs, five concordant, one tied in y: 5 / sqrt(6 * 5) = 0.912871.
    assert found.kendall.value == pytest.approx(5 / 30**0.5)
    assert (found.n, found.n_tasks, found.degrees, found.reason) == (4, 4, 2, "")


def test_overall_agrees_with_scipy() -> None:
    draw = random.Random(5)
    rows = [(None, float(draw.randint(1, 15)), float(draw.randint(1, 10))) for _ in range(40)]
    x, y = [row[1] for row in rows], [row[2] for row in rows]
    found = bias(*rows).overall
    for mine, theirs in (
        (found.pearson, stats.pearsonr(x, y)),
        (found.spearman, stats.spearmanr(x, y)),
        (found.kendall, stats.kendalltau(x, y)),
    ):
        assert mine.value == pytest.approx(theirs.statistic)
        assert mine.p_value == pytest.approx(theirs.pvalue)


# Two tasks: task b's reports are long and low, but within each task longer reports score higher.
SIMPSON = [
    ("a", 100.0, 7.0),
    ("a", 200.0, 8.0),
    ("a", 300.0, 9.0),
    ("b", 1100.0, 1.0),
    ("b", 1200.0, 3.0),
    ("b", 1300.0, 2.0),
]


def test_within_tasks_the_sign_can_turn() -> None:
    found = bias(*SIMPSON)
    assert found.overall.pearson.value is not None and found.overall.pearson.value < -0.9
    within = found.within
    # Centred lengths: -100 0 100 in both tasks; scores: -1 0 1 and -1 1 0. Products: 100 + 100 + 100 + 0 = 300.
    # Squares: 40000 and 2 + 2 = 4. 300 / sqrt(160000) = 0.75.
    assert within.pearson.value == pytest.approx(0.75)
    assert within.slope.value == pytest.approx(1000 * 300 / 40_000)
    # Ranks of the centred values: 1.5 3.5 5.5 for -100 0 100 (each twice); of -1 0 1 -1 1 0: 1.5 3.5 5.5 1.5 5.5 3.5.
    # Less 3.5: -2 0 2 -2 0 2 and -2 0 2 -2 2 0. Products: 4 + 4 + 4 = 12; squares: 16 and 16.
    assert within.spearman.value == pytest.approx(12 / 16)
    # Pairs within a: 3 concordant; within b: 2 concordant, 1 discordant. (5 - 1) / 6.
    assert within.kendall.value == pytest.approx(4 / 6)
    # 6 reports less 2 means less the slope.
    assert (within.n, within.n_tasks, within.degrees) == (6, 2, 3)
    # t = 0.75 sqrt(3 / (1 - 0.5625)) = 1.9640; two-sided with 3 degrees.
    assert within.pearson.p_value == pytest.approx(2 * stats.t.sf(1.963961, 3), rel=1e-5)
    # Variance of a task's 3 reports without ties: 3 * 2 * 11 / 18 = 11/3. z = (3 + 1) / sqrt(22/3).
    assert within.kendall.p_value == pytest.approx(2 * stats.norm.sf(4 / (22 / 3) ** 0.5))


def test_each_task_by_itself() -> None:
    found = bias(*SIMPSON, ("c", 5.0, 5.0), ("c", 6.0, 6.0), ("d", 1.0, 1.0), (None, 2.0, 2.0))
    assert [(task.task, task.relation.n) for task in found.tasks] == [("a", 3), ("b", 3)]
    assert values(found.tasks[0].relation) == pytest.approx((1.0, 1.0, 1.0, 10.0))
    # Ranks 1 3 2 against 1 2 3: products of -1 1 0 with -1 0 1: 1, over 2. Kendall: (2 - 1) / 3.
    assert values(found.tasks[1].relation) == pytest.approx((0.5, 0.5, 1 / 3, 5.0))
    assert found.too_few == (("c", 2), ("d", 1))
    # Task c of two reports counts within tasks, d and the report without a task do not.
    assert (found.within.n, found.within.n_tasks, found.overall.n_tasks) == (8, 3, 5)


def test_kendall_within_one_task_with_ties_is_scipys() -> None:
    draw = random.Random(7)
    rows = [("t", float(draw.randint(1, 6)), float(draw.randint(1, 4))) for _ in range(30)]
    found = bias(*rows).within
    theirs = stats.kendalltau([row[1] for row in rows], [row[2] for row in rows])
    assert found.kendall.value == pytest.approx(theirs.statistic)
    assert found.kendall.p_value == pytest.approx(theirs.pvalue)


def test_the_variance_of_kendall_with_ties_is_scipys() -> None:
    # A second task that is all ties adds nothing to the sum nor to its variance.
    draw = random.Random(8)
    rows = [("t", float(draw.randint(1, 6)), float(draw.randint(1, 4))) for _ in range(30)]
    found = bias(*rows, ("u", 1.0, 1.0), ("u", 1.0, 1.0)).within
    theirs = stats.kendalltau([row[1] for row in rows], [row[2] for row in rows], method="asymptotic")
    assert found.kendall.value == pytest.approx(theirs.statistic)
    assert found.kendall.p_value == pytest.approx(theirs.pvalue)


@pytest.mark.parametrize(
    ("rows", "overall", "within"),
    [
        ([], "0 reports, needs 3", "0 reports that share a task with another, needs 3"),
        (
            [("a", 1, 1), ("a", 2, 2)],
            "2 reports, needs 3",
            "2 reports that share a task with another, needs 3",
        ),
        (
            [("a", 1, 5), ("a", 2, 5), ("a", 3, 5)],
            "all reports have the same score",
            "all reports of each task have the same score",
        ),
        (
            [("a", 7, 1), ("a", 7, 2), ("a", 7, 5)],
            "all reports are equally long",
            "all reports of each task are equally long",
        ),
        # Constant within each task, not over both.
        (
            [("a", 1, 2), ("a", 3, 2), ("b", 1, 4), ("b", 3, 4)],
            "",
            "all reports of each task have the same score",
        ),
        # Differs in the last bit only: 0.1 + 0.2 is not 0.3.
        (
            [("a", 1, 0.1 + 0.2), ("a", 2, 0.3), ("a", 3, 0.3)],
            "all reports have the same score",
            "all reports of each task have the same score",
        ),
    ],
)
def test_what_does_not_exist_has_a_reason(
    rows: list[tuple[str | None, float, float]], overall: str, within: str
) -> None:
    found = bias(*rows)
    assert (found.overall.reason, found.within.reason) == (overall, within)
    for relation in (found.overall, found.within):
        if relation.reason:
            assert values(relation) == (None, None, None, None)
            assert relation.degrees is None and relation.pearson.p_value is None
    json.loads(found.model_dump_json(), parse_constant=lambda name: pytest.fail(name))


def test_equal_means_that_rounding_parts_are_ties() -> None:
    # 4.1 - 4.0 and 3.1 - 3.0 differ in their last bits; the centred scores are ties all the same.
    found = bias(("a", 1, 4.0), ("a", 2, 4.2), ("b", 1, 3.0), ("b", 2, 3.2)).within
    assert values(found) == pytest.approx((1.0, 1.0, 1.0, 200.0))


def test_intervals_hold_their_value_and_follow_the_seed() -> None:
    draw = random.Random(3)
    lengths = [draw.gauss(1000, 200) for _ in range(60)]
    rows = [(f"t{n % 12}", length, length / 200 + draw.gauss(0, 1)) for n, length in enumerate(lengths)]
    found, again, other = bias(*rows), bias(*rows), bias(*rows, seed=1)
    assert found == again
    assert found.overall.pearson.low != other.overall.pearson.low
    assert found.overall.pearson.value == other.overall.pearson.value
    for relation in (found.overall, found.within):
        estimates: list[Estimate] = [relation.pearson, relation.spearman, relation.kendall, relation.slope]
        for estimate in estimates:
            assert estimate.low is not None and estimate.high is not None and estimate.value is not None
            assert estimate.low < estimate.value < estimate.high
            assert estimate.n_draws == FEW
    assert (found.seed, found.draws) == (0, FEW)


def test_the_bootstrap_of_kendall_is_that_of_its_resamples() -> None:
    # With every report on one line all resamples that vary give 1: the interval has no width.
    found = bias(*[("t", float(n), float(n)) for n in range(8)]).within.kendall
    assert (found.value, found.low, found.high, found.p_value) == (1.0, 1.0, 1.0, pytest.approx(2 / 40320))


def test_resamples_without_variation_are_left_out() -> None:
    # One report differs: (4/5)^5 = 0.33 of the resamples lack it, and in these nothing varies.
    found = bias(*[(None, 1.0, 1.0)] * 4, (None, 2.0, 2.0)).overall.pearson
    assert found.value == pytest.approx(1.0)
    assert FEW / 2 < found.n_draws < FEW
    assert found.low == pytest.approx(1.0)


def test_the_order_of_the_reports_does_not_matter() -> None:
    rows = observe(*SIMPSON)
    assert length_bias(rows, draws=FEW) == length_bias(rows[::-1], draws=FEW)


def test_an_id_stands_once() -> None:
    with pytest.raises(ValueError, match="same id"):
        length_bias([Observation("a", None, 1, 1), Observation("a", "t", 2, 2)])
