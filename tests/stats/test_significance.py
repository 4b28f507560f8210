"""P-values of bootstrap draws, and Holm's correction."""

from __future__ import annotations

import pytest

from local_judge.stats.estimate import bootstrap_p, holm


def test_a_difference_that_no_draw_turns_has_the_least_p_that_the_draws_allow() -> None:
    assert bootstrap_p([0.5] * 199) == pytest.approx(2 / 200)


def test_no_difference_at_all_has_p_one() -> None:
    assert bootstrap_p([0.0] * 199) == 1.0


def test_draws_on_the_other_side_count_twice() -> None:
    # 9 of 199 draws are at or below 0: 2 (1 + 9) / 200.
    assert bootstrap_p([0.5] * 190 + [-0.1] * 5 + [0.0] * 4) == pytest.approx(0.1)


def test_draws_without_a_difference_are_left_out_and_too_many_of_them_leave_no_p() -> None:
    assert bootstrap_p([0.5] * 99 + [None] * 99) == pytest.approx(2 / 100)
    assert bootstrap_p([0.5] * 98 + [None] * 99) is None
    assert bootstrap_p([]) is None


def test_holm_of_three() -> None:
    # 0.01 x 3; 0.03 x 2; 0.04 x 1 is less than what came before it.
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])


def test_holm_counts_only_what_was_tested_and_ends_at_one() -> None:
    assert holm([None, 0.6, 0.7]) == [None, 1.0, 1.0]
    assert holm([0.04, None]) == [0.04, None]
