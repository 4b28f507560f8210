"""Depth as the published files have it, and as the published code counts it.

    winners    whom each of the two replies names; a reply without a winner is a tie
    games      each winner one game; win rate = 100 * wins / (wins + losses), 0 where no game was decisive

Sources: `graders/pairwise_grader.py`, `batch_evaluator.py`.

Invariant: bit for bit the published numbers, their faults included. No score is read from here: the profile `upstream`
counts the same words game by game, and tells a failure from a tie and no decisive game from a rate of 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from local_judge.protocols.liveresearchbench.depth.findings import DIMENSIONS, Marks, Order, Pair

EVALUATED, REFERENCE, TIE = "evaluated_model", "reference_model", "tie"


def winners(replies: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The winners of one pair from its two replies.

    Args:
        replies: first the one in which `A` is the evaluated report, then the one in which it is the reference.
    """
    places = ({"A": EVALUATED, "B": REFERENCE}, {"A": REFERENCE, "B": EVALUATED})
    return {
        f"winner_comparison_{number}": names.get(reply.get("winner", TIE), TIE)
        for number, (reply, names) in enumerate(zip(replies, places, strict=True), 1)
    }


def result(pair: Pair, evaluated: str, reference: str) -> dict[str, Any] | None:
    """One pair as a report's `depth_grading_results`; None where an order failed: the published code has no such row.

    Args:
        pair: with a baseline.
        evaluated: name of the system that wrote the report.
        reference: name of the system that wrote the baseline.
    """
    replies = [_reply(order) for order in pair.orders]
    known = [reply for reply in replies if reply is not None]
    if len(known) < len(replies):
        return None
    return {
        **winners(known),
        "position_swap_used": True,
        "raw_comparison_1": known[0],
        "raw_comparison_2": known[1],
        "comparison_type": "vs_reference",
        "reference_model": reference,
        "evaluated_model": evaluated,
    }


def summary(results: Sequence[Mapping[str, Any]], reference: str) -> dict[str, Any]:
    """A model's games over its reports' results."""
    said = [found[f"winner_comparison_{number}"] for found in results for number in (1, 2)]
    wins, losses = said.count(EVALUATED), said.count(REFERENCE)
    return {
        "wins": wins,
        "losses": losses,
        "ties": len(said) - wins - losses,
        "total": len(said),
        "decisive_games": wins + losses,
        "win_rate": wins / (wins + losses) * 100 if wins + losses else 0,
        "reference_model": reference,
    }


def _reply(order: Order) -> dict[str, Any] | None:
    """An answer as the published judge gives it: by place, totals beside the scores."""
    if order.report is None or order.other is None:
        return None
    own, other = ("A", "B") if order.report_first else ("B", "A")
    marks = {own: order.report, other: order.other}
    flaws = {own: order.report_flaws, other: order.other_flaws}
    return {
        "winner": {"report": own, "other": other}.get(order.said or "tie", "tie"),
        "scores": {place: _scores(marks[place]) for place in ("A", "B")},
        "justification": order.analysis,
        "major_flaws": {place: list(flaws[place]) for place in ("A", "B")},
    }


def _scores(marks: Marks) -> dict[str, int]:
    return {**{name: marks.of(name) for name in DIMENSIONS}, "total": marks.total}
