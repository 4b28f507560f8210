"""A run directory made of the judgements of a published project.

Invariant: nothing is judged: what is shown, scored and exported is what the file says, and the manifest has its digest
in place of a judge.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import local_judge
from local_judge.errors import InputError, RunError
from local_judge.protocols.base import Findings
from local_judge.protocols.deepresearcheval import DeepResearchEval, DreFindings
from local_judge.protocols.deepresearcheval.facts.files import read_results, result_files
from local_judge.protocols.fact import Fact
from local_judge.protocols.fact.formats import read_validated
from local_judge.runs.lock import LOCK, locked
from local_judge.runs.records import CaseRecord
from local_judge.runs.rescoring import rescore
from local_judge.runs.seal import seal_run
from local_judge.runs.store import CASES, RunStore, file_key


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
    _check_empty(store)
    found = read_validated(path)
    if not found:
        raise InputError(f"{path}: no rows in it")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return _stored(_Imported(Fact.name, digest, found), store, system)


def import_deepresearcheval(path: Path, store: RunStore, system: str | None) -> list[CaseRecord]:
    """Make a run of DeepResearchEval of the facts in `task_<stem>.json` files; the stems are the ids of its reports.

    Args:
        path: one file, or the folder of a method.
        store: a directory that is new or empty.
        system: who wrote the reports; None takes the folder's name.

    Raises:
        InputError: a file cannot be read, or is none of checked facts; or there is none.
        RunError: the directory holds something already.
    """
    _check_empty(store)
    files = result_files(path)
    digest = hashlib.sha256()
    found: list[DreFindings] = []
    for file in files:
        content = file.path.read_bytes() if file.path.is_file() else b""
        digest.update(hashlib.sha256(content).digest())
        facts = read_results(file.path)
        document = hashlib.sha256(content).hexdigest()[:16]
        found.append(DreFindings(case=file.task, document=document, task=file.task, facts=facts))
    folder = files[0].path.resolve().parent.name
    return _stored(
        _Imported(DeepResearchEval.name, digest.hexdigest(), found),
        store,
        folder if system is None else system,
    )


class _Imported(NamedTuple):
    """What was read."""

    protocol: str
    digest: str
    """SHA-256 of the file; of several files, of their digests in order."""
    findings: Sequence[Findings]


def _check_empty(store: RunStore) -> None:
    if store.root.exists() and (
        not store.root.is_dir() or any(path.name != LOCK for path in store.root.iterdir())
    ):
        raise RunError(f"{store.root}: not an empty folder; choose another for what is imported")


def _stored(imported: _Imported, store: RunStore, system: str | None) -> list[CaseRecord]:
    with locked(store.root):
        _check_empty(store)  # once more: another may have been quicker
        return _sealed(imported, store, system)


def _sealed(imported: _Imported, store: RunStore, system: str | None) -> list[CaseRecord]:
    protocol = imported.protocol
    records = [_record(findings, system) for findings in imported.findings]
    store.write_json(
        "manifest.json",
        {
            "local_judge": local_judge.__version__,
            "config": {"protocols": [protocol]},
            "imported": {"format": protocol, "sha256": imported.digest},
            "reports": [
                {"id": record.id, "system": record.system, "task": record.task} for record in records
            ],
        },
    )
    for record, findings in zip(records, imported.findings, strict=True):
        store.write_json(f"findings/{protocol}/{record.key}.json", findings)
    store.write_jsonl(CASES, records)
    rescore(store, [protocol], records)
    seal_run(store)
    return records


def _record(findings: Findings, system: str | None) -> CaseRecord:
    return CaseRecord(
        id=findings.case,
        key=file_key(findings.case),
        document=findings.document,
        task=findings.case,
        system=system,
        status="done",
        n_questions_failed=findings.n_failed,
    )
