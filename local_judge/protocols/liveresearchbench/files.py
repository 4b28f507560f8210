"""Findings as results in LiveResearchBench's files.

Invariant: a result has the published keys; what failed is left out, as what the judge forgot would be, and a metric
without any answer has no result.
"""

from __future__ import annotations

from typing import Any

from local_judge.protocols.liveresearchbench import upstream
from local_judge.protocols.liveresearchbench.depth.upstream import result as depth_result
from local_judge.protocols.liveresearchbench.issues import Issue, IssueFindings, score_of
from local_judge.protocols.liveresearchbench.protocol import LrbFindings

CRITERIA = ("presentation", "coverage", "consistency", "citation", "depth")
"""The metrics that have a place in the files, in the published order."""


def grading_results(found: LrbFindings, system: str = "") -> dict[str, dict[str, Any]]:
    """`<criterion>_grading_results` of one report by `system`, without who graded it and when.

    Of depth the files have a place for one baseline: the task's first.
    """
    results: dict[str, dict[str, Any]] = {}
    if found.presentation is not None:
        checks = upstream.evaluations(found.presentation.items)
        results["presentation"] = {
            "evaluations": checks,
            "summary": upstream.presentation_summary(checks),
        }
    if found.coverage is not None:
        items = upstream.evaluations(found.coverage.items)
        results["coverage"] = {
            "evaluations": items,
            "summary": upstream.coverage_summary(items, len(found.coverage.items)),
        }
    for issues in (found.consistency, found.citation):
        if issues is not None and issues.failure is None:
            results[issues.metric] = _issues(issues)
    pairs = found.depth.pairs if found.depth is not None else ()
    baseline = next((pair for pair in pairs if pair.opponent.kind == "baseline"), None)
    compared = depth_result(baseline, system, baseline.opponent.name) if baseline is not None else None
    if compared is not None:
        results["depth"] = compared
    return {
        f"{criterion}_grading_results": result
        for criterion, result in results.items()
        if result.get("evaluations", True)
    }


def _issues(found: IssueFindings) -> dict[str, Any]:
    counted = [issue for issue in found.issues if issue.fate == "counted"]
    return upstream.issues_result(
        {
            "specific_issues": [_line(issue) for issue in counted],
            "total_issues": len(counted),
            "score": score_of(len(counted), found.table),
            "justification": f"{len(counted)} of {len(found.issues)} issues listed count; the score is the table's",
        }
    )


def _line(issue: Issue) -> str:
    quoted = " / ".join(f'"{quote.text}"' for quote in issue.quotes)
    cited = f" ({issue.cited})" if issue.cited else ""
    return f"{quoted}{cited}: {issue.reason}"
