"""Judges on the same reports."""

from __future__ import annotations

import pytest

from local_judge.lab.qualification.comparing.orders import Scored, agreeing, stabilities
from local_judge.lab.qualification.figures import Draws

DRAWS = Draws(200, 0)


def scored(judge: str, values: list[float | None], systems: str = "") -> list[Scored]:
    """One report a task; with `systems`, the same tasks for each of them."""
    n_tasks = len(values) // len(systems) if systems else len(values)
    return [
        Scored(
            "race",
            "overall",
            judge,
            f"r{place}",
            f"t{place % n_tasks}",
            systems[place // n_tasks] if systems else None,
            value,
        )
        for place, value in enumerate(values)
    ]


def test_a_judge_that_gives_one_more_to_every_report() -> None:
    (row,) = agreeing(scored("a", [1, 2, 3, 4]) + scored("b", [2, 3, 4, 5]), ["a", "b"], DRAWS)
    assert row.tau.value == 1.0
    assert (row.difference.value, row.bias.value) == (1.0, -1.0)
    assert (row.bias.low, row.bias.high) == (-1.0, -1.0)
    # MSR = 10 / 3, MSC = 2, MSE = 0: (10/3) / (10/3 + 2 x 2 / 4) = 10 / 13.
    assert row.icc.value == pytest.approx(10 / 13)
    assert row.n == 4


def test_two_reports_changed_in_order() -> None:
    (row,) = agreeing(scored("a", [1, 2, 3, 4]) + scored("b", [1, 2, 4, 3]), ["a", "b"], DRAWS)
    # Of six pairs five in the same order and one in the other.
    assert row.tau.value == pytest.approx(4 / 6)
    assert (row.difference.value, row.bias.value) == (0.5, 0.0)


def test_of_two_reports_nothing_is_said() -> None:
    rows = scored("a", [1, 2, 3, 4]) + scored("b", [1, 2, None, None])
    (row,) = agreeing(rows, ["a", "b"], DRAWS)
    assert (row.n, row.n_only_first, row.n_only_second) == (2, 2, 0)
    assert [one.value for one in (row.tau, row.difference, row.bias, row.icc)] == [None] * 4
    assert row.tau.reason == "2 reports that both have scored, needs 3"


def test_equal_scores_have_no_order_to_agree_on() -> None:
    (row,) = agreeing(scored("a", [1, 2, 3]) + scored("b", [5, 5, 5]), ["a", "b"], DRAWS)
    assert (row.tau.value, row.tau.reason) == (None, "the scores of one are all equal")
    assert row.difference.value == 3.0


def test_systems_keep_their_order_by_one_judge_and_not_by_the_other() -> None:
    rows = scored("a", [3, 3, 3, 1, 1, 1], "xy") + scored("b", [1, 2, 3, 3, 2, 1.5], "xy")
    one, other = stabilities(rows, ["a", "b"], DRAWS)
    assert one.order == (("x", 3.0), ("y", 1.0))
    assert one.kept.value == 1.0
    # y is ahead of x by 2, 0 and -1.5.
    assert [name for name, _ in other.order] == ["y", "x"]
    assert other.kept.value is not None
    assert 0 < other.kept.value < 1
    assert one.same_order == {"b": False}


def test_orders_of_two_judges_are_compared_on_the_tasks_of_both() -> None:
    # Both give every report the same; the second did not answer of the three tasks on which x is far ahead.
    alike: list[float] = [5, 5, 5, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2]
    fewer: list[float | None] = [None if place % 7 < 3 else value for place, value in enumerate(alike)]
    one, other = stabilities(scored("a", [*alike], "xy") + scored("b", fewer, "xy"), ["a", "b"], DRAWS)
    assert [name for name, _ in one.order] == ["x", "y"] and [name for name, _ in other.order] == ["y", "x"]
    assert one.same_order == {"b": True} and other.same_order == {"a": True}


def test_without_systems_there_is_no_order_of_them() -> None:
    assert stabilities(scored("a", [1, 2, 3]), ["a"], DRAWS) == []
