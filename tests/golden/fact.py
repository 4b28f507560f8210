"""FACT's cases: rows of `validated.jsonl`, and what the published code and the paper's formulas make of them.

Invariant: a function here computes nothing by itself: rows are read, and scored, by the evaluator's own functions. The
paper's numbers charge what failed and what is missing to the report, which is the lower bound of ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from local_judge.base.errors import InputError
from local_judge.protocols.fact.export import fact_result, findings_of
from local_judge.protocols.fact.scores import aggregate
from tests.golden.cases import Case, Comparison


def run_fact(case: Case) -> Comparison:
    """Validated rows of several tasks to `fact_result.txt`, and to the scores of the paper's appendix E.1."""
    try:
        reports = findings_of((f"validated[{index}]", row) for index, row in enumerate(case["validated"]))
    except InputError as error:
        raise ValueError(str(error)) from error
    upstream: Mapping[str, Any]
    try:
        upstream = fact_result(reports)._asdict()
    except ZeroDivisionError as error:
        upstream = {"raises": f"ZeroDivisionError: {error}"}
    accuracy, effective, *_ = aggregate(
        [[one] for one in reports], "paper", case["tasks_in_benchmark"] - len(reports)
    )
    paper = {"c_acc_macro": accuracy.score.low, "e_cit": effective.score.low}
    got = {"upstream_fact_result": upstream, "paper_appendix_E": paper}
    return Comparison({key: case[key] for key in got}, got)
