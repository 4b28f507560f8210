"""Score trees of several judges merged into one."""

from __future__ import annotations

import pytest

from local_judge.scoring.algebra import mean_of
from local_judge.scoring.ensemble import at_extremes, mean_over_judges, mean_trees
from local_judge.scoring.node import Score, ScoreNode

FAILED = Score(value=None, n_expected=4, n_failed=4, low=0.0, high=1.0, note="all 4 failed")


def known(value: float, **fields: object) -> Score:
    return Score.model_validate({"value": value, "n_expected": 4, "low": value, "high": value, **fields})


def node(id: str, score: Score, *children: ScoreNode) -> ScoreNode:
    return ScoreNode(id=id, label=id.title(), score=score, children=children)


def test_a_failed_judge_is_a_hole_and_no_zero() -> None:
    (root,) = mean_trees([[node("a", known(0.5))], [node("a", FAILED)]])
    score = root.score
    assert (score.value, score.n_expected, score.n_failed) == (0.5, 2, 1)
    # low = (0.5 + 0) / 2, high = (0.5 + 1) / 2
    assert (score.low, score.high) == (0.25, 0.75)
    assert score.note == "1 of 2 judges failed"


def test_a_hole_of_unknown_size_leaves_no_bounds() -> None:
    score = mean_over_judges([known(0.5), Score(value=None, n_expected=4, n_failed=4)])
    assert (score.value, score.low, score.high, score.n_failed) == (0.5, None, None, 1)


def test_a_judge_that_failed_in_part_is_counted_and_opens_the_bounds() -> None:
    score = mean_over_judges([known(0.5), known(1.0, n_failed=2, low=0.5), known(0.0)])
    assert (score.value, score.n_failed, score.note) == (0.5, 0, "1 of 3 judges failed in part")
    assert (score.low, score.high) == (pytest.approx(1 / 3), 0.5)


def test_what_all_judges_say_alike_is_said_once() -> None:
    assert mean_over_judges([known(0.5, note="both ways"), known(0.7, note="both ways")]).note == "both ways"
    assert mean_over_judges([known(0.5, note="a"), known(0.7, note="b")]).note == ""
    assert mean_over_judges([FAILED]) is FAILED


def test_trees_are_merged_by_id_in_the_order_of_the_first() -> None:
    one = [node("a", known(1.0), node("x", known(1.0)))]
    other = [node("a", known(0.0), node("y", known(0.5)), node("x", known(0.0))), node("b", known(0.25))]
    a, b = mean_trees([one, other])
    assert (a.score.value, b.score.value) == (0.5, 0.25)
    assert [(child.id, child.score.value) for child in a.children] == [("x", 0.5), ("y", 0.5)]
    assert (b.score.n_expected, b.score.n_undefined, b.score.note) == (2, 1, "1 of 2 judges have no value")
    assert mean_trees([]) == ()


def test_bounds_at_the_extremes_and_counts_from_the_judges() -> None:
    value = [node("a", known(0.5), node("x", known(0.5)))]
    against = [node("a", known(0.2, low=0.1), node("x", known(0.3)))]
    favour = [node("a", known(0.6, high=0.9), node("x", known(0.4)))]
    judges = [
        [node("a", known(0.5, n_failed=1), node("x", known(0.5)))],
        [node("a", FAILED, node("x", FAILED))],
    ]
    by_favour = {None: value, False: against, True: favour}
    (root,) = at_extremes(by_favour.__getitem__, judges)
    assert (root.score.value, root.score.low, root.score.high) == (0.5, 0.1, 0.9)
    assert (root.score.n_expected, root.score.n_failed) == (8, 5)
    (child,) = root.children
    # The value is never outside of its bounds.
    assert (child.score.low, child.score.high, child.score.n_failed) == (0.3, 0.5, 4)


def test_a_hole_of_unknown_size_in_one_report_is_none_of_a_known_size_in_the_mean() -> None:
    whole = Score(value=3, n_expected=1, low=3, high=3)
    holed = mean_over_judges(
        [Score(value=2, n_expected=1, low=2, high=2), Score(value=None, n_expected=1, n_failed=1)]
    )
    over_reports = mean_of([whole, whole, holed])
    assert (holed.low, holed.high) == (None, None)
    assert (over_reports.value, over_reports.low, over_reports.high) == (pytest.approx(8 / 3), None, None)
    at_least = mean_of([whole, Score(value=1, n_expected=2, n_failed=1, low=1)])
    assert (at_least.value, at_least.low, at_least.high) == (2, 2, None)
