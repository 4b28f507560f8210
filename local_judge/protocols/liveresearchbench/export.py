"""LiveResearchBench's `detailed_results_DATE.json` and `summary_DATE.json`; without a run date the names have none.

Reading is in `published`.

Invariants: the figures of the summary are what the published code computes from the detailed results. A report without
results is listed with the reason. A result has the published keys; failed answers are left out, as answers that the
published judge omitted would be, and a metric without any answer has no result. A row that was read is written as it
was read.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from local_judge.protocols.file_formats import (
    UNNAMED,
    Exported,
    ExportedReport,
    Glimpse,
    Imported,
    Outcome,
    ReadableFormat,
    ReportFindings,
    ReportList,
    RunFindings,
    json_text,
)
from local_judge.protocols.liveresearchbench import upstream
from local_judge.protocols.liveresearchbench.metrics.issues import Issue, IssueFindings, score_of
from local_judge.protocols.liveresearchbench.protocol import LrbFindings
from local_judge.protocols.liveresearchbench.published import DETAILED, SUFFIX, read_published
from local_judge.protocols.stated import Stated
from local_judge.terminal import count


class ExportedResults(ExportedReport):
    """Row of one report in the list of exported reports."""

    criteria: tuple[str, ...] = ()
    """Metrics for which it has results."""
    left_out: str = ""
    """Reason why it has no results."""
    n_failed: int = 0
    """Missing answers, which the published code counts as 0 or skips."""


class LrbFiles(ReadableFormat[LrbFindings]):
    """Detailed results of all reports, and their summary by system."""

    title = "LiveResearchBench"
    reads = "`detailed_results_DATE.json`, `summary_DATE.json`, or their folder"

    def recognises(self, seen: Glimpse) -> bool:
        """Recognise files by their keys, and a folder by their names."""
        files = seen.has(DETAILED) or seen.has("summary_*.json")
        return files or "results_by_model" in seen.keys or {"metadata", "reports"} <= seen.keys

    def read(self, path: Path) -> Imported[LrbFindings]:
        """Return the rows as reports; a mean over reports is one report of its system."""
        return read_published(path)

    def write(self, run: RunFindings[LrbFindings]) -> Exported:
        """Return both files; none if no report has a result."""
        graded = {"provider": run.engine, "model": run.model, "graded_at": run.day}
        exported = [_exported(report, graded) for report in run.reports]
        rows = [row for _, row in exported]
        criteria = [name for name in CRITERIA if any(name in report.criteria for report, _ in exported)]
        metadata = {
            "timestamp": run.day,
            "total_reports": len(rows),
            "total_models": len({row["model_name"] for row in rows}),
            "base_path": "",
            "use_realtime": run.day is not None,
        }
        above = {
            **graded,
            "total_reports": len(rows),
            "criteria_evaluated": criteria,
            "input_metadata": metadata,
        }
        end = f"_{run.day}.json" if run.day else ".json"
        files: dict[str, str] = {}
        if criteria:
            files[f"detailed_results{end}"] = json_text({"metadata": metadata, "reports": rows})
            files[f"summary{end}"] = json_text({"metadata": above, **upstream.summary(rows, criteria)})
        n_failed = sum(report.n_failed for report, _ in exported if report.criteria)
        said = f"{count(n_failed, 'answer')} failed: counted as 0 or left out, as in the published code"
        listed = ReportList(
            name="reports.json",
            what=" and ".join(files),
            outcomes=[Outcome(report, bool(report.criteria), report.left_out) for report, _ in exported],
            notes=[said] if n_failed else [],
        )
        return Exported(files, [listed])


def _exported(
    report: ReportFindings[LrbFindings], graded: dict[str, Any]
) -> tuple[ExportedResults, dict[str, Any]]:
    system, task, findings = report.system or UNNAMED, report.task or report.id, report.findings
    if findings is not None and findings.stated is not None:
        return _as_read(report, findings.stated)
    results = {} if findings is None else grading_results(findings, system)
    exported = ExportedResults(
        report=report.id,
        task=report.task,
        system=report.system,
        criteria=tuple(name.removesuffix("_grading_results") for name in results),
        left_out=report.status if findings is None else "" if results else "no answer of the judge",
        n_failed=0 if findings is None else findings.n_failed,
    )
    row: dict[str, Any] = {
        "model_name": system,
        "query_id": task,
        "query": "" if findings is None else findings.request or "",
        "report_file_path": f"{system}/qid_{task}_report.md",
    }
    return exported, row | {name: result | graded for name, result in results.items()}


def _as_read(report: ReportFindings[LrbFindings], stated: Stated) -> tuple[ExportedResults, dict[str, Any]]:
    """Return a row as it was read. A mean over reports has none."""
    row: dict[str, Any] = dict(stated.record) if stated.of == "report" else {"model_name": report.system}
    criteria = tuple(name for name in CRITERIA if f"{name}{SUFFIX}" in row)
    why = "no answer of the judge" if stated.of == "report" else "a mean over reports, which has no row"
    exported = ExportedResults(
        report=report.id,
        task=report.task,
        system=report.system,
        criteria=criteria,
        left_out="" if criteria else why,
    )
    return exported, row


CRITERIA = ("presentation", "coverage", "consistency", "citation", "depth")
"""Metrics with a place in the files, in the published order."""


def grading_results(found: LrbFindings, system: str = "") -> dict[str, dict[str, Any]]:
    """Return `<criterion>_grading_results` of one report by `system`, without grader and date.

    The files have a place for one baseline of depth: the task's first.
    """
    results: dict[str, dict[str, Any]] = {}
    if found.presentation is not None:
        checks = upstream.evaluations(found.presentation.items)
        results["presentation"] = {"evaluations": checks, "summary": upstream.presentation_summary(checks)}
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
    compared = (
        upstream.depth_result(baseline, system, baseline.opponent.name) if baseline is not None else None
    )
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
            "score": score_of(len(counted), found.table) if found.chosen is None else found.chosen,
            "justification": f"{len(counted)} of {len(found.issues)} issues listed count; the score is the "
            + ("table's" if found.chosen is None else "judge's"),
        }
    )


def _line(issue: Issue) -> str:
    if not issue.quoted:
        return issue.reason
    quoted = " / ".join(f'"{quote.text}"' for quote in issue.quotes)
    cited = f" ({issue.cited})" if issue.cited else ""
    return f"{quoted}{cited}: {issue.reason}"
