"""LiveResearchBench's `detailed_results_DATE.json` and `summary_DATE.json`; without a run date the names have none.

Reading is in `published`.

Invariants: every number comes from the score tree of the profile that the files name, `upstream`. The published summary
of the detailed results gives its scores of the systems, unless less than half of a score is known, which that code does
not ask. All listed issues are written. A part without a score keeps its answers, in a form that the published summary
passes over. A row that was read is written as it was read, with the judge and the date that it names.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from local_judge.base.output import count
from local_judge.protocols.checklist import Item, ItemFindings
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
from local_judge.protocols.liveresearchbench.depth.games import DepthFindings
from local_judge.protocols.liveresearchbench.depth.scores import Baseline, baselines
from local_judge.protocols.liveresearchbench.findings import LrbFindings
from local_judge.protocols.liveresearchbench.metrics.issues import Issue, IssueFindings
from local_judge.protocols.liveresearchbench.published import DETAILED, SUFFIX, read_published
from local_judge.scoring.coverage import known_enough_trees
from local_judge.scoring.node import Profile, ScoreNode

PROFILE: Profile = "upstream"
"""Profile of all numbers in the files."""
Score = Callable[[Sequence[LrbFindings], Profile], tuple[ScoreNode, ...]]
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


class ExportedResults(ExportedReport):
    """Row of one report in the list of exported reports."""

    criteria: tuple[str, ...] = ()
    """Metrics for which it has results."""
    left_out: str = ""
    """Reason why it has no results, or the part of them that is left out."""
    n_failed: int = 0
    """Missing answers of the five metrics, which the published code counts as 0 or skips."""


class LrbFiles(ReadableFormat[LrbFindings]):
    """Detailed results of all reports, and their summary by system."""

    title = "LiveResearchBench"
    reads = "`detailed_results_DATE.json`, `summary_DATE.json`, or their folder"

    def __init__(self, score: Score) -> None:
        self._score = score

    def recognises(self, seen: Glimpse) -> bool:
        """Recognise files by their keys, and a folder by their names."""
        files = seen.has(DETAILED) or seen.has("summary_*.json")
        return files or "results_by_model" in seen.keys or {"metadata", "reports"} <= seen.keys

    def read(self, path: Path) -> Imported[LrbFindings]:
        """Return the rows as reports; a mean over reports is one report of its system."""
        return read_published(path)

    def write(self, run: RunFindings[LrbFindings]) -> Exported:
        """Return both files; none if no report has a result."""
        graded = _grader(run)
        ids: set[tuple[str, str]] = set()
        exported = [_export_report(report, graded, ids, self._score) for report in run.reports]
        rows = [row for _, row in exported]
        criteria = [name for name in CRITERIA if any(name in report.criteria for report, _ in exported)]
        day = graded["graded_at"]
        metadata = {
            "timestamp": day,
            "total_reports": len(rows),
            "total_models": len({row["model_name"] for row in rows}),
            "base_path": "",
            "use_realtime": day is not None,
            "profile": PROFILE,
        }
        above = {
            **graded,
            "total_reports": len(rows),
            "criteria_evaluated": criteria,
            "input_metadata": metadata,
        }
        end = f"_{day}.json" if day else ".json"
        files: dict[str, str] = {}
        if criteria:
            files[f"detailed_results{end}"] = json_text({"metadata": metadata, "reports": rows})
            files[f"summary{end}"] = json_text({"metadata": above, **upstream.summary(rows, criteria)})
        n_failed = sum(report.n_failed for report, _ in exported if report.criteria)
        note = f"{count(n_failed, 'answer')} failed: counted as 0 or left out, as in the published code"
        listed = ReportList(
            name="reports.json",
            what=" and ".join(files),
            outcomes=[Outcome(report, bool(report.criteria), report.left_out) for report, _ in exported],
            notes=[note] if n_failed else [],
        )
        return Exported(files, [listed])


def _grader(run: RunFindings[LrbFindings]) -> dict[str, Any]:
    """Return judge and day of a run; of an imported one, those of the first result, if they are text and a date."""
    if run.engine is not None:
        return {"provider": run.engine, "model": run.model, "graded_at": run.day}
    stated = (report.findings.stated for report in run.reports if report.findings is not None)
    results = (one.record.get(f"{name}{SUFFIX}") for one in stated if one is not None for name in CRITERIA)
    first = next((result for result in results if isinstance(result, dict) and "provider" in result), None)
    if first is None:
        return {"provider": None, "model": None, "graded_at": None}
    day = first.get("graded_at")
    known = day if isinstance(day, str) and _DAY.fullmatch(day) else None
    return {"provider": first.get("provider"), "model": first.get("model"), "graded_at": known}


def _export_report(
    report: ReportFindings[LrbFindings], graded: dict[str, Any], ids: set[tuple[str, str]], score: Score
) -> tuple[ExportedResults, dict[str, Any]]:
    """Return a report's row, with its place in the list.

    Args:
        report: the report.
        graded: judge and day, which each result names.
        ids: system and task of the rows before it: of several reports of a system on a task, each has an id of its own.
        score: the protocol's scores of a report.
    """
    findings, left_out = report.findings, "no answer of the judge"
    if findings is None:
        left_out = report.status
    if findings is not None and findings.stated is not None:
        row: dict[str, Any] = {"model_name": report.system}
        if findings.stated.of == "report":
            row = dict(findings.stated.record)
        else:
            left_out = "a mean over reports, which has no row"
    else:
        system, task = report.system or UNNAMED, report.task or report.id
        numbered = (f"{task}#{number}" for number in itertools.count(2))
        id = next(id for id in itertools.chain((task,), numbered) if (system, id) not in ids)
        ids.add((system, id))
        results = {} if findings is None else grading_results(findings, score, system)
        row = {
            "model_name": system,
            "query_id": id,
            "query": "" if findings is None else findings.request or "",
            "report_file_path": f"{system}/qid_{id}_report.md",
            **{name: result | graded for name, result in results.items()},
        }
    criteria = tuple(
        name
        for name in CRITERIA
        if (f"{name}{SUFFIX}" in row if name == "depth" else upstream.value_of(row, name) is not None)
    )
    others = 0 if findings is None else len(_counted_baselines(findings.depth)) - 1
    if criteria:
        left_out = f"depth against {count(others, 'more baseline')}" if others > 0 else ""
    exported = ExportedResults.of(
        report,
        criteria=criteria,
        left_out=left_out,
        n_failed=0 if findings is None else _n_failed(findings),
    )
    return exported, row


def _n_failed(findings: LrbFindings) -> int:
    parts = (getattr(findings, name) for name in CRITERIA)
    return sum(part.n_failed for part in parts if part is not None)


CRITERIA = ("presentation", "coverage", "consistency", "citation", "depth")
"""Metrics with a place in the files, in the published order."""


def grading_results(found: LrbFindings, score: Score, system: str = "") -> dict[str, dict[str, Any]]:
    """Return `<criterion>_grading_results` of one report by `system`, without grader and date.

    The files have a place for one baseline of depth: the first that counts.
    """
    trees = known_enough_trees(score([found], PROFILE))
    values = {root.id: root.score.value for root in trees}
    results: dict[str, dict[str, Any]] = {}
    for name in CRITERIA:
        part, value = getattr(found, name), values.get(name)
        if isinstance(part, IssueFindings):
            results[name] = _issues(part, value)
        elif isinstance(part, ItemFindings):
            results[name] = _checklist(name, part.items, value)
    for counted in _counted_baselines(found.depth)[:1]:
        (pair,) = counted.pairs
        if any(order.said is not None for order in pair.orders):
            results["depth"] = upstream.depth_result(pair, system, pair.opponent.name)
    return {f"{criterion}{SUFFIX}": result for criterion, result in results.items()}


def _counted_baselines(found: DepthFindings | None) -> list[Baseline]:
    """Return the baselines that count in the score."""
    return [] if found is None else [baseline for baseline in baselines([found]) if baseline.counts]


def _checklist(name: str, items: tuple[Item, ...], rate: float | None) -> dict[str, Any]:
    """Return all answers; without a score, the summary has no rate, and the published code passes over it."""
    answers = upstream.evaluations(items)
    if name == "presentation":
        summary = upstream.presentation_summary(answers)
    else:
        summary = upstream.coverage_summary(answers, len(items))
    del summary[upstream.RATES[name]]
    return {
        "evaluations": answers,
        "summary": summary | ({} if rate is None else {upstream.RATES[name]: rate}),
    }


def _issues(found: IssueFindings, score: float | None) -> dict[str, Any]:
    """Return all issues that the judge listed; without a score, none of the keys that the published code averages."""
    if score is None:
        why = found.failure.kind if found.failure is not None else "unknown"
        return {"specific_issues": [], "justification": f"no list of issues: {why}"}
    return upstream.issues_result(
        {
            "specific_issues": [_line(issue) for issue in found.issues],
            "total_issues": len(found.issues),
            "score": score,
            "justification": f"{count(len(found.issues), 'issue')} listed; the score is the "
            + ("table's" if found.chosen is None else "judge's"),
        }
    )


def _line(issue: Issue) -> str:
    if not issue.quoted:
        return issue.reason
    words = [quote.text for quote in issue.quotes] or issue.quoted
    quoted = " / ".join(f'"{text}"' for text in words)
    cited = f" ({issue.cited})" if issue.cited else ""
    return f"{quoted}{cited}: {issue.reason}"
