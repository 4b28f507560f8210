"""Answers, criteria and weights as the published project keeps them.

Invariant: dimensions go by the keys that the published code makes of their names, and criteria by their texts; a
dimension in which an answer is missing has no answers.
"""

from __future__ import annotations

from typing import Any

from local_judge.protocols.deepresearcheval import upstream
from local_judge.protocols.deepresearcheval.quality.findings import QualityFindings
from local_judge.tasks.model import QualityDimension, QualityDimensions


def key_of(dimension: QualityDimension) -> str:
    """The published key of a dimension: the id of a general one, else made of the name (`R&D cost`: `r&d_cost`)."""
    return dimension.id if dimension.kind == "general" else upstream.dimension_key(dimension.name)


def raw_scores(found: QualityFindings) -> dict[str, list[dict[str, Any]]]:
    """The answers by dimension, as published."""
    answers = found.by_criterion
    raw: dict[str, list[dict[str, Any]]] = {}
    for dimension in found.dimensions.dimensions if found.dimensions else ():
        given = [answers[one.id] for one in dimension.criteria]
        raw[key_of(dimension)] = [
            {"criterion": one.criterion, "analysis": answer.analysis, "report_score_0_to_10": answer.score}
            for one, answer in zip(dimension.criteria, given, strict=True)
            if all(other.score is not None for other in given)
        ]
    return raw


def criteria_json(dimensions: QualityDimensions) -> dict[str, list[dict[str, Any]]]:
    """Criteria by dimension, as published."""
    return {
        key_of(dimension): [
            {"criterion": one.criterion, "explanation": one.explanation, "weight": one.weight}
            for one in dimension.criteria
        ]
        for dimension in dimensions.dimensions
    }


def weights_json(dimensions: QualityDimensions) -> dict[str, float]:
    """Weights by dimension, as published."""
    return {key_of(dimension): dimension.weight for dimension in dimensions.dimensions}


def final_scores(found: QualityFindings, dimensions: QualityDimensions) -> dict[str, float]:
    """What the published code makes of the answers: see `upstream.final_scores`."""
    return upstream.final_scores(raw_scores(found), criteria_json(dimensions), weights_json(dimensions))
