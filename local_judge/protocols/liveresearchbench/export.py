"""LiveResearchBench's `detailed_results_DATE.json` and `summary_DATE.json`, without a date where the run was told none.

Invariants: the figures of the summary are what the published code makes of the detailed results beside it; a report
without results is named, with the reason.
"""

from __future__ import annotations

from typing import Any

from local_judge.protocols.file_formats import (
    UNNAMED,
    Exported,
    ExportedReport,
    FileFormat,
    Outcome,
    ReportFindings,
    ReportList,
    RunFindings,
    json_text,
)
from local_judge.protocols.liveresearchbench.files import CRITERIA, grading_results
from local_judge.protocols.liveresearchbench.protocol import LrbFindings
from local_judge.protocols.liveresearchbench.upstream import summary
from local_judge.terminal import count


class ExportedResults(ExportedReport):
    """What became of one report."""

    criteria: tuple[str, ...] = ()
    """Those that it has results for."""
    left_out: str = ""
    """Why it has none at all, in a few words."""
    n_failed: int = 0
    """Answers that are missing, which the published arithmetic counts as 0 or passes over."""


class LrbFiles(FileFormat[LrbFindings]):
    """The detailed results of all reports, and their summary by system."""

    title = "LiveResearchBench"

    def write(self, run: RunFindings[LrbFindings]) -> Exported:
        """Both files; none where no report has a result."""
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
            files[f"summary{end}"] = json_text({"metadata": above, **summary(rows, criteria)})
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
