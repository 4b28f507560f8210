"""Runs as DeepResearchEval's result files.

    quality_results.json          the quality of all reports: by task, then by system
    cache/*_cache.json            the same as the published code caches it (dimensions, weights, criteria, results)
    reports.json                  which report is in it, and why not
    results/<system>/task_*.json  the facts of one report (`reporting.dre_fact_files`)
    facts.json                    which report is in which of these, and why not

Invariants: nothing that failed becomes a 0; a report that has no place is named, with the reason; of two reports of one
system on one task the first is written; the day of the evaluation is the run's, and nothing asks the clock.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from local_judge.documents.model import Frozen
from local_judge.errors import RunError
from local_judge.protocols.deepresearcheval import DreFindings
from local_judge.protocols.deepresearcheval.files import (
    cache_files,
    left_out,
    model_result,
    quality_results,
    query_result,
)
from local_judge.reporting.dre_fact_files import ExportedFacts, fact_files
from local_judge.reporting.exports import UNNAMED, check_export
from local_judge.runs.manifest import one_judge_of
from local_judge.runs.records import CaseRecord, load_records
from local_judge.runs.store import RunStore, findings_file

RESULTS, CACHE, MAPPING, FACTS = "quality_results.json", "cache", "reports.json", "facts.json"


class ExportedQuality(Frozen):
    """One report of a run."""

    report: str
    task: str | None
    system: str | None
    left_out: str = ""
    """Why it is not in the file, in a few words; nothing where it is."""


class ExportedDre(Frozen):
    """What was written."""

    reports: tuple[ExportedQuality, ...] = ()
    """Of the file of quality; none where no report has one."""
    n_tasks: int = 0
    facts: tuple[ExportedFacts, ...] = ()
    """Of the files of facts; none where none were checked."""


def export_deepresearcheval(store: RunStore, out: Path, judge: str | None = None) -> ExportedDre:
    """Write the results of a run.

    Args:
        store: the run.
        out: an empty or new folder.
        judge: of several: the files hold the answers of one.

    Raises:
        RunError: DeepResearchEval was not run there, no report can be written, or there are several judges and none is
            named; or `out` is not empty or cannot be written.
    """
    check_export(store, out, "deepresearcheval", "DeepResearchEval")
    judge = one_judge_of(store, judge, "these files")
    records = load_records(store)
    results: dict[str, dict[str, Any]] = {}
    reports = [_exported(store, record, judge, results) for record in records]
    facts, files = fact_files(store, records, judge)
    if not results and not files:
        why = next((report.left_out for report in reports if report.left_out), "it holds no report")
        raise RunError(f"{store.root}: no report has a result that could be written; {why}")
    written: dict[str, object] = {}
    if results:
        written |= _quality(store, records, results, reports)
    if files:
        written |= {**files, FACTS: [report.model_dump(mode="json") for report in facts]}
    target = RunStore(out)
    for name, data in written.items():
        target.write_text(name, json.dumps(data, ensure_ascii=False, indent=2, allow_nan=False) + "\n")
    return ExportedDre(
        reports=tuple(reports) if results else (), n_tasks=len(results), facts=facts if files else ()
    )


def _quality(
    store: RunStore,
    records: Sequence[CaseRecord],
    results: dict[str, dict[str, Any]],
    reports: Sequence[ExportedQuality],
) -> dict[str, object]:
    """The file of quality and what stands beside it, by name."""
    systems = list(dict.fromkeys(record.system or UNNAMED for record in records))
    day: str | None = store.read_json("manifest.json")["config"].get("date")
    listed = [report.model_dump(mode="json") for report in reports]
    cached = {f"{CACHE}/{name}": kept for name, kept in cache_files(results).items()}
    return {RESULTS: quality_results(results, systems, day), **cached, MAPPING: listed}


def _exported(
    store: RunStore, record: CaseRecord, judge: str | None, results: dict[str, dict[str, Any]]
) -> ExportedQuality:
    """One report, put among the results where it has a place there."""
    report = ExportedQuality(report=record.id, task=record.task, system=record.system)
    if record.status != "done":
        return report.model_copy(update={"left_out": record.status})
    findings = store.read_model(findings_file("deepresearcheval", record.key, judge), DreFindings)
    found = findings.quality
    why = left_out(found)
    if found is None or found.dimensions is None or why:
        return report.model_copy(update={"left_out": why})
    own = query_result(findings, found.dimensions)
    result = results.setdefault(findings.task or findings.case, own)
    if {**result, "model_results": {}} != own:
        return report.model_copy(
            update={"left_out": "judged by other dimensions than its task's first report"}
        )
    system = record.system or UNNAMED
    if system in result["model_results"]:
        return report.model_copy(update={"left_out": f"{system} has another report on the task"})
    result["model_results"][system] = model_result(found, found.dimensions)
    return report
