"""DeepResearchEval's result files of a run. Reading is in `published`.

    quality_results.json          the quality of all reports: by task, then by system
    cache/*_cache.json            the same in the published code's cache (dimensions, weights, criteria, results)
    reports.json                  the reports in it, and why others are left out
    results/<system>/task_*.json  the facts of one report
    facts.json                    the reports with such a file, and why others are left out

Invariants: no failure becomes a 0. The figures of a report and of the summary are what the published code computes from
the answers beside them; a report for which that code would count a missing answer as 0 is left out. Of two reports of
one system on one task the first is written. A failed statement has no row and is counted. Quality that was read is
written as it was read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from local_judge.base.output import count
from local_judge.protocols.deepresearcheval import upstream
from local_judge.protocols.deepresearcheval.facts.files import result_rows
from local_judge.protocols.deepresearcheval.findings import DreFindings, QualityFindings
from local_judge.protocols.deepresearcheval.published import READ, RESULTS, read_published
from local_judge.protocols.deepresearcheval.upstream import (
    criteria_json,
    final_scores_of,
    key_of,
    raw_scores,
    weights_json,
)
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
    folder_name,
    json_text,
)
from local_judge.tasks.dimensions import PublishedTask
from local_judge.tasks.model import QualityDimensions


def left_out(found: QualityFindings | None) -> str:
    """Return why a report has no place in the file; empty if it has one."""
    if found is None:
        return "its quality was not judged"
    if found.dimensions is None:
        return "no dimensions were drafted for its task"
    if found.n_failed:
        return f"{found.n_failed} of {len(found.scores)} answers missing: the published code would count them as 0"
    return ""


def query_result(findings: DreFindings, dimensions: QualityDimensions) -> dict[str, Any]:
    """Return the file's entry of a task, without its reports."""
    task = findings.task or findings.case
    entry = {
        "query_id": int(task) if task.isascii() and task.isdecimal() else task,
        "query_prompt": findings.request,
        "all_dims_with_definition": {
            key_of(dimension): dimension.definition for dimension in dimensions.dimensions
        },
        "additional_dimensions": [
            {"meta_dimension_name": one.name, "definition": one.definition}
            for one in dimensions.dimensions
            if one.kind == "specific"
        ],
        "dimension_weights": weights_json(dimensions),
        "all_criteria": criteria_json(dimensions),
    }
    return {**PublishedTask.model_validate(entry).model_dump(mode="json"), "model_results": {}}


def model_result(found: QualityFindings, dimensions: QualityDimensions) -> dict[str, Any]:
    """Return the file's entry of a report; its text is in its own file, so it is empty here."""
    return {
        "raw_scores": raw_scores(found),
        "final_scores": final_scores_of(found, dimensions),
        "report_text": "",
    }


def cache_files(results: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the published cache by file name: `example_pointwise_usage.py --cache_dir` prints its averages.

    Args:
        results: entries of `query_result` with their reports, by task id. The published code numbers its tasks: one
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
    """Return the whole file.

    Args:
        results: entries of `query_result` with their reports, by task id.
        systems: systems in the order of the run.
        day: day of the evaluation, if the run has one; the clock is not read.
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


_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")

DreReport = ReportFindings[DreFindings]


class ExportedQuality(ExportedReport):
    """Row of one report in the list of exported quality results."""

    left_out: str = ""
    """Reason why the report is left out; empty if it is in the files."""


class ExportedFacts(ExportedReport):
    """Row of one report in the list of exported facts."""

    file: str | None = None
    """Path below the export folder; None if the report was left out."""
    left_out: str = ""
    """Reason why the report is left out; empty if it is in the files."""
    n_failed: int = 0
    """Statements without a label, which have no row."""
    n_unread: int = 0
    """Sentences whose statements are unknown."""


class DreFiles(ReadableFormat[DreFindings]):
    """Quality with its cache, and facts, if the run has any."""

    title = "DeepResearchEval"
    reads = "`quality_results.json`, a `task_ID.json` of checked facts, or their folder"

    def write(self, run: RunFindings[DreFindings]) -> Exported:
        """Return the files of quality and of facts."""
        quality, facts = _quality(run), _facts(run)
        either = [found for found in (quality, facts) if found.files] or [quality]
        return Exported(
            {name: text for found in either for name, text in found.files.items()},
            [listed for found in either for listed in found.lists],
        )

    def read(self, path: Path) -> Imported[DreFindings]:
        """Read quality, facts or both; stems and keys of tasks are the ids of the reports."""
        return read_published(path)

    def recognises(self, seen: Glimpse) -> bool:
        """Recognise the files of quality by their keys and name, and those of facts by their names."""
        return seen.has("task_*.json") or seen.has(RESULTS) or "query_results" in seen.keys


def _quality(run: RunFindings[DreFindings]) -> Exported:
    results: dict[str, dict[str, Any]] = {}
    reasons = [_place(report, results) for report in run.reports]
    files: dict[str, str] = {}
    if results:
        systems = list(dict.fromkeys(report.system or UNNAMED for report in run.reports))
        files[RESULTS] = json_text(quality_results(results, systems, run.day))
        files |= {f"cache/{name}": json_text(kept) for name, kept in cache_files(results).items()}
    rows = [
        ExportedQuality.of(report, left_out=why) for report, why in zip(run.reports, reasons, strict=True)
    ]
    listed = ReportList(
        name="reports.json",
        what=RESULTS,
        outcomes=[Outcome(row, not row.left_out, row.left_out) for row in rows],
    )
    return Exported(files, [listed])


def _place(report: DreReport, results: dict[str, dict[str, Any]]) -> str:
    """Put a report among the results; return why it has no place, empty if it has one."""
    findings = report.findings
    if findings is None:
        return report.status
    found = findings.quality
    if found is not None and findings.stated is not None:
        own, entry = (dict(cast("dict[str, Any]", findings.stated.record[name])) for name in READ)
        own["model_results"] = {}
    else:
        why = left_out(found)
        if found is None or found.dimensions is None or why:
            return why
        own, entry = query_result(findings, found.dimensions), model_result(found, found.dimensions)
    result = results.setdefault(findings.task or findings.case, own)
    if {**result, "model_results": {}} != own:
        return "judged by other dimensions than its task's first report"
    system = report.system or UNNAMED
    if system in result["model_results"]:
        return f"{system} has another report on the task"
    result["model_results"][system] = entry
    return ""


def _facts(run: RunFindings[DreFindings]) -> Exported:
    """Return the files of facts.

    A file's stem is the task's id if the reports of a system all have different plain ids, otherwise the report's
    position in the run, from 1.
    """
    found: dict[str, ExportedFacts] = {}
    files: dict[str, str] = {}
    for file, report in _name_files(run):
        facts = None if report.findings is None else report.findings.facts
        if facts is None:
            why = report.status if report.findings is None else "its facts were not checked"
            found[report.id] = ExportedFacts.of(report, left_out=why)
            continue
        files[file] = json_text(result_rows(facts))
        n_failed = sum(ruling.failure is not None for ruling in facts.rulings)
        found[report.id] = ExportedFacts.of(report, file=file, n_failed=n_failed, n_unread=facts.n_unread)
    rows = [found[report.id] for report in run.reports]
    listed = ReportList(
        name="facts.json",
        what="facts",
        outcomes=[Outcome(row, row.file is not None, row.left_out) for row in rows],
        notes=_failures(rows),
        part="facts",
    )
    return Exported(files, [listed])


def _failures(rows: Sequence[ExportedFacts]) -> list[str]:
    n_failed, n_unread = sum(row.n_failed for row in rows), sum(one.n_unread for one in rows)
    if not n_failed and not n_unread:
        return []
    return [
        f"{count(n_failed, 'statement')} failed, those of {count(n_unread, 'sentence')} unknown: left out, as in the "
        "published code"
    ]


def _name_files(run: RunFindings[DreFindings]) -> Iterator[tuple[str, DreReport]]:
    """Yield the file of each report's facts."""
    for system in run.systems:
        own = [(str(n), report) for n, report in enumerate(run.reports, 1) if report.system == system]
        tasks = [report.task or "" for _, report in own]
        if len({task.casefold() for task in tasks}) == len(tasks) and all(map(_PLAIN.fullmatch, tasks)):
            own = [(report.task or "", report) for _, report in own]
        for stem, report in own:
            yield f"results/{folder_name(system)}/task_{stem}.json", report
