"""What the published code makes of judges' answers: winners as the judge names them, two judges' summaries averaged.

Invariant: bit for bit the published numbers, their faults included. Nothing here is in a score: the profile `upstream`
counts the same words game by game, but keeps what failed apart from ties, and pools judges' games.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

COUNTS = ("wins", "losses", "ties", "total", "decisive_games")


def winners(replies: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The winners of one pair from its two replies; a reply without a winner is a tie.

    Args:
        replies: first the one in which `A` is the evaluated report, then the one in which it is the reference.
    """
    places = (
        {"A": "evaluated_model", "B": "reference_model"},
        {"A": "reference_model", "B": "evaluated_model"},
    )
    return {
        f"winner_comparison_{number}": names.get(reply.get("winner", "tie"), "tie")
        for number, (reply, names) in enumerate(zip(replies, places, strict=True), 1)
    }


def averaged(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """The results by model of two judges' summaries, unweighted; what only one judge has is copied."""
    left, right = one["results_by_model"], other["results_by_model"]
    judges = {"judge_a": one["metadata"], "judge_b": other["metadata"]}
    found: dict[str, Any] = {}
    for model in dict.fromkeys((*left, *right)):
        a, b = left.get(model, {}), right.get(model, {})
        found[model] = {
            name: _both(name, a[name], b[name], judges)
            if name in a and name in b
            else a.get(name, b.get(name))
            for name in dict.fromkeys((*a, *b))
        }
    return found


def _both(
    name: str, a: Mapping[str, Any], b: Mapping[str, Any], judges: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    if name != "depth":
        return {
            "mean": (a["mean"] + b["mean"]) / 2,
            "count": a["count"],
            "min": min(a["min"], b["min"]),
            "max": max(a["max"], b["max"]),
            "mean_a": a["mean"],
            "mean_b": b["mean"],
        }
    own = ("wins", "losses", "ties", "decisive_games", "win_rate")
    return {
        **{count: (a[count] + b[count]) / 2 for count in COUNTS if count != "total"},
        "total": a["total"],
        # A judge that only tied has a rate of 0, not none.
        "win_rate": (a["win_rate"] + b["win_rate"]) / 2,
        "reference_model": a.get("reference_model", "open-deep-research"),
        "by_judge": {
            key: {
                "provider": said["provider"],
                "model": said["model"],
                **{count: summary[count] for count in own},
            }
            for (key, said), summary in zip(judges.items(), (a, b), strict=True)
        },
    }
