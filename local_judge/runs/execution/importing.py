"""Run directories made from the judgements of published projects.

Invariant: no judge is asked; everything shown, scored and exported comes from the files, whose digest is in the
manifest in place of a judge.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import local_judge
from local_judge.base.errors import ConfigError, InputError, RunError
from local_judge.documents import Problem, UnreadableReport, check_health, parse_report
from local_judge.protocols.base import Findings, file_formats
from local_judge.protocols.file_formats import FailedReport, Imported, ImportedReport, ReadableFormat, glimpse
from local_judge.protocols.stated import ALL
from local_judge.runs.storage.items import file_key, findings_file
from local_judge.runs.storage.lock import LOCK, locked
from local_judge.runs.storage.manifest import listed_inputs
from local_judge.runs.storage.records import CaseRecord, problems_of
from local_judge.runs.storage.rescoring import rescore
from local_judge.runs.storage.seal import seal_run
from local_judge.runs.storage.store import CASES, FORMAT, INPUTS, MANIFEST, RunStore

NAMED = 10
"""Maximum number of folders that a message names."""
AUTO = "auto"
"""Format that is recognised by the files."""


def readable_formats() -> dict[str, ReadableFormat[Any]]:
    """Return the readable formats by the names of their protocols."""
    return {name: offered for name, offered in file_formats().items() if isinstance(offered, ReadableFormat)}


def import_files(
    paths: Sequence[Path], store: RunStore, format: str = AUTO, system: str | None = None
) -> list[CaseRecord]:
    """Make a run from the judgements of a published project.

    Several paths, and the folders below one that has no results itself, are of one system each. A system that its
    files do not name has the name of their folder.

    Args:
        paths: files or folders in the format, or a folder of such folders.
        store: a new or empty directory.
        format: name of the protocol; `auto` for the one, or the several ones, whose files these are.
        system: agent that wrote the reports; None for the one that the files name, if any.

    Raises:
        ConfigError: the protocol reads no files.
        InputError: a file cannot be read, has another format than the others, is of several systems and `system` is
            given, has means of a system that it does not name and `system` is not given, or is of another one's system.
        RunError: the directory is not empty.
    """
    offered = readable_formats()
    if format not in (AUTO, *offered):
        raise ConfigError(
            f"files of {format!r} cannot be read; readable formats: {', '.join((AUTO, *offered))}"
        )
    _check_empty(store)
    if format != AUTO:
        offered = {format: offered[format]}
    parts = {part: names for path in paths for part, names in _parts(path, offered).items()}
    first, *_ = parts
    for part, names in parts.items():
        if names != parts[first]:
            said = [", ".join(one) for one in (names, parts[first])]
            raise InputError(
                f"{part}: results of {said[0]}, and {first} has those of {said[1]}; import one kind"
            )
    read = {name: {part: offered[name].read(part) for part in parts} for name in parts[first]}
    found = {
        name: next(iter(own.values())) if len(own) == 1 else _combined(own) for name, own in read.items()
    }
    _check_system(first, [one for imported in found.values() for one in imported.reports], system)
    with locked(store.root):
        _check_empty(store)  # again, because another process may have been faster
        return _sealed(first, found, store, system)


def _parts(path: Path, offered: Mapping[str, ReadableFormat[Any]]) -> dict[Path, list[str]]:
    """Return a file or folder with the protocols of which it has results, or those of the folders below it."""
    names = _recognised(path, offered)
    if names:
        return {path: names}
    below: dict[Path, list[str]] = {}
    for folder in [one for depth in ("*", "*/*") for one in sorted(path.glob(depth)) if one.is_dir()]:
        with suppress(InputError):  # a folder that cannot be read is not one of results
            if known := _recognised(folder, offered):
                below[folder] = known
    kinds = {tuple(one) for one in below.values()}
    if len(kinds) > 1:
        listed = ", ".join(str(one.relative_to(path)) for one in islice(below, NAMED))
        raise InputError(f"{path}: results of several protocols; import those of one: {listed}")
    if len({len(one.parts) for one in below}) == 1:
        return below
    if below:
        return {path: list(*kinds)}  # in folders of two levels, which are one layout
    if len(offered) == 1:
        return {path: list(offered)}  # its reader says what is missing
    above = next((one for one in path.absolute().parents[:2] if _recognised(one, offered)), None)
    other = "" if above is None else f"import {above}, or "
    raise InputError(
        f"{path}: results of no known format; {other}name the format with --format {'|'.join(offered)}"
    )


def _recognised(path: Path, offered: Mapping[str, ReadableFormat[Any]]) -> list[str]:
    """Return the protocols of which a file or folder has results."""
    seen = glimpse(path)
    return [name for name, one in offered.items() if one.recognises(seen)]


def _combined(parts: Mapping[Path, Imported[Findings]]) -> Imported[Findings]:
    """Return the results of several systems together; a report's id begins with its system."""
    reports: list[ImportedReport[Findings]] = []
    failed: list[FailedReport] = []
    known: dict[str, Path] = {}
    for part, imported in parts.items():
        folder = part.resolve() if part.is_dir() else part.resolve().parent
        for one in imported.reports:
            system = one.system or folder.name
            if known.setdefault(system, part) != part:
                raise InputError(
                    f"{part}: of the system {system!r}, as {known[system]}; import the results of one judge at a time"
                )
            id = one.findings.case
            id = system if one.task == ALL else id if id.startswith(f"{system}/") else f"{system}/{id}"
            findings = one.findings.model_copy(update={"case": id})
            reports.append(one._replace(findings=findings, system=system))
        for lost in imported.failed:
            system = lost.system or folder.name
            failed.append(lost._replace(id=f"{system}/{lost.id}", system=system))
    digests = b"".join(bytes.fromhex(one.sha256) for one in parts.values())
    return Imported(reports, hashlib.sha256(digests).hexdigest(), failed)


def _check_empty(store: RunStore) -> None:
    if store.root.exists() and (
        not store.root.is_dir() or any(path.name != LOCK for path in store.root.iterdir())
    ):
        raise RunError(f"{store.root}: not an empty folder; choose another folder for the import")


def _check_system(path: Path, reports: Sequence[ImportedReport[Findings]], system: str | None) -> None:
    systems = {report.system for report in reports}
    if system is not None and len(systems) > 1:
        raise InputError(f"{path}: results of {len(systems)} systems; leave --system out")
    if system is None and any(report.task == ALL and report.system is None for report in reports):
        raise InputError(f"{path}: means of a system that no folder names; give --system")


def _sealed(
    path: Path, found: Mapping[str, Imported[Findings]], store: RunStore, system: str | None
) -> list[CaseRecord]:
    reports = next(iter(found.values())).reports
    ids = [report.findings.case for report in reports]
    for name, imported in found.items():
        if [report.findings.case for report in imported.reports] != ids:
            raise InputError(f"{path}: other reports in {name} than in {next(iter(found))}; give --format")
    every = [[imported.reports[at] for imported in found.values()] for at in range(len(ids))]
    records = [_record(own, system) for own in every]
    records += [
        CaseRecord(
            id=one.id,
            key=file_key(one.id),
            task=one.task,
            system=one.system if system is None else system,
            status="crashed",
            detail=one.error,
        )
        for imported in found.values()
        for one in imported.failed
    ]
    inputs = [{"id": record.id, "system": record.system, "task": record.task} for record in records]
    digests = list(dict.fromkeys(imported.sha256 for imported in found.values()))
    store.write_json(
        MANIFEST,
        {
            "format_version": FORMAT,
            "local_judge": local_judge.__version__,
            "config": {"protocols": list(found)},
            "imported": {"format": "+".join(found), "sha256": "+".join(digests)},
            "reports": listed_inputs(inputs),
        },
    )
    store.write_jsonl(INPUTS, inputs)
    for name, imported in found.items():
        store.write_items(
            findings_file(name, None), ((one.findings.case, one.findings) for one in imported.reports)
        )
    store.write_jsonl(CASES, records)
    rescore(store, list(found), records)
    seal_run(store, problems_of(records))
    return records


def _record(reports: Sequence[ImportedReport[Findings]], system: str | None) -> CaseRecord:
    first = reports[0]
    return CaseRecord(
        id=first.findings.case,
        key=file_key(first.findings.case),
        document=first.findings.document,
        task=first.task,
        system=first.system if system is None else system,
        problems=_problems(reports),
        status="done",
        n_questions_failed=sum(report.findings.n_failed for report in reports),
    )


def _problems(reports: Sequence[ImportedReport[Findings]]) -> tuple[Problem, ...]:
    """Return what of a report's citations would not be read, if a file has its text."""
    text = next((report.text for report in reports if report.text.strip()), None)
    with suppress(UnreadableReport):
        return check_health(parse_report(text)).problems if text is not None else ()
    return ()
