"""Runs as RACE's result files.

Invariants: a row is what the published arithmetic makes of the stored answers; a report without a row is named, with
the reason; nothing is written over.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from local_judge.documents.model import Frozen
from local_judge.errors import RunError
from local_judge.protocols.race import RaceFindings
from local_judge.protocols.race.formats import MEANS, RESULTS, means, result_row
from local_judge.protocols.race.tree import BY_ITSELF, DROPPED, NO_SUCH_MODE, arrangement
from local_judge.reporting.exports import folder_name
from local_judge.runs.manifest import one_judge_of, protocols_of
from local_judge.runs.records import CaseRecord, load_records
from local_judge.runs.store import RunStore, findings_file

MAPPING = "reports.json"
"""Which report became a row of which folder; stands beside the files that the published scripts look for."""


class ExportedReport(Frozen):
    """One report of a run."""

    report: str
    task: str | None
    system: str | None
    folder: str
    """Relative to what was exported to; `.` where there is one system."""
    written: bool
    left_out: str = ""
    """Why it has no row, in a few words."""
    arrangement: str = ""
    """In which order the judge read what it compared."""
    n_failed: int = 0
    """Criteria without an answer, which the published arithmetic passes over."""


class ExportedRace(Frozen):
    """What was written."""

    reports: tuple[ExportedReport, ...]
    n_files: int
    """Without `reports.json`."""


def export_race(store: RunStore, out: Path, judge: str | None = None) -> ExportedRace:
    """Write `raw_results.jsonl` and `race_result.txt` of a run, in one folder for each system where there are several.

    Args:
        store: the run.
        out: an empty or new folder.
        judge: of several: the files hold the answers of one.

    Raises:
        RunError: RACE was not run there, no report has a row, or there are several judges and none is named; or `out`
            is not empty or cannot be written.
    """
    if "race" not in protocols_of(store):
        raise RunError(
            f"{store.root}: RACE was not run there; its protocols: {', '.join(protocols_of(store))}"
        )
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise RunError(
            f"{out}: not an empty folder; choose another, so that no older file is taken for a new one"
        )
    judge = one_judge_of(store, judge, "these files")
    records = load_records(store)
    systems = list(dict.fromkeys(record.system for record in records))
    rows: dict[str, list[dict[str, Any]]] = {}
    reports: list[ExportedReport] = []
    for record in records:
        folder = "." if len(systems) == 1 else folder_name(record.system)
        exported, row = _exported(store, record, folder, judge)
        reports.append(exported)
        if row is not None:
            rows.setdefault(folder, []).append(row)
    if not rows:
        raise RunError(
            f"{store.root}: no report has a row of RACE; {reports[0].left_out if reports else 'none'}"
        )
    target = RunStore(out)
    for folder, found in rows.items():
        # The published rows are sorted by the task's number.
        found.sort(key=lambda row: (isinstance(row["id"], str), row["id"]))
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in found)
        target.write_text(f"{folder}/{RESULTS}", lines)
        target.write_text(f"{folder}/{MEANS}", means(found))
    listed = json.dumps([report.model_dump(mode="json") for report in reports], ensure_ascii=False, indent=2)
    target.write_text(MAPPING, listed + "\n")
    return ExportedRace(reports=tuple(reports), n_files=2 * len(rows))


def _exported(
    store: RunStore, record: CaseRecord, folder: str, judge: str | None
) -> tuple[ExportedReport, dict[str, Any] | None]:
    report = ExportedReport(
        report=record.id, task=record.task, system=record.system, folder=folder, written=False
    )
    if record.status != "done":
        return report.model_copy(update={"left_out": record.status}), None
    findings = store.read_model(findings_file("race", record.key, judge), RaceFindings)
    report = report.model_copy(update={"arrangement": arrangement(findings), "n_failed": findings.n_unmarked})
    scores = result_row(findings)
    if scores is None:
        return report.model_copy(update={"left_out": _left_out(findings)}), None
    number = findings.task.isascii() and findings.task.isdecimal()
    identity = int(findings.task) if number else findings.task
    row = {"id": identity, "prompt": findings.request, **scores}
    return report.model_copy(update={"written": True}), row


def _left_out(findings: RaceFindings) -> str:
    """Why a report has no row."""
    if findings.mode == "reference":
        return DROPPED
    return NO_SUCH_MODE if findings.mode == "vanilla" else BY_ITSELF
