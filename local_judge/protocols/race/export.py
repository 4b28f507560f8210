"""RACE's `raw_results.jsonl` and `race_result.txt` of a run, in one folder for each system where there are several.

Invariant: a row is what the published arithmetic makes of the stored answers; a report without a row is named, with the
reason.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from local_judge.base.output import count
from local_judge.protocols.file_formats import (
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
    jsonl_text,
)
from local_judge.protocols.leaderboard import columns
from local_judge.protocols.race.findings import RaceFindings
from local_judge.protocols.race.published import read_published
from local_judge.protocols.race.scores import BY_ITSELF, DROPPED, NO_SUCH_MODE, arrangement
from local_judge.protocols.race.upstream import MEANS, RESULTS, SCORES, means, result_row
from local_judge.protocols.stated import Stated


class ExportedRow(ExportedReport):
    """Row of one report in the list."""

    folder: str
    """Relative to what was exported to; `.` where there is one system."""
    written: bool
    """True if the file has a row for it."""
    left_out: str = ""
    """Reason of a missing row, in a few words."""
    arrangement: str = ""
    """Order in which the judge read report and reference."""
    n_failed: int = 0
    """Criteria without an answer, which the published arithmetic passes over."""


class RaceFiles(ReadableFormat[RaceFindings]):
    """Rows of results and their means."""

    title = "RACE"
    reads = "a `raw_results.jsonl`, a `race_result.txt`, their folder, or a leaderboard (CSV or Markdown)"

    def write(self, run: RunFindings[RaceFindings]) -> Exported:
        """Write rows and means per system; rows are sorted by the task's number, as published."""
        rows: dict[str, list[dict[str, Any]]] = {}
        exported: list[ExportedRow] = []
        for report in run.reports:
            folder = "." if len(run.systems) == 1 else folder_name(report.system)
            found, row = _export_report(report, folder)
            exported.append(found)
            if row is not None:
                rows.setdefault(folder, []).append(row)
        files: dict[str, str] = {}
        for folder, own in rows.items():
            own.sort(key=lambda row: (isinstance(row["id"], str), row["id"]))
            files |= {f"{folder}/{RESULTS}": jsonl_text(own), f"{folder}/{MEANS}": means(own)}
        written = [row for row in exported if row.written]
        n_failed = sum(row.n_failed for row in written)
        note = f"{count(n_failed, 'criterion', 'criteria')} failed and were passed over, as in the published code"
        listed = ReportList(
            name="reports.json",
            what=count(len(files), "file"),
            outcomes=[Outcome(row, row.written, row.left_out) for row in exported],
            notes=[
                *dict.fromkeys(row.arrangement for row in written if row.arrangement),
                *([note] if n_failed else []),
            ],
        )
        return Exported(files, [listed])

    def recognises(self, seen: Glimpse) -> bool:
        """Recognise rows by their keys, means by their name, and a leaderboard by its columns."""
        rows = set(SCORES) <= seen.keys or seen.has(RESULTS)
        return rows or seen.has(MEANS) or bool(set(SCORES) & columns(seen.text))

    def read(self, path: Path) -> Imported[RaceFindings]:
        """Return the rows as reports; a mean over reports is one report of its system."""
        return read_published(path)


def _export_report(
    report: ReportFindings[RaceFindings], folder: str
) -> tuple[ExportedRow, dict[str, Any] | None]:
    findings = report.findings
    if findings is not None and findings.stated is not None:
        return _as_read(report, findings.stated, folder)
    scores = None if findings is None else result_row(findings)
    exported = ExportedRow.of(
        report,
        folder=folder,
        written=scores is not None,
        left_out=report.status if findings is None else "" if scores is not None else _left_out(findings),
        arrangement="" if findings is None else arrangement(findings),
        n_failed=0 if findings is None else findings.n_unscored,
    )
    if findings is None or scores is None:
        return exported, None
    number = findings.task.isascii() and findings.task.isdecimal()
    return exported, {
        "id": int(findings.task) if number else findings.task,
        "prompt": findings.request,
        **scores,
    }


def _as_read(
    report: ReportFindings[RaceFindings], stated: Stated, folder: str
) -> tuple[ExportedRow, dict[str, Any] | None]:
    """Return a stated row as it was read. A mean over reports has none, nor has a row without a value."""
    row = dict(stated.record) if stated.of == "report" else None
    left_out = "" if row is not None else "a mean over reports, which has no row"
    if row is not None and any(row[name] is None for name in SCORES):
        row, left_out = None, "a score without a value"
    exported = ExportedRow.of(report, folder=folder, written=row is not None, left_out=left_out)
    return exported, row


def _left_out(findings: RaceFindings) -> str:
    """Return why a report has no row."""
    if findings.mode == "reference":
        return DROPPED
    return NO_SUCH_MODE if findings.mode == "vanilla" else BY_ITSELF
