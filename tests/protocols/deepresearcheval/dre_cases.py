"""A small task with its dimensions, judges that score by a table, and findings made of scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from local_judge.protocols.deepresearcheval import DreFindings
from local_judge.protocols.deepresearcheval.findings import QualityFindings
from local_judge.rubric.answers import Rating
from local_judge.tasks.dimensions import DimensionsRow
from local_judge.tasks.model import QualityDimensions, Task
from serving.engines.scripted import Call, Reply


def entry(name: str, kind: str, weight: float, **criteria: float) -> dict[str, Any]:
    """A dimension of these criteria with their weights."""
    return {
        "name": name,
        "definition": f"how well: {name}",
        "kind": kind,
        "weight": weight,
        "criteria": [
            {"criterion": text, "explanation": f"Says {text}.", "weight": share}
            for text, share in criteria.items()
        ],
    }


ROW: dict[str, Any] = {
    "task_id": "7",
    "task": "What did the mill cost?",
    "dimensions": [
        entry("Coverage", "general", 3, Costs=3, Payers=1),
        entry("Insight", "general", 2, Causes=1),
        entry("Instruction following", "general", 1, Figure=1),
        entry("Clarity", "general", 1, Order=1, Language=1),
        entry("Cost accounting", "specific", 2, Totals=1, Years=4),
        entry("Sources-of money", "specific", 1, Loans=1),
    ],
}
"""Weights of the dimensions 3 2 1 1 2 1, of which 10 in all: 0.3 0.2 0.1 0.1 0.2 0.1."""

QUALITY: QualityDimensions = DimensionsRow.model_validate(ROW).content or QualityDimensions(dimensions=())
TASK = Task(id="7", prompt=ROW["task"], dimensions=QUALITY)
IDS = [one.id for dimension in QUALITY.dimensions for one in dimension.criteria]

SCORES: dict[str, float | None] = dict(zip(IDS, (8, 4, 6, 9, 7, 8, 2, 5, 3), strict=True))
"""coverage.1 8, coverage.2 4, insight.1 6, instruction_following.1 9, clarity.1 7, clarity.2 8, cost_accounting.1 2,
cost_accounting.2 5, sources_of_money.1 3.

    coverage (3*8 + 4) / 4 = 7, insight 6, instruction_following 9, clarity (7 + 8) / 2 = 7.5
    cost_accounting (2 + 4*5) / 5 = 4.4, sources_of_money 3
    quality  0.3*7 + 0.2*6 + 0.1*9 + 0.1*7.5 + 0.2*4.4 + 0.1*3 = 2.1 + 1.2 + 0.9 + 0.75 + 0.88 + 0.3 = 6.13
    general  (2.1 + 1.2 + 0.9 + 0.75) / 0.7 = 4.95 / 0.7;  specific  (0.88 + 0.3) / 0.3 = 1.18 / 0.3
"""
GENERAL, SPECIFIC = 4.95 / 0.7, 1.18 / 0.3


def marked(
    scores: Mapping[str, float | None] = SCORES, dimensions: QualityDimensions = QUALITY, **fields: Any
) -> QualityFindings:
    """Findings with these scores; None is a failure."""
    answers = [
        Rating.model_validate({"id": name, "failure": {"kind": "incomplete", "detail": "none"}})
        if score is None
        else Rating(id=name, score=score, rationale="So.")
        for name, score in scores.items()
    ]
    given: dict[str, Any] = {"dimensions": dimensions, "origin": "task", "scores": tuple(answers)}
    return QualityFindings(**(given | fields))


def findings(quality: QualityFindings | None = None, case: str = "a") -> DreFindings:
    """Findings about one report on the task."""
    return DreFindings(
        case=case, document="d", task=TASK.id, request=TASK.prompt, quality=quality or marked()
    )


def drafting(reply: Mapping[str, Any]) -> Reply | None:
    """What a judge that drafts two dimensions answers to a question about them; None to another question."""
    if "dimensions" in reply:
        names = ("Cost accounting", "Sources-of money")
        return {"dimensions": [{"name": name, "definition": f"how well: {name}"} for name in names]}
    if "criteria" in reply:
        points = (("Point one", 0.75), ("Point two", 0.25))
        return {
            "criteria": [
                {"criterion": name, "explanation": "Says it well.", "weight": weight}
                for name, weight in points
            ]
        }
    if all("weight" in one for one in reply.values()):
        weights = {"coverage": 0.3, "insight": 0.2, "cost_accounting": 0.2}
        return {name: {"reason": "So.", "weight": weights.get(name, 0.1)} for name in reply}
    return None


def judge_by(scores: Mapping[str, Any], quote: str = "", default: float = 6.0) -> Callable[[Call], Reply]:
    """A judge that drafts as above, and gives these scores."""

    def answer(call: Call) -> Reply:
        assert call.schema is not None
        asked: dict[str, Any] = call.schema["properties"]
        drafted = drafting({name: one.get("properties", {}) for name, one in asked.items()})
        if drafted is not None:
            return drafted
        return {
            name: {"quote": quote, "analysis": "So.", "score": scores.get(name, default)} for name in asked
        }

    return answer
