"""The published arithmetic of DeepResearchEval's quality, its ways with what failed included."""

from __future__ import annotations

from typing import Any

import pytest

from local_judge.protocols.deepresearcheval import upstream

CRITERIA = {
    "coverage": [{"criterion": "a", "weight": 0.75}, {"criterion": "b", "weight": 0.25}],
    "insight": [{"criterion": "c", "weight": 1.0}],
}
WEIGHTS = {"coverage": 0.5, "insight": 0.5}
INSIGHT = [{"criterion": "c", "report_score_0_to_10": 8}]


def coverage(**scores: float) -> list[dict[str, Any]]:
    return [{"criterion": name, "report_score_0_to_10": score} for name, score in scores.items()]


@pytest.mark.parametrize(
    ("raw", "found"),
    [
        # 0.75 * 8 + 0.25 * 8 = 8; 0.5 * 8 + 0.5 * 8 = 8
        (
            {"coverage": coverage(a=8, b=8), "insight": INSIGHT},
            {"coverage_score": 8.0, "insight_score": 8.0, "total_weighted_score": 8.0},
        ),
        # failed: 0 at full weight
        (
            {"coverage": [], "insight": INSIGHT},
            {"coverage_score": 0.0, "insight_score": 8.0, "total_weighted_score": 4.0},
        ),
        # a criterion under another name does not count: 4 by b alone
        (
            {"coverage": coverage(A=9, b=4), "insight": INSIGHT},
            {"coverage_score": 4.0, "insight_score": 8.0, "total_weighted_score": 6.0},
        ),
        # not scored at all: left out, and the weights are not normalised again
        ({"insight": INSIGHT}, {"insight_score": 8.0, "total_weighted_score": 4.0}),
    ],
)
def test_scores_of_a_report(raw: dict[str, Any], found: dict[str, float]) -> None:
    assert upstream.final_scores(raw, CRITERIA, WEIGHTS) == found


def test_scores_over_reports_leave_zeros_out() -> None:
    def final(total: float, **dimensions: float) -> dict[str, Any]:
        scores = {f"{name}_score": value for name, value in dimensions.items()}
        return {"model_results": {"ada": {"final_scores": {**scores, "total_weighted_score": total}}}}

    results = {
        "1": final(8, coverage=8, x=6, y=2),
        "2": final(0, coverage=0, x=0),
        "3": final(6, coverage=7, x=5),
    }
    averages = {"coverage_score": 7.5, "x_score": 5.5, "y_score": 2.0}
    assert upstream.summary(results, ["ada"]) == {
        "models": {"ada": {"average_total_score": 7.0, "total_queries": 2, "dimension_averages": averages}}
    }
    # by names: (5.5 + 2) / 2, and not the mean of 6, 2 and 5
    assert upstream.task_column(averages) == 3.75
