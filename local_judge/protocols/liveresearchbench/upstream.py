"""Arithmetic of the published code on its judges' replies, reproduced exactly.

    rate      100 * sum(scores) / n        n: 10 for presentation, the checklist's length for coverage; missing items
                                           count as 0, surplus items count too, nothing is clamped
    score     as the judge gave it; 0 if it gave none
    winners   the report named by each of the two replies; a reply without a winner is a tie
    games     each winner one game; win rate = 100 * wins / (wins + losses), 0 without a decisive game
    summary   mean, number, least and greatest of each model and of all reports together, over those with a number
    average   two judges: (a + b) / 2 of means and win rates; a model that only one judge has is copied

Sources: `graders/checklist_grader.py`, `graders/pointwise_grader.py`, `graders/pairwise_grader.py`,
`batch_evaluator.py`, `average_results.py`.

Invariant: nothing is corrected. No score is read from here: the profile `upstream` of the metrics also tells a failure
from a tie, and a rate without decisive games from 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from local_judge.protocols.checklist import Item
from local_judge.protocols.liveresearchbench.depth.games import DIMENSIONS, Marks, Order, Pair

N_CHECKS = 10
BASELINE = "open-deep-research"

Row = Mapping[str, Any]

RATES = {"presentation": "average_pass_rate", "coverage": "percentage_addressed"}
"""Criteria whose number is in the summary of their result; for the others it is the score."""

EVALUATED, REFERENCE, TIE = "evaluated_model", "reference_model", "tie"


def winners(replies: Sequence[Row]) -> dict[str, str]:
    """Return the winners of one pair from its two replies.

    Args:
        replies: first the reply in which `A` is the evaluated report, then the one in which it is the reference.
    """
    places = ({"A": EVALUATED, "B": REFERENCE}, {"A": REFERENCE, "B": EVALUATED})
    return {
        f"winner_comparison_{number}": names.get(reply.get("winner", TIE), TIE)
        for number, (reply, names) in enumerate(zip(replies, places, strict=True), 1)
    }


def depth_result(pair: Pair, evaluated: str, reference: str) -> dict[str, Any]:
    """Return one pair as a report's `depth_grading_results`, without what an order that failed would give.

    The published summary counts a winner that is not there as a tie, which is in no win rate.

    Args:
        pair: pair with a baseline.
        evaluated: name of the system that wrote the report.
        reference: name of the system that wrote the baseline.
    """
    replies = [_reply(order) for order in pair.orders]
    named = zip(winners([reply or {} for reply in replies]).items(), replies, strict=True)
    raw = ((f"raw_comparison_{number}", reply) for number, reply in enumerate(replies, 1))
    return {
        **{name: winner for (name, winner), reply in named if reply is not None},
        "position_swap_used": True,
        **{name: reply for name, reply in raw if reply is not None},
        "comparison_type": "vs_reference",
        "reference_model": reference,
        "evaluated_model": evaluated,
    }


def games(results: Sequence[Row]) -> dict[str, Any]:
    """Count a model's games over its reports' results, against the baseline that the first of them names."""
    said = [found.get(f"winner_comparison_{number}", TIE) for found in results for number in (1, 2)]
    wins, losses = said.count(EVALUATED), said.count(REFERENCE)
    return {
        "wins": wins,
        "losses": losses,
        "ties": len(said) - wins - losses,
        "total": len(said),
        "decisive_games": wins + losses,
        "win_rate": wins / (wins + losses) * 100 if wins + losses else 0,
        "reference_model": results[0].get("reference_model", BASELINE),
    }


def _reply(order: Order) -> dict[str, Any] | None:
    """Return an answer in the published judge's form: by position, with totals."""
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


def evaluations(items: Sequence[Item]) -> dict[str, dict[str, Any]]:
    """Return items in the published judge's form, 0 or 1 with the reason; failed items are left out."""
    return {
        item.id: {"score": int(item.value), "justification": item.rationale}
        for item in items
        if item.value is not None
    }


def presentation_summary(evaluations: Mapping[str, Row]) -> dict[str, Any]:
    """Return the summary of the ten checks; `evaluations`: `{id: {"score": 0 or 1, …}}`."""
    keys = ("total_criteria", "total_score", "passed_count", "failed_count", "average_pass_rate")
    return _summary(keys, evaluations, N_CHECKS)


def coverage_summary(evaluations: Mapping[str, Row], n_items: int) -> dict[str, Any]:
    """Return the summary of a checklist of `n_items`."""
    keys = (
        "total_checklists",
        "total_score",
        "addressed_count",
        "not_addressed_count",
        "percentage_addressed",
    )
    return _summary(keys, evaluations, n_items)


def _summary(keys: Sequence[str], evaluations: Mapping[str, Row], n: int) -> dict[str, Any]:
    total = sum(evaluation["score"] for evaluation in evaluations.values())
    return dict(zip(keys, (n, total, total, n - total, total / n * 100 if n else 0.0), strict=True))


def issues_result(reply: Row) -> dict[str, Any]:
    """Return the parts of a reply on consistency or citations that the published code keeps."""
    defaults: dict[str, Any] = {"specific_issues": [], "total_issues": 0, "score": 0, "justification": ""}
    return {key: reply.get(key, default) for key, default in defaults.items()}


def summary(reports: Sequence[Row], criteria: Sequence[str]) -> dict[str, Any]:
    """Return `results_by_model` and `overall_results`: figures of each criterion, games of depth."""
    by_model: dict[str, dict[str, list[float]]] = {}
    pooled: dict[str, list[float]] = {}
    for report in reports:
        for criterion in criteria:
            value = value_of(report, criterion)
            if value is not None:
                by_model.setdefault(report["model_name"], {}).setdefault(criterion, []).append(value)
                pooled.setdefault(criterion, []).append(value)
    found: dict[str, dict[str, Any]] = {
        model: {criterion: _figures(values) for criterion, values in own.items()}
        for model, own in by_model.items()
    }
    overall = {criterion: _figures(values) for criterion, values in pooled.items()}
    compared = (
        [report for report in reports if report.get("depth_grading_results")] if "depth" in criteria else []
    )
    for model in dict.fromkeys(report["model_name"] for report in compared):
        own = [report["depth_grading_results"] for report in compared if report["model_name"] == model]
        found.setdefault(model, {})["depth"] = games(own)
    if compared:
        pooled_games = games([report["depth_grading_results"] for report in compared])
        overall["depth"] = {key: value for key, value in pooled_games.items() if key != "reference_model"}
    return {"results_by_model": found, "overall_results": overall}


def value_of(report: Row, criterion: str) -> float | None:
    """Return the number of one report that the summary of a criterion averages; None if it has none."""
    found: Row = report.get(f"{criterion}_grading_results") or {}
    if criterion in RATES:
        return found.get("summary", {}).get(RATES[criterion])
    return found.get("score")


def _figures(values: Sequence[float]) -> dict[str, Any]:
    return {"mean": sum(values) / len(values), "count": len(values), "min": min(values), "max": max(values)}


def average(a: Row, b: Row) -> dict[str, Any]:
    """Return `results_by_model` averaged over two judges' summaries."""
    ours: Mapping[str, Any] = a["results_by_model"]
    theirs: Mapping[str, Any] = b["results_by_model"]
    judges = (a["metadata"], b["metadata"])
    found: dict[str, Any] = {}
    for model in sorted({**ours, **theirs}):
        one, other = ours.get(model, {}), theirs.get(model, {})
        found[model] = {
            criterion: _average(criterion, one.get(criterion), other.get(criterion), judges)
            for criterion in sorted({**one, **other})
        }
    return found


def _average(criterion: str, one: Row | None, other: Row | None, judges: tuple[Row, Row]) -> Row:
    if one is None or other is None:
        return one or other or {}
    if criterion == "depth":
        return _averaged_games(one, other, judges)
    return {
        "mean": (one["mean"] + other["mean"]) / 2,
        "count": one["count"],
        "min": min(one["min"], other["min"]),
        "max": max(one["max"], other["max"]),
        "mean_a": one["mean"],
        "mean_b": other["mean"],
    }


def _averaged_games(one: Row, other: Row, judges: tuple[Row, Row]) -> Row:
    games = ("wins", "losses", "ties", "decisive_games", "win_rate")
    return {
        **{key: (one[key] + other[key]) / 2 for key in games},
        "total": one["total"],
        "reference_model": one.get("reference_model", BASELINE),
        "by_judge": {
            name: {"provider": judge["provider"], "model": judge["model"], **{key: row[key] for key in games}}
            for name, judge, row in zip(("judge_a", "judge_b"), judges, (one, other), strict=True)
        },
    }
