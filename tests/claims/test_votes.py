"""Votes on one claim and source."""

from __future__ import annotations

import pytest

from local_judge.claims.votes import Vote, decide, majority

YES, NO = Vote(True), Vote(False)


@pytest.mark.parametrize(
    ("votes", "found", "against", "favour"),
    [
        ((YES, YES, NO), True, True, True),
        ((NO, None), False, False, True),  # a yes that may come would make it a tie
        ((YES, NO), None, False, True),
        ((YES, None, None), True, False, True),
        ((YES, YES, None), True, True, True),
        ((None, None), None, False, True),
    ],
)
def test_labels_are_voted_on(
    votes: tuple[Vote | None, ...], found: bool | None, against: bool, favour: bool
) -> None:
    assert decide(votes) is found
    assert decide(votes, favour=False) is against
    assert decide(votes, favour=True) is favour


def test_probabilities_are_averaged_against_the_averaged_thresholds() -> None:
    # (0.9 + 0.3) / 2 = 0.6 >= 0.5, though the labels are divided
    split = (Vote(True, 0.9, 0.5), Vote(False, 0.3, 0.5))
    assert decide(split) is True
    # (0.6 + 0.2) / 2 = 0.4 < 0.5
    assert decide((Vote(True, 0.6, 0.5), Vote(False, 0.2, 0.5))) is False
    # A judge that says 0.7 to everything has a threshold of 0.8: (0.7 + 0.55) / 2 = 0.625 < (0.8 + 0.5) / 2 = 0.65
    assert decide((Vote(False, 0.7, 0.8), Vote(True, 0.55, 0.5))) is False
    # What is missing counts as 0 or 1 where the bounds are asked for: 0.9 / 2 = 0.45, 1.9 / 2
    assert decide((split[0], None)) is True
    assert decide((split[0], None), favour=False) is False
    assert decide((split[0], None), favour=True) is True


def test_the_threshold_of_a_judge_that_gave_no_answer_is_not_known() -> None:
    given = Vote(False, 0.7, 0.9)
    # Had the second judge a threshold of 0.2 and said 0.6: (0.7 + 0.6) / 2 = 0.65 >= (0.9 + 0.2) / 2 = 0.55
    assert decide((given, Vote(True, 0.6, 0.2))) is True
    assert decide((given, None), favour=True) is True
    assert decide((given, None), favour=False) is False


def test_one_vote_without_probability_makes_all_of_them_labels() -> None:
    assert decide((Vote(True, 0.9, 0.5), Vote(False, 0.3, 0.5), NO)) is False


def test_a_majority_is_of_those_that_said_something() -> None:
    assert majority((True, None, None)) is True
    assert majority((True, False)) is None
    assert majority(()) is None
    assert majority((True, None), favour=False) is False
