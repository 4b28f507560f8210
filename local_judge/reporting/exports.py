"""Export of runs to the file formats of published projects.

Invariants: reports and answers that a format cannot represent are left out and named in `reports.json` and in the
output. No file is overwritten.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from local_judge.base.errors import RunError
from local_judge.base.output import count
from local_judge.protocols.base import load_protocol
from local_judge.protocols.file_formats import (
    Exported,
    FileFormat,
    ReportFindings,
    ReportList,
    RunFindings,
    json_text,
)
from local_judge.runs.storage.items import findings_file
from local_judge.runs.storage.manifest import one_judge_of, protocols_of, read_manifest
from local_judge.runs.storage.records import load_records
from local_judge.runs.storage.store import RunStore
from local_judge.terminal import safe


def export_files(store: RunStore, out: Path, protocol: str, judge: str | None = None) -> Exported:
    """Write a run to `out` as the files of a protocol's published project, with lists of what became of each report.

    Args:
        store: the run.
        out: an empty or new folder.
        protocol: whose files.
        judge: of several: the files hold the answers of one.

    Raises:
        ConfigError: there is no such protocol.
        RunError: the run has nothing of it, no report has anything to write, or there are several judges and none is
            named; or `out` is not empty or cannot be written.
    """
    offered: FileFormat[Any] | None = load_protocol(protocol).file_format()
    if offered is None:
        raise RunError(f"{protocol} has no files of a published project")
    if protocol not in protocols_of(store):
        raise RunError(
            f"{store.root}: {offered.title} was not run; the run has these protocols: {', '.join(protocols_of(store))}"
        )
    check_new(out)
    exported = offered.write(run_findings(store, protocol, one_judge_of(store, judge, "these files")))
    if not exported.files:
        reasons = [one.left_out for found in exported.lists for one in found.outcomes if one.left_out]
        why = reasons[0] if reasons else "it contains no report"
        raise RunError(f"{store.root}: no report has a result for {offered.title}'s files; {why}")
    target = RunStore(out)
    for name, text in exported.files.items():
        target.write_text(name, text)
    for found in exported.lists:
        target.write_text(found.name, json_text(list_rows(found)))
    return exported


def check_new(out: Path) -> None:
    """Check that a folder is empty or new. Raises RunError."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise RunError(
            f"{out}: not an empty folder; choose another, so that no older file is taken for a new one"
        )


def run_findings(store: RunStore, protocol: str, judge: str | None) -> RunFindings[Any]:
    """Return the findings of one protocol by one judge; None is the only judge."""
    manifest = read_manifest(store)
    findings_type = load_protocol(protocol).findings_type
    judges: Sequence[dict[str, Any]] = manifest.get("judges", ())
    identities = (one["identity"] for one in judges if judge in (None, one["name"]))
    engine, model = next(((one["engine"], one["model"]) for one in identities), (None, None))
    return RunFindings(
        reports=tuple(
            ReportFindings(
                id=record.id,
                task=record.task,
                system=record.system,
                findings=store.read_item(findings_file(protocol, judge), record.key, findings_type)
                if record.status == "done"
                else None,
                status=record.status,
            )
            for record in load_records(store)
        ),
        day=manifest["config"].get("date"),
        engine=engine,
        model=model,
    )


def list_rows(found: ReportList) -> list[dict[str, Any]]:
    """Return the rows of a list as JSON."""
    return [one.row.model_dump(mode="json") for one in found.outcomes]


def export_lines(exported: Exported, out: Path) -> Iterator[str]:
    """Yield a line for each written list and each report left out, without control characters."""
    for found in exported.lists:
        n_written = sum(one.written for one in found.outcomes)
        yield (
            f"{found.what} of {n_written} of {count(len(found.outcomes), 'report')} in {safe(str(out))}; "
            f"{found.name} there says which"
        )
        yield from map(safe, found.notes)
        part = f"{found.part} " if found.part else ""
        for one in found.outcomes:
            if one.left_out:
                how = "in part" if one.written else "left out"
                yield f"{safe(one.row.report)}: {part}{how}: {safe(one.left_out)}"
