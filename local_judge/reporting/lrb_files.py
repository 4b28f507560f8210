"""Runs as LiveResearchBench's result files.

Invariants: the figures of the summary are what the published code makes of the detailed results beside it; a report
without results is named, with the reason; the day of the evaluation is the run's, and nothing asks the clock.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from local_judge.documents.model import Frozen
from local_judge.errors import RunError
from local_judge.protocols.liveresearchbench import LrbFindings
from local_judge.protocols.liveresearchbench.files import CRITERIA, grading_results
from local_judge.protocols.liveresearchbench.upstream import summary
from local_judge.reporting.exports import UNNAMED, check_export
from local_judge.runs.manifest import one_judge_of
from local_judge.runs.records import CaseRecord, load_records
from local_judge.runs.store import RunStore, findings_file

DETAILED, SUMMARY, MAPPING = "detailed_results", "summary", "reports.json"


class ExportedResults(Frozen):
    """One report of a run."""

    report: str
    task: str | None
    system: str | None
    criteria: tuple[str, ...] = ()
    """Those that it has results for."""
    left_out: str = ""
    """Why it has none at all, in a few words."""
    n_failed: int = 0
    """Answers that are missing, which the published arithmetic counts as 0 or passes over."""


class ExportedLrb(Frozen):
    """What was written."""

    reports: tuple[ExportedResults, ...]
    files: tuple[str, ...]
    """Without `reports.json`."""


def export_liveresearchbench(store: RunStore, out: Path, judge: str | None = None) -> ExportedLrb:
    """Write `detailed_results_DATE.json` and `summary_DATE.json` of a run, without a date where the run was told none.

    Args:
        store: the run.
        out: an empty or new folder.
        judge: of several: the files hold the answers of one.

    Raises:
        RunError: LiveResearchBench was not run there, no report has a result, or there are several judges and none is
            named; or `out` is not empty or cannot be written.
    """
    check_export(store, out, "liveresearchbench", "LiveResearchBench")
    manifest = store.read_json("manifest.json")
    judge = one_judge_of(store, judge, "these files")
    records = load_records(store)
    day: str | None = manifest["config"].get("date")
    by = next(entry["identity"] for entry in manifest["judges"] if judge in (None, entry["name"]))
    graded = {"provider": by["engine"], "model": by["model"], "graded_at": day}
    exported = [_exported(store, record, judge, graded) for record in records]
    if not any(report.criteria for report, _ in exported):
        why = next(
            (report.left_out for report, _ in exported if report.left_out), "no metric of the files was run"
        )
        raise RunError(f"{store.root}: no report has a result of LiveResearchBench's files; {why}")
    rows = [row for _, row in exported]
    metadata = {
        "timestamp": day,
        "total_reports": len(rows),
        "total_models": len({row["model_name"] for row in rows}),
        "base_path": "",
        "use_realtime": day is not None,
    }
    criteria = [name for name in CRITERIA if any(name in report.criteria for report, _ in exported)]
    above = {**graded, "total_reports": len(rows), "criteria_evaluated": criteria, "input_metadata": metadata}
    end = f"_{day}.json" if day else ".json"
    files = {
        f"{DETAILED}{end}": {"metadata": metadata, "reports": rows},
        f"{SUMMARY}{end}": {"metadata": above, **summary(rows, criteria)},
    }
    target = RunStore(out)
    mapping = [report.model_dump(mode="json") for report, _ in exported]
    for name, data in {**files, MAPPING: mapping}.items():
        target.write_text(name, json.dumps(data, ensure_ascii=False, indent=2, allow_nan=False) + "\n")
    return ExportedLrb(reports=tuple(report for report, _ in exported), files=tuple(files))


def _exported(
    store: RunStore, record: CaseRecord, judge: str | None, graded: dict[str, Any]
) -> tuple[ExportedResults, dict[str, Any]]:
    system, task = record.system or UNNAMED, record.task or record.id
    row: dict[str, Any] = {
        "model_name": system,
        "query_id": task,
        "query": "",
        "report_file_path": f"{system}/qid_{task}_report.md",
    }
    report = ExportedResults(report=record.id, task=record.task, system=record.system)
    if record.status != "done":
        return report.model_copy(update={"left_out": record.status}), row
    findings = store.read_model(findings_file("liveresearchbench", record.key, judge), LrbFindings)
    results = grading_results(findings, system)
    update = {
        "criteria": tuple(name.removesuffix("_grading_results") for name in results),
        "n_failed": findings.n_failed,
        "left_out": "" if results else "no answer of the judge",
    }
    row["query"] = findings.request or ""
    return report.model_copy(update=update), row | {name: result | graded for name, result in results.items()}
