"""Answers, criteria and weights as the published project keeps them.

Invariant: dimensions go by their ids and criteria by their texts; a dimension in which an answer is missing has none.
"""

from __future__ import annotations

from typing import Any

from local_judge.protocols.deepresearcheval.quality.findings import QualityFindings
from local_judge.tasks.model import QualityDimensions


def raw_scores(found: QualityFindings) -> dict[str, list[dict[str, Any]]]:
    """The answers as the published code keeps them; a dimension in which one is missing has none."""
    dimensions = found.dimensions.dimensions if found.dimensions else ()
    marks = {mark.criterion: mark for mark in found.marks}
    return {
        dimension.id: [
            {
                "criterion": one.criterion,
                "analysis": marks[one.id].analysis,
                "report_score_0_to_10": marks[one.id].score,
            }
            for one in dimension.criteria
        ]
        if all(marks[one.id].score is not None for one in dimension.criteria)
        else []
        for dimension in dimensions
    }


def criteria_json(dimensions: QualityDimensions) -> dict[str, list[dict[str, Any]]]:
    """Criteria by dimension, as published."""
    return {
        dimension.id: [
            {"criterion": one.criterion, "explanation": one.explanation, "weight": one.weight}
            for one in dimension.criteria
        ]
        for dimension in dimensions.dimensions
    }


def weights_json(dimensions: QualityDimensions) -> dict[str, float]:
    """Weights by dimension, as published."""
    return {dimension.id: dimension.weight for dimension in dimensions.dimensions}
