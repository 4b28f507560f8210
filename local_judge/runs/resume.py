"""Resuming a run: reports whose stored files are reused.

Invariants: a report is reused only if the stored run was derived from the same inputs by the same program, nothing
about the report failed, and its files are unchanged; every other report is evaluated again from the ledger. Reused or
evaluated, the bytes are the same.

    journal.jsonl      of an unfinished run: a digest of its inputs, then a line for each completed report: the SHA-256
                       of the rest of the line, and JSON with the record and the SHA-256 of each of its files

For a finished run, `cases.jsonl` and the seal contain the same information. A line cut off when the process was killed
is ignored, and its report is evaluated again.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from pydantic import ValidationError

from local_judge.errors import RunError, os_errors
from local_judge.judge.requests import sha256
from local_judge.runs.records import CaseRecord, read_records
from local_judge.runs.seal import Seal, differences, seal_of, unsealed
from local_judge.runs.store import (
    CASES,
    MANIFEST,
    RunStore,
    canonical,
    claims_file,
    digest_of,
    file_key,
    findings_file,
)
from serving.types import Frozen

JOURNAL = "journal.jsonl"

_FAILED = b'"attempts":'
"""Key of every failure in the JSON of claims and findings. Inside a text its quotation marks would be escaped."""


class JournalEntry(Frozen):
    """Report that is complete."""

    record: CaseRecord
    files: dict[str, str]
    """SHA-256 of its files, by name."""


class Kept(NamedTuple):
    """Reports that are reused."""

    entries: Mapping[str, JournalEntry]
    """Journal entries by report id."""
    whole: bool
    """True if the run is finished and sealed, and all of its reports are reused."""

    @property
    def records(self) -> dict[str, CaseRecord]:
        """Records by report id."""
        return {id: entry.record for id, entry in self.entries.items()}


def derivation(manifest: Mapping[str, Any]) -> str:
    """Return a digest of everything that the results of a run are derived from: inputs, judges, settings, program."""
    said = {
        key: value for key, value in manifest.items() if key not in ("arguments", "qualifications", "seal")
    }
    return sha256(canonical(said))


def kept_of(store: RunStore, judges: Sequence[str]) -> Kept:
    """Return the reusable reports of the run whose manifest is in the directory.

    Args:
        store: the run; it gets the digests of the reused files.
        judges: names of the judges, if there are several.
    """
    manifest = store.read_json(MANIFEST)
    seal = seal_of(manifest)
    entries = journal_entries(store, manifest) if seal is None else _sealed(store, seal, manifest, judges)
    whole = seal is not None and not differences(store)
    kept = {entry.record.id: entry for entry in entries if _complete(store, entry, manifest, judges)}
    for entry in kept.values():
        store.digests.update(entry.files)
    ids = [report["id"] for report in manifest["reports"]]
    return Kept(kept, whole and list(kept) == ids)


def is_finished(store: RunStore) -> bool:
    """Check whether a run lists its reports, which it does at its end."""
    return (store.root / CASES).exists()


def unfinished_records(store: RunStore, judges: Sequence[str]) -> list[CaseRecord]:
    """Return the reports of an unfinished run that are complete so far, in input order.

    Raises:
        RunError: the directory is not that of a run.
    """
    records = kept_of(store, judges).records
    manifest: dict[str, Any] = store.read_json(MANIFEST)
    return [records[report["id"]] for report in manifest["reports"] if report["id"] in records]


def journal_entries(store: RunStore, manifest: Mapping[str, Any]) -> list[JournalEntry]:
    """Return the entries of an unfinished run's journal; none if it belongs to other inputs."""
    try:
        first, *lines = store.read_bytes(JOURNAL).split(b"\n")
    except RunError:
        return []
    if first != _header(derivation(manifest)).encode():
        return []
    found: list[JournalEntry] = []
    for line in lines:
        digest, _, said = line.partition(b" ")
        if digest.decode("ascii", "replace") != digest_of(said):
            continue  # cut off or altered
        try:
            found.append(JournalEntry.model_validate_json(said))
        except ValidationError:
            continue  # written by another version
    return found


def _line(entry: JournalEntry) -> str:
    """Return the line of an entry: the SHA-256 of its JSON, then the JSON."""
    said = entry.model_dump_json()
    return f"{digest_of(said.encode())} {said}"


def _sealed(
    store: RunStore, seal: Seal, manifest: Mapping[str, Any], judges: Sequence[str]
) -> list[JournalEntry]:
    """Return the entries of a finished run; none if its list of reports differs from the seal."""
    try:
        content = store.read_bytes(CASES)
        records = read_records(store) if digest_of(content) == seal.files.get(CASES) else []
    except RunError:
        return []
    return [
        JournalEntry(
            record=record,
            files={
                name: seal.files[name]
                for name in case_files(record.id, manifest["config"]["protocols"], judges)
                if name in seal.files
            },
        )
        for record in records
    ]


def _complete(
    store: RunStore, entry: JournalEntry, manifest: Mapping[str, Any], judges: Sequence[str]
) -> bool:
    """Check whether a report is complete: no answer is missing, and its files are unchanged."""
    record = entry.record
    if record.status == "unreadable":  # depends on the text alone
        return True
    protocols: Sequence[str] = manifest["config"]["protocols"]
    names = set(case_files(record.id, protocols, judges))
    findings = {name for name in names if name.startswith("findings/")}
    if record.status != "done" or record.n_calls_failed or not findings <= entry.files.keys() <= names:
        return False
    try:
        contents = {name: store.read_bytes(name) for name in entry.files}
    except RunError:
        return False
    return all(
        digest_of(content) == entry.files[name] and _FAILED not in content
        for name, content in contents.items()
    )


def case_files(case: str, protocols: Sequence[str], judges: Sequence[str]) -> list[str]:
    """Return the names of a report's files; a run that verifies no claims has no claim sets."""
    key = file_key(case)
    return [
        name
        for judge in judges or (None,)
        for name in (
            claims_file(key, judge),
            *(findings_file(protocol, key, judge) for protocol in protocols),
        )
    ]


class Journal:
    """Writer of a run's journal; a context manager."""

    def __init__(self, store: RunStore, protocols: Sequence[str], judges: Sequence[str]) -> None:
        self._store = store
        self._protocols = protocols
        self._judges = judges
        self._descriptor = -1

    @property
    def _path(self) -> Path:
        return self._store.root / JOURNAL

    def begin(self, kept: Kept) -> Self:
        """Write the journal of the reused reports, and mark the run as unfinished.

        The journal is complete before the seal is removed, so that a kill in between loses nothing.

        Raises:
            RunError: the journal cannot be written.
        """
        manifest: dict[str, Any] = self._store.read_json(MANIFEST)
        lines = [_header(derivation(manifest)), *(_line(entry) for entry in kept.entries.values())]
        self._store.write_text(JOURNAL, "".join(line + "\n" for line in lines))
        if "seal" in manifest:
            self._store.write_json(MANIFEST, unsealed(manifest))
        self._store.unfinish()
        with os_errors(RunError, f"{self._path}: cannot be written"):
            self._descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        return self

    def add(self, record: CaseRecord) -> None:
        """Add a report whose files have been written."""
        digests = self._store.digests
        names = case_files(record.id, self._protocols, self._judges)
        entry = JournalEntry(record=record, files={name: digests[name] for name in names if name in digests})
        with os_errors(RunError, f"{self._path}: cannot be written"):
            os.write(self._descriptor, (_line(entry) + "\n").encode())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._descriptor)


def remove_journal(store: RunStore) -> None:
    """Remove the journal of a sealed run: its list of reports and its seal hold the same information."""
    (store.root / JOURNAL).unlink(missing_ok=True)


def _header(derived: str) -> str:
    return canonical({"derived_from": derived})
