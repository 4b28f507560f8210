"""Runs as folders of the published projects.

Invariants: a folder holds the reports of one system, and its name and the names in it are made from numbers and plain
letters, never from a report's text; what has no place in the format is left out and named; nothing is written over.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from local_judge.documents.model import Frozen
from local_judge.errors import RunError
from local_judge.protocols.deer.formats.folder import Sample, folder
from local_judge.protocols.deer.protocol import DeerFindings
from local_judge.runs.manifest import protocols_of
from local_judge.runs.records import CaseRecord, load_records
from local_judge.runs.store import RunStore

MAPPING = "samples.json"
"""Which report became which sample; stands beside the files that DEER's scripts look for."""

UNNAMED = "unnamed"
"""The folder of reports of which no system is known."""

LARGEST = 10**9
"""A task id above it is a name made of digits, and no number of a sample."""


class ExportedSample(Frozen):
    """One report of a run."""

    report: str
    task: str | None
    system: str | None
    folder: str
    """Relative to what was exported to; `.` where there is one system."""
    sample: int | None
    """Its number in the file names; None if it was left out."""
    left_out: str = ""
    """Why, in a few words; or what of it."""
    n_failed: int = 0
    """Of DEER, items that failed and are written as "N/A"; of FACT, pairs that failed and are left out or unknown."""
    n_sentences_failed: int = 0
    """Sentences whose claims are unknown: they are in none of its figures."""
    n_pairs_failed: int = 0
    """Claims and pages without a verdict through a failure of ours: the figures charge them to the report."""


class Exported(Frozen):
    """What was written."""

    samples: tuple[ExportedSample, ...]
    n_files: int
    """Without `samples.json`."""


def export_deer(store: RunStore, out: Path) -> Exported:
    """Write DEER's result files of a run to `out`, one folder for each system where there are several.

    A sample's number is its task's id where the reports of a system all have whole numbers for ids, each its own; else
    the report's position in the run, from 1.

    Raises:
        RunError: the run has nothing of DEER, or `out` is not empty or cannot be written.
    """
    check_export(store, out, "deer", "DEER")
    records = load_records(store)
    target = RunStore(out)
    samples: dict[str, ExportedSample] = {}
    n_files = 0
    for name, own in by_folder(records):
        contents: dict[int, Sample] = {}
        for record, number in own:
            content = _content(store, record)
            exported = _exported(record, content, name, number)
            samples[record.id] = exported
            if content is not None and exported.sample is not None:
                contents[exported.sample] = content
        for file, data in folder(contents).items():
            _write(target, f"{name}/{file}", data)
            n_files += 1
    return finish_export(target, records, samples, n_files)


def check_export(store: RunStore, out: Path, protocol: str, title: str) -> None:
    """Refuse a run without the protocol, and a folder that holds something."""
    if protocol not in protocols_of(store):
        raise RunError(
            f"{store.root}: {title} was not run there; its protocols: {', '.join(protocols_of(store))}"
        )
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise RunError(
            f"{out}: not an empty folder; choose another, so that no older file is taken for a new one"
        )


def by_folder(records: Sequence[CaseRecord]) -> Iterator[tuple[str, list[tuple[CaseRecord, int]]]]:
    """Each system's folder, `.` where there is one system, with its reports and their numbers."""
    systems = list(dict.fromkeys(record.system for record in records))
    for system in systems:
        yield "." if len(systems) == 1 else folder_name(system), _numbered(records, system)


def finish_export(
    target: RunStore, records: Sequence[CaseRecord], samples: Mapping[str, ExportedSample], n_files: int
) -> Exported:
    """Write which report became which sample, in the order of the run."""
    ordered = tuple(samples[record.id] for record in records)
    _write(target, MAPPING, [sample.model_dump(mode="json") for sample in ordered])
    return Exported(samples=ordered, n_files=n_files)


_HASHED = re.compile(r"(?:^|-)[0-9a-f]{8}$")
"""A name that looks as if it had a hash is given one, so that no two systems share a folder."""


def folder_name(system: str | None) -> str:
    """A folder's name for a system: its own where that is plain, else with what is not replaced, and a hash."""
    if system is None:
        return UNNAMED
    plain = re.sub(r"[^a-z0-9._-]+", "-", system).strip(".-")[:40]
    if plain == system and plain not in ("", UNNAMED, MAPPING) and not _HASHED.search(plain):
        return plain
    digest = hashlib.sha256(system.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{plain}-{digest}" if plain else digest


def _numbered(records: Sequence[CaseRecord], system: str | None) -> list[tuple[CaseRecord, int]]:
    """The reports of a system with their numbers."""
    own = [(record, position) for position, record in enumerate(records, 1) if record.system == system]
    numbers = [_number(record.task) for record, _ in own]
    known = [number for number in numbers if number is not None]
    if len(known) == len(set(known)) == len(own):
        return [(record, number) for (record, _), number in zip(own, known, strict=True)]
    return own


def _number(task: str | None) -> int | None:
    if task is None or not re.fullmatch(r"[0-9]+", task) or int(task) > LARGEST:
        return None
    return int(task)


def _content(store: RunStore, record: CaseRecord) -> Sample | None:
    if record.status != "done":
        return None
    findings = store.read_model(f"findings/deer/{record.key}.json", DeerFindings)
    return Sample(findings.rows, findings.rubric)


def _exported(record: CaseRecord, content: Sample | None, folder: str, number: int) -> ExportedSample:
    missing: list[str] = []
    kept = content is not None and (content.has_fact or content.has_others)
    if content is None:
        missing.append(record.status)
    else:
        if content.rows is not None and not content.has_fact:
            missing.append("claims unknown" if content.rows.n_unread else "no claims")
        if content.rubric is not None and not content.has_others:
            missing.append(f"no items: its rubric was judged as {content.rubric.mode}")
    rubric = content.rubric if content is not None and content.has_others else None
    rows = content.rows if content is not None and content.has_fact else None
    return ExportedSample(
        report=record.id,
        task=record.task,
        system=record.system,
        folder=folder,
        sample=number if kept else None,
        left_out="; ".join(missing),
        n_failed=sum(grade.status == "failed" for grade in rubric.grades) if rubric else 0,
        n_sentences_failed=rows.n_unread if rows else 0,
        n_pairs_failed=sum(pair.failed for claim in rows.claims for pair in claim.pairs) if rows else 0,
    )


def _write(target: RunStore, name: str, data: object) -> None:
    target.write_text(name, json.dumps(data, ensure_ascii=False, indent=2, allow_nan=False) + "\n")
