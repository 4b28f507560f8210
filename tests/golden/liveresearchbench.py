"""LiveResearchBench's cases: what single functions of the published code gave, and what ours give.

Invariant: a function here computes nothing by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from local_judge.protocols.liveresearchbench import upstream
from local_judge.protocols.liveresearchbench.metrics.issues import PUBLISHED, score_of
from local_judge.protocols.liveresearchbench.upstream import winners
from tests.golden.cases import Case, Comparison


def _scores(given: Case) -> object:
    return [score_of(n_issues, PUBLISHED) for n_issues in given["issue_counts"]]


def _results(given: Case) -> object:
    return [upstream.issues_result(reply) for reply in given["judge_replies"]]


def _presentation(given: Case) -> object:
    return [upstream.presentation_summary(found) for found in given["evaluations"]]


def _coverage(given: Case) -> object:
    n_items = len(given["checklists"])
    return [upstream.coverage_summary(found, n_items) for found in given["evaluations"]]


def _winners(given: Case) -> object:
    [pairs] = given.values()
    return [winners(replies) for replies in pairs]


def _summary(given: Case) -> object:
    return upstream.summary(given["reports"], given["criteria"])


def _average(given: Case) -> object:
    return upstream.average(given["summary_a"], given["summary_b"])


FUNCTIONS: Mapping[str, Callable[[Case], object]] = {
    "lrb_issue_count_to_score": _scores,
    "lrb_pointwise_no_recompute": _results,
    "lrb_presentation_average": _presentation,
    "lrb_coverage_average": _coverage,
    "lrb_pairwise_position_swap": _winners,
    "lrb_summary_means": _summary,
    "lrb_two_judge_average": _average,
    "lrb_win_rate_ties_excluded": _summary,
}
"""By the name of the case."""


def is_case(case: Case) -> bool:
    """Whether a case is one of these."""
    name: Any = case.get("name")
    return isinstance(name, str) and name in FUNCTIONS and {"input", "upstream_output"} <= case.keys()


def run_function(case: Case) -> Comparison:
    """One function on one input."""
    return Comparison(case["upstream_output"], FUNCTIONS[case["name"]](case["input"]))
