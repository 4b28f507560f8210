"""A run directory made of the judgements of a published project.

Invariant: nothing is judged: what is shown, scored and exported is what the file says, and the manifest has its digest
in place of a judge.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import local_judge
from local_judge.errors import InputError, RunError
from local_judge.protocols.fact.findings import FactFindings
from local_judge.protocols.fact.formats import read_validated
from local_judge.runs.records import CaseRecord
from local_judge.runs.rescoring import rescore
from local_judge.runs.store import RunStore, file_key


def import_fact(path: Path, store: RunStore, system: str | None) -> list[CaseRecord]:
    """Make a run of FACT of the rows of a `validated.jsonl`; its reports and tasks have the rows' ids.

    Args:
        path: the file.
        store: a directory that is new or empty.
        system: who wrote the reports, where that is to be known.

    Raises:
        InputError: the file cannot be read, has no row, or one that is none of FACT's.
        RunError: the directory holds something already.
    """
    if store.root.exists() and (not store.root.is_dir() or any(store.root.iterdir())):
        raise RunError(f"{store.root}: not an empty folder; choose another for what is imported")
    found = read_validated(path)
    if not found:
        raise InputError(f"{path}: no rows in it")
    records = [_record(findings, system) for findings in found]
    store.write_json(
        "manifest.json",
        {
            "local_judge": local_judge.__version__,
            "config": {"protocols": ["fact"]},
            "imported": {"format": "fact", "sha256": hashlib.sha256(path.read_bytes()).hexdigest()},
            "reports": [
                {"id": record.id, "system": record.system, "task": record.task} for record in records
            ],
        },
    )
    for record, findings in zip(records, found, strict=True):
        store.write_json(f"findings/fact/{record.key}.json", findings)
    store.write_jsonl("cases.jsonl", records)
    rescore(store, ["fact"], records)
    return records


def _record(findings: FactFindings, system: str | None) -> CaseRecord:
    return CaseRecord(
        id=findings.case,
        key=file_key(findings.case),
        document=findings.document,
        task=findings.case,
        system=system,
        status="done",
        n_questions_failed=findings.n_failed,
    )
