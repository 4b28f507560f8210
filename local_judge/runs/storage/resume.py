"""Resuming a run: reports whose stored items are reused.

Invariants: a report is reused only if the stored run was derived from the same inputs by the same program, nothing
about the report failed, and its items are unchanged; every other report is evaluated again from the ledger. Reused or
evaluated, the bytes are the same.

    journal.jsonl      of an unfinished run: a digest of its inputs, then a line for each evaluated report
                       (`items.Journal`)

For a finished run, `cases.jsonl`, the indexes and the seal contain the same information. A line cut off when the
process was killed is ignored, and its report is evaluated again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from pydantic import ValidationError

from local_judge.base.errors import RunError, os_errors
from local_judge.base.files import partial_of
from local_judge.ledger.requests import sha256
from local_judge.runs.storage.items import FAILED, Journal, claims_file, findings_file
from local_judge.runs.storage.manifest_file import stored_manifest
from local_judge.runs.storage.records import CaseRecord, read_records
from local_judge.runs.storage.seal import Seal, differences, seal_of, unsealed
from local_judge.runs.storage.store import CASES, INPUTS, JOURNAL, MANIFEST, RunStore, canonical


class DoneReport(NamedTuple):
    """Report of an unfinished run that is complete."""

    record: CaseRecord
    written: float
    """Time at which it was complete, in seconds since 1970."""


class Kept(NamedTuple):
    """Reports that are reused."""

    records: Mapping[str, CaseRecord]
    """Records by report id."""
    whole: bool
    """True if the run is finished and sealed, and all of its reports are reused."""


def derivation(manifest: Mapping[str, Any]) -> str:
    """Return a digest of everything that the results of a run are derived from: inputs, judges, settings, program."""
    said = {key: value for key, value in manifest.items() if key not in ("run", "qualifications", "seal")}
    return sha256(canonical(said))


def kept_of(store: RunStore, judges: Sequence[str]) -> Kept:
    """Return the reusable reports of the run whose manifest is in the directory.

    Args:
        store: the run; if it is unfinished, its items are then read from the journal.
        judges: names of the judges, if there are several.
    """
    manifest = stored_manifest(store)
    seal = seal_of(manifest)
    if seal is None:
        with suppress(OSError):  # a run that was killed before its first report
            store.journal = Journal(store.root / JOURNAL)
        done = journaled(store.journal, manifest) if store.journal is not None else ()
        return Kept({one.record.id: one.record for one in done}, whole=False)
    records = _sealed(store, seal, manifest, judges)
    return Kept(records, not differences(store) and list(records) == [row["id"] for row in store.inputs()])


def is_finished(store: RunStore) -> bool:
    """Check whether a run lists its reports, which it does at its end."""
    return (store.root / CASES).exists()


def unfinished_records(store: RunStore, judges: Sequence[str]) -> list[CaseRecord]:
    """Return the reports of an unfinished run that are complete so far, in input order.

    Raises:
        RunError: the directory is not that of a run.
    """
    records = kept_of(store, judges).records
    return [records[row["id"]] for row in store.inputs() if row["id"] in records]


def journaled(journal: Journal, manifest: Mapping[str, Any]) -> Iterator[DoneReport]:
    """Yield the complete reports that were added to a journal since the last call; none if it has other inputs."""
    if journal.header() != _header(manifest):
        return
    for line in journal.read():
        with suppress(ValidationError):  # written by another version
            record = CaseRecord.model_validate_json(line.record, strict=True)
            if line.complete:
                yield DoneReport(record, line.written)


def _sealed(
    store: RunStore, seal: Seal, manifest: Mapping[str, Any], judges: Sequence[str]
) -> dict[str, CaseRecord]:
    """Return the reusable reports of a finished run by id; none if its list of reports differs from the seal."""
    store.digests.update(seal.files)
    try:
        records = read_records(store)
    except RunError:
        return {}
    usable = {record.key for record in records if record.status == "done" and not record.n_calls_failed}
    for name in item_files(manifest["config"]["protocols"], judges):
        if name in seal.files or name.startswith("findings/"):
            usable &= _sound(store, name)
    return {
        record.id: record
        for record in records
        if record.status == "unreadable" or record.key in usable  # depends on the text alone
    }


def _sound(store: RunStore, name: str) -> set[str]:
    """Return the keys of the reports with an unchanged item in a file in which nothing failed."""
    try:
        if store.file_digest(name) != store.digests.get(name):
            store.find_moved(name)
        file = store.item_file(name)
    except RunError:  # missing, or without its index
        return set()
    found: set[str] = set()
    for place in file.index if file is not None else ():
        line = file.read(place) if file is not None else None
        if line is not None and FAILED not in line:
            found.add(place.key)
    return found


def item_files(protocols: Sequence[str], judges: Sequence[str]) -> list[str]:
    """Return the names of the files of items that a run may have; one that verifies no claims has no claim sets."""
    return [
        name
        for judge in judges or (None,)
        for name in (claims_file(judge), *(findings_file(protocol, judge) for protocol in protocols))
    ]


def begin_journal(store: RunStore, kept: Kept, judges: Sequence[str]) -> None:
    """Open the journal of a run that is about to be evaluated, with the reused reports, and mark it as unfinished.

    The journal is complete before the seal is removed, so that a kill in between loses nothing.

    Raises:
        RunError: the journal cannot be written.
    """
    manifest = stored_manifest(store)
    path, header = store.root / JOURNAL, _header(manifest)
    with os_errors(RunError, f"{path}: cannot be written"):
        if store.journal is not None and store.journal.header() == header:
            store.journal.write_on()
        else:
            made = Journal.new(partial_of(path), header)
            names = item_files(manifest["config"]["protocols"], judges)
            for record in kept.records.values():
                lines = ((name, store.item(name, record.key)) for name in names)
                items = {name: line for name, line in lines if line is not None}
                made.add(record.key, record, items, complete=True)
            made.move(path)
            store.journal = made
    if "seal" in manifest:
        store.write_json(MANIFEST, unsealed(manifest))
    store.unfinish()
    store.digests = {INPUTS: manifest["reports"]["sha256"]}  # all other files are written again


def remove_journal(store: RunStore) -> None:
    """Remove the journal of a sealed run: its files contain the same information."""
    (store.root / JOURNAL).unlink(missing_ok=True)


def _header(manifest: Mapping[str, Any]) -> bytes:
    return canonical({"derived_from": derivation(manifest)}).encode()
