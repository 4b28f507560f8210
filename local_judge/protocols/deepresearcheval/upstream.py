"""Published arithmetic of quality, reproduced exactly (`point_quality/deepresearcharena/evaluator`).

    dimension   sum(w_c * s_c) / sum(w_c) over the criteria at the same place of both lists; 0 without any
    total       sum(W_d * S_d) over the dimensions, the weights as they are
    run         means over the reports with a total above 0; the column `Task` is the mean over the names of all
                task-specific dimensions of each name's mean

Invariants: a function computes what the published one does, on the published project's own data, defects included. In
that data, dimensions go by the keys that the published code makes of their names, and criteria by their texts; a
dimension with a missing answer has no answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean
from typing import Any

from local_judge.protocols.deepresearcheval.findings import QualityFindings
from local_judge.stats.sums import sum_in_order
from local_judge.tasks.model import QualityDimension, QualityDimensions

FIXED = ("coverage", "insight", "instruction_following", "clarity")
SUFFIX = "_score"
TOTAL = "total_weighted_score"


def dimension_key(name: str) -> str:
    """Return the key that the published code makes of a dimension's name."""
    return name.lower().replace(" ", "_").replace("-", "_")


def final_scores(
    scores: Mapping[str, Any],
    criteria: Mapping[str, Sequence[Mapping[str, Any]]],
    weights: Mapping[str, float],
) -> dict[str, float]:
    """Return the scores of one report, 0 to 10: `<dimension>_score` and `total_weighted_score`.

    Args:
        scores: lists of `criterion`, `report_score_0_to_10`, by dimension.
        criteria: lists of `criterion`, `weight`, by dimension.
        weights: weights by dimension.

    Raises:
        KeyError: a dimension that is scored has no weight.
    """
    found: dict[str, float] = {}
    total = 0.0
    for name, listed in criteria.items():
        given = scores.get(name)
        if not isinstance(given, list):
            continue
        value = _dimension(given, listed)  # pyright: ignore[reportUnknownArgumentType] -- JSON
        found[name + SUFFIX] = value
        total += value * float(weights[name])
    return {**found, TOTAL: total}


def _dimension(given: Sequence[Any], listed: Sequence[Mapping[str, Any]]) -> float:
    above = below = 0.0
    for item, criterion in zip(given, listed, strict=False):
        if (
            isinstance(item, dict)
            and criterion["criterion"] == item["criterion"]
            and "report_score_0_to_10" in item
        ):
            weight = float(criterion["weight"])
            above += float(item["report_score_0_to_10"]) * weight  # pyright: ignore[reportUnknownArgumentType]
            below += weight
    return above / below if below > 0 else 0.0


def summary(query_results: Mapping[str, Any], models: Sequence[str]) -> dict[str, Any]:
    """Return the means of each model over its reports; a report without a score above 0 does not count."""
    return {"models": {model: _model(query_results, model) for model in models}}


def _model(query_results: Mapping[str, Any], model: str) -> dict[str, Any]:
    totals: list[float] = []
    dimensions: dict[str, list[float]] = {}
    for result in query_results.values():
        reports = result.get("model_results", {})
        if model not in reports:
            continue
        scores = reports[model].get("final_scores", {})
        total = scores.get(TOTAL, 0.0)
        if total <= 0.0:
            continue
        totals.append(total)
        for name, value in scores.items():
            if name.endswith(SUFFIX) and name != TOTAL:
                dimensions.setdefault(name, []).append(value)
    return {
        "average_total_score": mean(totals) if totals else 0.0,
        "total_queries": len(totals),
        "dimension_averages": {name: mean(values) for name, values in dimensions.items()},
    }


def task_column(averages: Mapping[str, float]) -> float:
    """Return the mean of a model's averages over the dimensions that are not fixed; 0 without any."""
    fixed = {name + SUFFIX for name in FIXED}
    others = [value for name, value in averages.items() if name not in fixed]
    return sum_in_order(others) / len(others) if others else 0.0


def key_of(dimension: QualityDimension) -> str:
    """Return the published key of a dimension: its id, or a key made of its name (`R&D cost`: `r&d_cost`)."""
    return dimension.id if dimension.kind == "general" else dimension_key(dimension.name)


def raw_scores(found: QualityFindings) -> dict[str, list[dict[str, Any]]]:
    """Return the answers by dimension, in the published form."""
    answers = found.by_criterion
    raw: dict[str, list[dict[str, Any]]] = {}
    for dimension in found.dimensions.dimensions if found.dimensions else ():
        given = [answers[criterion.id] for criterion in dimension.criteria]
        raw[key_of(dimension)] = [
            {"criterion": one.criterion, "analysis": answer.rationale, "report_score_0_to_10": answer.score}
            for one, answer in zip(dimension.criteria, given, strict=True)
            if all(other.score is not None for other in given)
        ]
    return raw


def criteria_json(dimensions: QualityDimensions) -> dict[str, list[dict[str, Any]]]:
    """Return the criteria by dimension, in the published form."""
    return {
        key_of(dimension): [
            {
                "criterion": criterion.criterion,
                "explanation": criterion.explanation,
                "weight": criterion.weight,
            }
            for criterion in dimension.criteria
        ]
        for dimension in dimensions.dimensions
    }


def weights_json(dimensions: QualityDimensions) -> dict[str, float]:
    """Return the weights by dimension, in the published form."""
    return {key_of(dimension): dimension.weight for dimension in dimensions.dimensions}


def final_scores_of(found: QualityFindings, dimensions: QualityDimensions) -> dict[str, float]:
    """Return the scores that the published code computes from the findings: see `final_scores`."""
    return final_scores(raw_scores(found), criteria_json(dimensions), weights_json(dimensions))
