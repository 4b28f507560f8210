"""Run directories made from the judgements of published projects.

Invariant: no judge is asked; everything shown, scored and exported comes from the file, whose digest is in the manifest
in place of a judge.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import local_judge
from local_judge.errors import ConfigError, RunError
from local_judge.protocols.base import Findings, file_formats
from local_judge.protocols.file_formats import Imported, ReadableFormat
from local_judge.runs.items import file_key, findings_file
from local_judge.runs.lock import LOCK, locked
from local_judge.runs.manifest import listed_inputs
from local_judge.runs.records import CaseRecord
from local_judge.runs.rescoring import rescore
from local_judge.runs.seal import seal_run
from local_judge.runs.store import CASES, FORMAT, INPUTS, MANIFEST, RunStore


def readable_formats() -> dict[str, ReadableFormat[Any]]:
    """Return the readable formats by the names of their protocols."""
    return {name: offered for name, offered in file_formats().items() if isinstance(offered, ReadableFormat)}


def import_files(path: Path, store: RunStore, protocol: str, system: str | None = None) -> list[CaseRecord]:
    """Make a run from the judgements of a published project.

    Args:
        path: file or folder in the protocol's format.
        store: a new or empty directory.
        protocol: name of the protocol.
        system: agent that wrote the reports; None for the one that the files name, if any.

    Raises:
        ConfigError: the protocol reads no files.
        InputError: a file cannot be read or has another format.
        RunError: the directory is not empty.
    """
    offered = readable_formats().get(protocol)
    if offered is None:
        raise ConfigError(
            f"files of {protocol!r} cannot be read; readable formats: {', '.join(readable_formats())}"
        )
    _check_empty(store)
    found = offered.read(path)
    with locked(store.root):
        _check_empty(store)  # again, because another process may have been faster
        return _sealed(protocol, found, store, found.system if system is None else system)


def _check_empty(store: RunStore) -> None:
    if store.root.exists() and (
        not store.root.is_dir() or any(path.name != LOCK for path in store.root.iterdir())
    ):
        raise RunError(f"{store.root}: not an empty folder; choose another folder for the import")


def _sealed(
    protocol: str, found: Imported[Findings], store: RunStore, system: str | None
) -> list[CaseRecord]:
    records = [_record(findings, system) for findings in found.findings]
    inputs = [{"id": record.id, "system": record.system, "task": record.task} for record in records]
    store.write_json(
        MANIFEST,
        {
            "format_version": FORMAT,
            "local_judge": local_judge.__version__,
            "config": {"protocols": [protocol]},
            "imported": {"format": protocol, "sha256": found.sha256},
            "reports": listed_inputs(inputs),
        },
    )
    store.write_jsonl(INPUTS, inputs)
    store.write_items(findings_file(protocol, None), ((one.case, one) for one in found.findings))
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
