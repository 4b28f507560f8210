"""Whether systems keep their order on other tasks."""

from __future__ import annotations

import pytest

from local_judge.stats.agreement.stability import order_stability, ranks_of


def test_a_system_that_is_better_on_every_task_stays_better() -> None:
    found = order_stability({f"t{n}": {"a": n + 1.0, "b": float(n)} for n in range(4)}, seed=0, draws=200)
    assert found.order == (("a", 2.5), ("b", 1.5))
    assert found.kept.value == 1.0
    assert found.closest == ("a", "b")


def test_how_often_three_tasks_keep_an_order() -> None:
    # a is 1 better on two tasks and 1.5 worse on one: 0.5 / 3 better. Three draws with k of the third keep that where
    # 3 - k > 1.5 k, so for k = 0 and 1: (8 + 12) / 27 = 0.741.
    scores = {"t1": {"a": 2.0, "b": 1.0}, "t2": {"a": 2.0, "b": 1.0}, "t3": {"a": 1.0, "b": 2.5}}
    found = order_stability(scores, seed=1, draws=5000)
    assert found.kept.value == pytest.approx(20 / 27, abs=0.02)
    assert found.closest_kept is not None
    assert found.closest_kept.value == found.kept.value


def test_a_task_that_one_system_has_no_score_on_is_left_out() -> None:
    scores = {f"t{n}": {"a": 1.0, "b": 0.0} for n in range(3)} | {"t9": {"b": 100.0}}
    found = order_stability(scores, seed=0, draws=100)
    assert found.n_tasks == 3
    assert found.order == (("a", 1.0), ("b", 0.0))


def test_two_tasks_say_nothing() -> None:
    found = order_stability({f"t{n}": {"a": 1.0, "b": 0.0} for n in range(2)}, seed=0, draws=100)
    assert found.kept.value is None
    assert found.order == ()
    assert found.kept.reason.startswith("2 tasks with a score of each of 2 systems")


def test_equal_systems_have_no_order_to_keep_and_one_rank() -> None:
    found = order_stability({f"t{n}": {"a": 1.0, "b": 1.0} for n in range(3)}, seed=0, draws=100)
    assert found.kept.value is None
    assert found.kept.reason == "all systems have the same mean"
    assert ranks_of(found.order) == {"a": 1, "b": 1}
