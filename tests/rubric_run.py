"""A run directory with a judged rubric, as `run` leaves one, without a judge."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from local_judge.protocols.deer import DeerFindings
from local_judge.protocols.deer.rubric.model import RubricFindings
from local_judge.protocols.deer.verification.rows import Rows
from local_judge.runs.storage.items import file_key, findings_file
from local_judge.runs.storage.records import CaseRecord
from local_judge.runs.storage.rescoring import rescore
from local_judge.runs.storage.seal import seal_run
from local_judge.runs.storage.store import RunStore


def write_run(
    folder: Path, reports: Mapping[str, tuple[Rows | None, RubricFindings | None]], *records: CaseRecord
) -> RunStore:
    """A finished run of `reports`; `records` replace the lines of `cases.jsonl` of the same id."""
    store = RunStore(folder)
    store.write_json(
        "manifest.json",
        {"format_version": 4, "config": {"protocols": ["deer"]}, "reports": {"n": 0}},
    )
    given = {record.id: record for record in records}
    cases: list[CaseRecord] = []
    for id in dict.fromkeys([*reports, *given]):
        case = given.get(id) or CaseRecord(id=id, key=file_key(id), document="d", status="done")
        cases.append(case)
    found = (
        (id, DeerFindings(case=id, document="d", rows=rows, rubric=rubric))
        for id, (rows, rubric) in reports.items()
    )
    store.write_items(findings_file("deer", None), found)
    store.write_jsonl("cases.jsonl", cases)
    rescore(store, ["deer"], cases)
    seal_run(store)
    return store


def record(id: str, task: str | None = None, system: str | None = None, status: str = "done") -> CaseRecord:
    """A line of `cases.jsonl`."""
    return CaseRecord.model_validate(
        {"id": id, "key": file_key(id), "document": "d", "task": task, "system": system, "status": status}
    )
