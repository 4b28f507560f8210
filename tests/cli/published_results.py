"""Result files of LiveResearchBench and DeepResearchEval in the published shapes, small and made for tests."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

GRADER = {"provider": "openai", "model": "gpt-5", "graded_at": "2025-10-31T01:38:49"}


def checks(scores: str, prefix: str) -> dict[str, Any]:
    """Presentation (`p`) or coverage (`q`), one digit for each item."""
    evaluations = {
        f"{prefix}{number}": {"score": int(score), "justification": f"Reason {number}."}
        for number, score in enumerate(scores, 1)
    }
    total, n = sum(map(int, scores)), len(scores)
    names = (
        ("total_criteria", "passed_count", "failed_count", "average_pass_rate")
        if prefix == "p"
        else ("total_checklists", "addressed_count", "not_addressed_count", "percentage_addressed")
    )
    summary = dict(zip(names, (n, total, n - total, total / n * 100), strict=True))
    return {"evaluations": evaluations, "summary": {"total_score": total, **summary}, **GRADER}


def issues(n: int, score: float) -> dict[str, Any]:
    return {
        "specific_issues": [f"Issue {number}." for number in range(n)],
        "total_issues": n,
        "score": score,
        "justification": "Counted.",
        **GRADER,
    }


def reply(a: int, b: int, winner: str) -> dict[str, Any]:
    """A comparison in which each dimension of A has `a` points."""
    names = ("granularity", "insight", "critique", "evidence", "density")
    scores = {
        place: {**dict.fromkeys(names, points), "total": 5 * points} for place, points in (("A", a), ("B", b))
    }
    return {
        "winner": winner,
        "scores": scores,
        "justification": "Deeper.",
        "major_flaws": {"A": [], "B": ["Thin."]},
    }


def depth(winners: Sequence[str], *replies: dict[str, Any]) -> dict[str, Any]:
    return {
        **{f"winner_comparison_{number}": winner for number, winner in enumerate(winners, 1)},
        "position_swap_used": True,
        **{f"raw_comparison_{number}": one for number, one in enumerate(replies, 1)},
        "reference_model": "open-deep-research",
        **GRADER,
    }


def detailed(*rows: dict[str, Any]) -> dict[str, Any]:
    """The file of detailed results; a row: `model`, `task` and results by criterion."""
    reports = [
        {
            "model_name": row["model"],
            "query_id": row["task"],
            "query": f"What of {row['task']}?",
            "report_file_path": f"reports/{row['model']}/qid_{row['task']}_report.md",
            **{
                f"{name}_grading_results": result
                for name, result in row.items()
                if name not in ("model", "task")
            },
        }
        for row in rows
    ]
    return {"metadata": {"timestamp": "20251031_013849", "use_realtime": True}, "reports": reports}


WON, LOST, TIED = "evaluated_model", "reference_model", "tie"

DETAILED = detailed(
    {
        "model": "ada",
        "task": "mill",
        "presentation": checks("1111111100", "p"),
        "coverage": checks("110", "q"),
        "consistency": issues(2, 90),
        "citation": issues(3, 85),  # a score that is not in the table
        "depth": depth((WON, TIED), reply(4, 3, "A"), reply(3, 3, "tie")),
    },
    {
        "model": "ada",
        "task": "heat",
        "presentation": checks("1111111110", "p"),
        "coverage": {"error": "No checklists found", "evaluations": {}, "summary": {}, **GRADER},
        "depth": depth((LOST, LOST), reply(2, 3, "B"), reply(4, 1, "A")),
    },
    {
        "model": "bob",
        "task": "mill",
        "presentation": checks("1000000000", "p"),
        "coverage": checks("100", "q"),
        "consistency": issues(0, 100),
        "citation": issues(1, 90),
        "depth": depth((TIED, TIED), reply(3, 3, "tie"), reply(3, 3, "tie")),
    },
)
"""Upstream means: ada presentation (80 + 90) / 2 = 85, coverage 200 / 3, consistency 90, citation 85, depth 1 win and 2
losses of 4 games: 100 / 3. bob 10, 100 / 3, 100, 90, no decisive game."""


def quality(**reports: tuple[float, float]) -> dict[str, Any]:
    """Quality of reports on task 1: scores of `coverage` (weight 0.75) and of `cost_of_money` (0.25), by system.

    Total: 0.75 * coverage + 0.25 * cost.
    """
    criteria = {
        name: [{"criterion": f"Says {name}.", "explanation": "", "weight": 1.0}]
        for name in ("coverage", "cost_of_money")
    }
    results = {
        system: {
            "raw_scores": {
                name: [{"criterion": f"Says {name}.", "analysis": "Read.", "report_score_0_to_10": score}]
                for name, score in zip(criteria, scores, strict=True)
            },
            "final_scores": {
                "coverage_score": scores[0],
                "cost_of_money_score": scores[1],
                "total_weighted_score": 0.75 * scores[0] + 0.25 * scores[1],
            },
            "report_text": f"The report of {system}.",
        }
        for system, scores in reports.items()
    }
    query = {
        "query_id": 1,
        "query_prompt": "What did it cost?",
        "all_dims_with_definition": {"coverage": "Breadth", "cost_of_money": "Interest"},
        "additional_dimensions": [{"meta_dimension_name": "Cost of-Money", "definition": "Interest"}],
        "dimension_weights": {"coverage": 0.75, "cost_of_money": 0.25},
        "all_criteria": criteria,
        "model_results": results,
    }
    return {"timestamp": "2026-02-11", "model_names": list(reports), "query_results": {"1": query}}


def written(path: Path, data: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data), encoding="utf-8")
    return path
