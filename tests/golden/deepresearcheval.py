"""DeepResearchEval's cases: what single functions of the published code gave, and what ours give.

Invariant: a function here computes nothing by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from local_judge.lab.task_construction import filters
from local_judge.protocols.deepresearcheval import upstream
from tests.golden import dre_replies as replies
from tests.golden.cases import Case, Comparison

FILTER_THRESHOLD = 0.7
"""Of both task filters, as the published code sets it."""


def _weights(given: Case) -> object:
    additional = given["additional_dimensions"]
    found = [replies.weights_of(reply, additional) for reply in given["judge_replies"]]
    return [
        {"weights": weights, "missing_for_aggregation": replies.unweighted(weights, additional)}
        for weights in found
    ]


def _extracted(given: Case) -> object:
    return [
        {"response": replies.extract_json(text), "analysis": replies.extract_answer(text)}
        for text in given["texts"]
    ]


def _merged(given: Case) -> list[dict[str, str]]:
    rows = replies.merged_statements(given["segment_final_texts"])
    return [{name: row[name] for name in ("statement", "verification")} for row in rows]


def _ratio_ranges(given: Case) -> list[tuple[float, float]]:
    rows = given["rows_model_statements_right_wrong_unknown"]
    return [replies.ratio_range(right, statements) for _, statements, right, _, _ in rows]


def _within(printed: list[float], ranges: list[tuple[float, float]]) -> list[object]:
    """Each printed ratio where it lies in our range, which the table's rounding leaves; else the range."""
    pairs = zip(printed, ranges, strict=True)
    return [one if low <= one <= high else [low, high] for one, (low, high) in pairs]


def _quality(given: Case) -> object:
    return [
        {
            "name": scored["name"],
            "final_scores": upstream.final_scores(
                scored["scores"], given["all_criteria"], given["dimension_weights"]
            ),
        }
        for scored in given["score_sets"]
    ]


def _run_summary(given: Case) -> object:
    found = upstream.summary(given["query_results"], given["models"])
    for averages in found["models"].values():
        averages["meta_avg"] = upstream.task_column(averages["dimension_averages"])
    return found


def _task_filters(given: Case) -> object:
    return {
        "qualification_kept": [
            _kept(filters.upstream_needs_deep_research, one) for one in given["qualification_replies"]
        ],
        "search_necessity_kept": [
            _kept(filters.upstream_needs_search, one) for one in given["search_necessity_replies"]
        ],
    }


def _kept(keeps: Callable[[Case, float], bool], reply: Case) -> bool | str:
    try:
        return keeps(reply, FILTER_THRESHOLD)
    except TypeError:
        return "raises TypeError"


FUNCTIONS: Mapping[str, Callable[[Case], Any]] = {
    "dre_weight_parsing": _weights,
    "dre_extract_json": _extracted,
    "dre_fact_merge": _merged,
    "dre_ratio_paper_table4": _ratio_ranges,
    "dre_weighted_quality": _quality,
    "dre_run_summary": _run_summary,
    "dre_task_filters": _task_filters,
}
"""By the name of the case."""


def is_case(case: Case) -> bool:
    """Whether a case is one of these."""
    name: Any = case.get("name")
    return isinstance(name, str) and name in FUNCTIONS and {"input", "upstream_output"} <= case.keys()


def run_function(case: Case) -> Comparison:
    """One function on one input."""
    expected: Any = case["upstream_output"]
    got: Any = FUNCTIONS[case["name"]](case["input"])
    if case["name"] == "dre_ratio_paper_table4":
        return Comparison(expected, _within(expected, got))
    return Comparison(expected, got)
