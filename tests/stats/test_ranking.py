"""The table of systems: counts, groups, intervals over tasks."""

from __future__ import annotations

import math
import random

import pytest

from local_judge.stats.ranking import Match, Ranking, RankingRow, rank_systems


def by_name(found: Ranking) -> dict[str, RankingRow]:
    return {row.system: row for row in found.rows}


def series(one: str, other: str, points: str, first: int = 1) -> list[Match]:
    """One match a task: w(on), l(ost), t(ied), f(ailed), for `one`."""
    values = {"w": 1.0, "l": 0.0, "t": 0.5, "f": None}
    return [
        Match(f"t{number:02}", one, other, (values[letter],)) for number, letter in enumerate(points, first)
    ]


def test_counts_and_strengths() -> None:
    found = rank_systems(series("ada", "bo", "wwltf"), draws=0)
    ada, bo = found.rows
    assert (ada.system, ada.wins, ada.losses, ada.ties, ada.failed, ada.games) == ("ada", 2, 1, 1, 1, 4)
    assert (bo.system, bo.wins, bo.losses, bo.ties, bo.failed, bo.games) == ("bo", 1, 2, 1, 1, 4)
    # Ties are in no part of the win rate, and half a win in the strength: 2.5 points to 1.5.
    assert (ada.win_rate, bo.win_rate) == (pytest.approx(2 / 3), pytest.approx(1 / 3))
    assert ada.strength == pytest.approx(math.log(2.5 / 1.5) / 2)
    assert (found.n_tasks, found.n_groups, ada.unbounded) == (5, 1, "")


def test_ties_alone_leave_no_win_rate() -> None:
    ada, _ = rank_systems(series("ada", "bo", "ttt"), draws=20).rows
    assert (ada.win_rate, ada.win_rate_interval, ada.strength) == (None, None, 0.0)
    assert ada.interval is not None and (ada.interval.low, ada.interval.high) == (0.0, 0.0)


def test_several_judges_games_are_pooled() -> None:
    found = by_name(rank_systems([Match("t", "ada", "bo", (1.0, 0.5, 0.0, 1.0), (True, False))]))
    assert (found["ada"].wins, found["ada"].ties, found["ada"].losses) == (2, 1, 1)
    assert (found["bo"].consistent, found["bo"].judged_twice) == (1, 2)
    # One task: nothing to draw from.
    assert found["ada"].interval is None and found["ada"].win_rate_interval is None


def test_tasks_are_drawn_and_the_order_of_matches_is_nothing() -> None:
    matches = series("ada", "bo", "wwwlwlwwtw") + series("bo", "cy", "wlwwltwlww")
    found = rank_systems(matches, seed=3, draws=400)
    shuffled = list(matches)
    random.Random(1).shuffle(shuffled)
    assert rank_systems(shuffled, seed=3, draws=400) == found
    assert rank_systems(matches, seed=4, draws=400) != found
    for row in found.rows:
        assert row.interval is not None and row.strength is not None and row.win_rate_interval is not None
        assert row.interval.low < row.strength < row.interval.high
        assert row.win_rate is not None
        assert row.win_rate_interval.low < row.win_rate < row.win_rate_interval.high
    # ada lost 2 of 10 tasks: a draw has none of them with probability 0.8 ** 10 = 0.107, more than 2.5 percent.
    assert by_name(found)["ada"].interval.high == math.inf  # pyright: ignore[reportOptionalMemberAccess]


def test_equal_tasks_leave_nothing_to_chance() -> None:
    matches = [Match(f"t{number}", "ada", "bo", (1.0, 0.5)) for number in range(5)]
    ada = by_name(rank_systems(matches, draws=20))["ada"]
    # 1.5 points of 2 on each task: odds of 3 in every draw.
    assert ada.interval is not None
    assert (ada.interval.low, ada.interval.high) == pytest.approx((math.log(3) / 2, math.log(3) / 2))
    assert ada.interval.n_draws == 20


def test_who_won_everything_is_first_and_said_to_have_no_limit() -> None:
    found = rank_systems(series("ada", "bo", "wwww") + series("bo", "cy", "wwlw"), draws=50)
    ada, bo, cy = found.rows
    assert [ada.system, bo.system, cy.system] == ["ada", "bo", "cy"]
    assert (ada.unbounded, bo.unbounded, cy.unbounded) == ("above", "below", "below")
    assert ada.regularised and cy.regularised
    assert ada.interval is not None and ada.interval.high == math.inf == ada.interval.low


def test_systems_that_never_met_are_in_groups() -> None:
    found = rank_systems(
        series("ada", "bo", "wl") + series("cy", "di", "wl") + series("di", "ed", "lw"), draws=0
    )
    assert [(row.system, row.group) for row in found.rows] == [
        ("cy", 1),
        ("di", 1),
        ("ed", 1),
        ("ada", 2),
        ("bo", 2),
    ]
    assert found.n_groups == 2


def test_a_system_whose_games_all_failed_has_no_strength() -> None:
    found = by_name(rank_systems(series("ada", "bo", "wl") + series("ada", "cy", "ff"), draws=20))
    assert found["cy"].strength is None and found["cy"].interval is None
    assert (found["cy"].group, found["cy"].games, found["cy"].failed) == (2, 0, 2)


def test_draws_in_which_a_group_falls_apart_do_not_count() -> None:
    # bo and cy meet on the third of three tasks only, ada and bo on the first two.
    matches = [*series("ada", "bo", "wl"), Match("t03", "bo", "cy", (0.5,))]
    found = by_name(rank_systems(matches, draws=2_000))
    interval = found["cy"].interval
    assert interval is not None and interval.n_draws < 2_000
    # The three hold together where the third task is drawn and another one too: 1 - 8/27 (never) - 1/27 (thrice).
    assert interval.n_draws / 2_000 == pytest.approx(18 / 27, abs=0.03)
