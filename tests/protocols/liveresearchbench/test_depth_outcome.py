"""Who wins: the paper's rule, the published code's, and what failures leave open."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from local_judge.protocols.liveresearchbench.depth.games import (
    Game,
    Marks,
    Order,
    Pair,
    consistent,
    decided,
    games,
    margin,
)
from local_judge.protocols.liveresearchbench.upstream import depth_result, winners
from local_judge.protocols.liveresearchbench.upstream import games as published_games

from .depth_cases import FAILED, against, order, pair


@pytest.fixture(scope="module")
def golden(shared: Path) -> dict[str, Any]:
    cases = json.loads(
        (shared / "fixtures" / "liveresearchbench_deepresearcheval.json").read_text(encoding="utf-8")
    )
    return {case["name"]: case for case in cases}


@pytest.mark.parametrize(
    ("difference", "outcome"),
    [
        (0, "tie"),
        (1, "tie"),
        (-1, "tie"),
        (Fraction(3, 2), "report"),
        (Fraction(-10001, 10000), "other"),
        (25, "report"),
    ],
)
def test_a_tie_is_a_difference_of_one_at_most(difference: Fraction, outcome: str) -> None:
    assert decided(difference) == outcome


def test_the_paper_averages_both_orders_and_then_decides() -> None:
    # +5 and -2: 1.5 on average, though the second order alone goes the other way.
    [game] = games([against((20, 18), (15, 20))], "paper")
    assert (game, margin([against((20, 18), (15, 20))])) == (
        Game("report", "report", "report"),
        Fraction(3, 2),
    )
    # The documented worked example: 17.0 against 24.0.
    assert games([against((16, 18), (23, 25))], "paper")[0].outcome == "other"
    # +3 and -1: exactly 1.
    assert games([against((20, 18), (17, 19))], "paper")[0].outcome == "tie"


def test_totals_decide_order_by_order() -> None:
    found = games([against((20, 18), (15, 20))], "totals")
    assert [game.outcome for game in found] == ["report", "other"]


def test_upstream_takes_the_judge_at_its_word() -> None:
    # 20:19 is a tie by the rule; the judge said otherwise.
    said = pair(order(True, 20, 19, said="report"), order(False, 20, 19))
    assert [game.outcome for game in games([said], "upstream")] == ["report", "tie"]
    assert [game.outcome for game in games([said], "totals")] == ["tie", "tie"]


def test_several_judges_are_averaged_before_the_tie() -> None:
    # Each by itself: +1 (tie) and +2 (win); together +1.5.
    judges = [against((20, 20), (19, 19)), against((20, 20), (18, 18))]
    assert [games([one], "paper")[0].outcome for one in judges] == ["tie", "report"]
    assert games(judges, "paper")[0].outcome == "report"
    assert [game.outcome for game in games(judges, "totals")] == ["tie", "tie", "report", "report"]


def test_half_a_pair_decides_nothing() -> None:
    [game] = games([against((20, None), (10, 0))], "paper")
    # +10 is known; the other order is somewhere from -25 to 25: -7.5 to 17.5 on average.
    assert game == Game(None, "other", "report")
    assert games([against((25, None), (0, 0))], "paper")[0] == Game(None, "tie", "report")
    assert [one.outcome for one in games([against((20, None), (10, 0))], "totals")] == ["report", None]


def test_a_judge_that_failed_leaves_the_others_and_opens_the_bounds() -> None:
    judges = [against((20, 20), (18, 18)), against((None, None), (0, 0))]
    [game] = games(judges, "paper")
    # +2 by the first alone; with the second between (2 + 2 - 50) / 4 and (2 + 2 + 50) / 4.
    assert game == Game("report", "other", "report")
    # What is known of the second's first order pulls the best case below what the first said: it stays within.
    judges = [against((20, 20), (18, 18)), against((0, None), (25, 0))]
    assert games(judges, "paper")[0] == Game("report", "other", "report")


def test_consistency() -> None:
    assert consistent(against((20, 20), (15, 18)), "paper") is True
    assert consistent(against((20, 15), (15, 20)), "paper") is False
    assert consistent(against((20, 20), (20, 20)), "paper") is True
    assert consistent(against((20, None), (15, 18)), "paper") is None
    said = pair(order(True, 20, 19, said="report"), order(False, 20, 19, said="tie"))
    assert (consistent(said, "upstream"), consistent(said, "paper")) == (False, True)


def replied(reply: dict[str, Any], report_first: bool) -> Order:
    """A published reply as one of our orders; one without scores failed."""
    places = ("A", "B") if report_first else ("B", "A")
    if not reply["scores"]:
        return Order(report_first=report_first, failure=FAILED)
    own, other = (
        Marks(**{key: value for key, value in reply["scores"][place].items() if key != "total"})
        for place in places
    )
    said = {places[0]: "report", places[1]: "other"}.get(reply["winner"], "tie")
    return Order.model_validate({"report_first": report_first, "report": own, "other": other, "said": said})


def test_the_golden_pairs(golden: dict[str, Any]) -> None:
    case = golden["lrb_pairwise_position_swap"]
    [replies] = case["input"].values()
    assert [winners(two) for two in replies] == case["upstream_output"]
    pairs = [pair(replied(first, True), replied(second, False)) for first, second in replies]
    by_paper = [games([one], "paper")[0].outcome for one in pairs]
    assert by_paper == ["report", "tie", "other", "tie", None]
    # Of the last pair the first reply has no winner: there a tie, here a failure.
    names = {"report": "evaluated_model", "other": "reference_model", "tie": "tie"}
    for one, expected in zip(pairs[:4], case["upstream_output"], strict=False):
        assert [names[str(game.outcome)] for game in games([one], "upstream")] == list(expected.values())
    assert [game.outcome for game in games([pairs[4]], "upstream")] == [None, "report"]


def test_results_as_published(golden: dict[str, Any]) -> None:
    [replies] = golden["lrb_pairwise_position_swap"]["input"].values()
    for first, second in replies[:4]:
        found = depth_result(pair(replied(first, True), replied(second, False)), "ada", "odr")
        assert (found["raw_comparison_1"], found["raw_comparison_2"]) == (first, second)
        assert (found["evaluated_model"], found["reference_model"]) == ("ada", "odr")
    found = depth_result(pair(replied(replies[4][0], True), replied(replies[4][1], False)), "ada", "odr")
    assert "winner_comparison_1" not in found and "raw_comparison_1" not in found  # the order failed


def test_games_as_published() -> None:
    won, split, tied = (
        depth_result(against(own, other), "ada", "odr")
        for own, other in (((20, 20), (10, 10)), ((20, 10), (10, 20)), ((20, 20), (20, 20)))
    )
    # Two wins; a win and a loss; two ties: 3 / (3 + 1).
    assert published_games([won, split, tied]) == {
        "wins": 3,
        "losses": 1,
        "ties": 2,
        "total": 6,
        "decisive_games": 4,
        "win_rate": 75.0,
        "reference_model": "odr",
    }
    assert published_games([tied])["win_rate"] == 0


def test_a_pair_has_two_orders() -> None:
    with pytest.raises(ValueError, match="orders"):
        Pair.model_validate({"opponent": against((1, 1), (1, 1)).opponent, "orders": (order(True, 1),)})
