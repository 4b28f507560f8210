"""DeepResearchEval's cases: what single functions of the published code gave, and what ours give.

Invariant: a function here computes nothing by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from local_judge.golden.cases import Case, Comparison
from local_judge.protocols.deepresearcheval.facts.upstream import merged, ratio_range
from local_judge.protocols.deepresearcheval.quality import upstream


def _weights(given: Case) -> object:
    additional = given["additional_dimensions"]
    found = [upstream.weights_of(reply, additional) for reply in given["judge_replies"]]
    return [
        {"weights": weights, "missing_for_aggregation": upstream.unweighted(weights, additional)}
        for weights in found
    ]


def _extracted(given: Case) -> object:
    return [
        {"response": upstream.extract_json(text), "analysis": upstream.extract_answer(text)}
        for text in given["texts"]
    ]


def _merged(given: Case) -> list[dict[str, str]]:
    rows = merged(given["segment_final_texts"])
    return [{name: row[name] for name in ("statement", "verification")} for row in rows]


def _ratio_ranges(given: Case) -> list[tuple[float, float]]:
    rows = given["rows_model_statements_right_wrong_unknown"]
    return [ratio_range(right, statements) for _, statements, right, _, _ in rows]


def _within(printed: list[float], ranges: list[tuple[float, float]]) -> list[object]:
    """Each printed ratio where it lies in our range, which the table's rounding leaves; else the range."""
    pairs = zip(printed, ranges, strict=True)
    return [one if low <= one <= high else [low, high] for one, (low, high) in pairs]


FUNCTIONS: Mapping[str, Callable[[Case], Any]] = {
    "dre_weight_parsing": _weights,
    "dre_extract_json": _extracted,
    "dre_fact_merge": _merged,
    "dre_ratio_paper_table4": _ratio_ranges,
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
