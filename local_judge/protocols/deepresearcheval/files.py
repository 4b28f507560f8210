"""DeepResearchEval's file of quality results and its cache, from findings.

Invariant: the figures of a report and of the summary are what the published code makes of the answers beside them; no
report is written for which that code would count a missing answer as 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from local_judge.protocols.deepresearcheval import upstream
from local_judge.protocols.deepresearcheval.protocol import DreFindings
from local_judge.protocols.deepresearcheval.quality.findings import QualityFindings
from local_judge.protocols.deepresearcheval.quality.published import (
    criteria_json,
    final_scores,
    key_of,
    raw_scores,
    weights_json,
)
from local_judge.tasks.model import QualityDimensions


def left_out(found: QualityFindings | None) -> str:
    """Why a report has no place in the file, in a few words; nothing where it has."""
    if found is None:
        return "its quality was not judged"
    if found.dimensions is None:
        return "no dimensions were drafted for its task"
    if found.n_failed:
        return f"{found.n_failed} of {len(found.scores)} answers missing: the published code would count them as 0"
    return ""


def query_result(findings: DreFindings, dimensions: QualityDimensions) -> dict[str, Any]:
    """What the file has of a task, without its reports."""
    task = findings.task or findings.case
    return {
        "query_id": int(task) if task.isascii() and task.isdecimal() else task,
        "query_prompt": findings.request,
        "all_dims_with_definition": {key_of(one): one.definition for one in dimensions.dimensions},
        "additional_dimensions": [
            {"meta_dimension_name": one.name, "definition": one.definition}
            for one in dimensions.dimensions
            if one.kind == "specific"
        ],
        "dimension_weights": weights_json(dimensions),
        "all_criteria": criteria_json(dimensions),
        "model_results": {},
    }


def model_result(found: QualityFindings, dimensions: QualityDimensions) -> dict[str, Any]:
    """What the file has of a report; its text is in its own file, and here it is empty."""
    return {
        "raw_scores": raw_scores(found),
        "final_scores": final_scores(found, dimensions),
        "report_text": "",
    }


def cache_files(results: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """The published cache by file name: from it, `example_pointwise_usage.py --cache_dir` prints the averages.

    Args:
        results: by task id, as `query_result` gives them, with their reports. The published code numbers its tasks: one
            whose id is no whole number has no place.
    """
    found: dict[str, dict[str, Any]] = {"dimensions": {}, "weights": {}, "criteria": {}, "model_results": {}}
    for task, result in results.items():
        if str(result["query_id"]) != task or not isinstance(result["query_id"], int):
            continue
        additional = result["additional_dimensions"]
        found["dimensions"][f"dimensions_{task}"] = additional
        found["weights"][f"weights_{task}_{len(additional)}"] = result["dimension_weights"]
        for key, listed in result["all_criteria"].items():
            found["criteria"][f"criteria_{task}_{key}"] = listed
        for system, report in result["model_results"].items():
            found["model_results"][f"model_result_{task}_{system}"] = report
    return {f"{name}_cache.json": kept for name, kept in found.items() if kept}


def quality_results(
    results: Mapping[str, Mapping[str, Any]], systems: Sequence[str], day: str | None
) -> dict[str, Any]:
    """The whole file.

    Args:
        results: by task id, as `query_result` gives them, with their reports.
        systems: in the order of the run.
        day: of the evaluation, where the run was told one: nothing asks the clock.
    """
    return {
        "timestamp": day,
        "model_names": list(systems),
        "query_results": dict(results),
        "summary": upstream.summary(results, systems),
        "selected_query_count": len(results),
        "total_query_count": len(results),
        "selected_query_ids": [result["query_id"] for result in results.values()],
    }
