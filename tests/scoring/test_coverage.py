"""A score of which less is known than unknown has no value, in any protocol."""

from __future__ import annotations

import pytest

from local_judge.scoring.algebra import mean_of
from local_judge.scoring.coverage import coverage_of, known_enough, known_enough_trees, known_share
from local_judge.scoring.node import Score, ScoreNode
from local_judge.scoring.text import coverage_line

KNOWN = Score(value=9.5, n_expected=12, low=9.5, high=9.5)
UNREAD = Score(value=None, n_expected=57, n_failed=57, low=0.0, high=10.0)


def share(n_failed: int, n_expected: int = 10, n_undefined: int = 0) -> Score:
    return Score(
        value=5.0,
        numerator=1,
        denominator=2,
        n_expected=n_expected,
        n_failed=n_failed,
        n_undefined=n_undefined,
        low=1.0,
        high=9.0,
        note="of a page",
    )


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        (share(0), 1.0),
        (share(5), 0.5),  # 1 - 5 / 10
        (share(6), 0.4),
        (share(3, 10, 5), 0.4),  # 1 - 3 / (10 - 5)
        (Score(value=3.0), None),  # a plain number rests on nothing that could fail
        (Score(value=None, n_failed=1), 0.0),
    ],
)
def test_known_share(score: Score, expected: float | None) -> None:
    assert known_share(score) == (None if expected is None else pytest.approx(expected))


def test_half_is_enough_and_less_is_not() -> None:
    assert known_enough(share(5)) == share(5)
    without = known_enough(share(6))
    assert (without.value, without.numerator, without.denominator) == (None, None, None)
    assert (without.low, without.high, without.n_failed, without.n_expected) == (1.0, 9.0, 6, 10)
    assert without.note == "no value: 40 % of what it rests on is known; of a page"
    assert known_enough(without) == without


def test_a_mean_is_known_as_far_as_its_parts_are_on_average() -> None:
    # Information Integrity without a page: one of four parts is known, whatever its 12 answers, 1/4.
    integrity = mean_of([UNREAD, UNREAD, UNREAD, KNOWN])
    assert (integrity.value, integrity.known) == (None, 0.25)
    assert mean_of([UNREAD, UNREAD, UNREAD, KNOWN], partly=True).value == 9.5
    assert (integrity.low, integrity.high) == (9.5 / 4, pytest.approx(39.5 / 4))
    # (1 + 0.4) / 2 = 0.7: enough, by the one part that has a value; the code's mean takes both.
    assert (mean_of([KNOWN, share(6)]).value, mean_of([KNOWN, share(6)]).known) == (9.5, pytest.approx(0.7))
    assert mean_of([KNOWN, share(6)], partly=True).value == 7.25
    # A part that is undefined is no part: 2 of 2.
    assert mean_of([KNOWN, KNOWN, Score(value=None, n_undefined=1)]).known == 1.0
    # A mean of means: (0.25 + 1) / 2.
    assert (mean_of([integrity, KNOWN]).value, mean_of([integrity, KNOWN]).known) == (9.5, 0.625)
    # What has no value through failures below it is failed, not undefined, whatever its own counts: (1 + 9 * 0.4) / 10.
    withheld = mean_of([share(6), share(6)])
    nine = mean_of([KNOWN, *[withheld] * 9])
    assert (nine.value, nine.n_failed, nine.n_undefined, nine.known) == (None, 9, 0, pytest.approx(0.46))


def test_of_reports_half_must_have_a_value() -> None:
    assert mean_of([KNOWN, UNREAD]).value == 9.5
    alone = mean_of([KNOWN, UNREAD, UNREAD])
    assert (alone.value, alone.low, alone.high) == (None, 9.5 / 3, pytest.approx(29.5 / 3))
    # Three reports, each known to 2/5: none has a value of its own, and their mean has none.
    assert mean_of([known_enough(share(6))] * 3).value is None


def test_the_coverage_of_scores_counts_what_rests_on_a_part() -> None:
    # Of three with a value one rests on a half: (1 + 0.5 + 1) / 3 are known, and its bounds are 9 - 1 apart.
    found = coverage_of([KNOWN, share(5), KNOWN, UNREAD])
    assert found == (1, 3, pytest.approx(2.5 / 3), 8.0)
    assert coverage_line(found) == (
        "1 of 3 scores rests on a part of the answers: 83.3 % known on average, bounds up to 8.00 wide"
    )
    assert coverage_line(coverage_of([KNOWN, Score(value=1.0)])) == ""
    # A bound that is not known leaves no width.
    assert coverage_of([share(5).model_copy(update={"high": None})]).widest is None


def test_every_node_is_looked_at_and_missing_reports_limit_what_is_known() -> None:
    tree = (
        ScoreNode(id="a", label="A", score=KNOWN, children=(ScoreNode(id="b", label="B", score=share(6)),)),
    )
    (root,) = known_enough_trees(tree)
    assert (root.score, root.children[0].score.value) == (KNOWN, None)
    # Findings of two of five reports: pooled over them, everything is known, of the system 2/5.
    (over,) = known_enough_trees(tree, most=2 / 5)
    assert (over.score.value, over.score.known, over.score.low) == (None, 0.4, 9.5)
