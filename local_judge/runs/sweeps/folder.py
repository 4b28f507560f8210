"""Folder of a sweep.

    sweep.yaml          copy of the sweep file
    sweep.json          names of the runs
    runs/<name>/        one run each, as `local-judge run runs/<name>.yaml` makes it
    runs/<name>.yaml    its run file
    kept/<name>/        results of a run that the sweep file no longer describes
    shards/<i>-of-<n>/  shards of the sweep (see `runs.sharding`)
    ledger.sqlite       replies of all judges, unless another ledger was given
    .lock               while a command writes here

Invariant: reading a sweep needs neither its inputs nor its judges.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import StringConstraints

from local_judge.base.errors import RunError
from local_judge.base.model import Frozen
from local_judge.runs.storage.manifest import existing_manifest
from local_judge.runs.storage.resume import is_finished
from local_judge.runs.storage.store import MANIFEST, RunStore

SWEEP = "sweep.json"
KEPT = "kept"
RUNS = "runs"
LEDGER = "ledger.sqlite"
SHARDS = "shards"


class SweepManifest(Frozen):
    """Names of the runs of a sweep."""

    format_version: int = 1
    file_sha256: str
    """SHA-256 of the sweep file, which `sweep.yaml` is a copy of."""
    runs: tuple[Annotated[str, StringConstraints(pattern=r"^[^/.\x00][^/\x00]*$")], ...]
    """Runs of the sweep file, in its order."""
    ledger: str
    """Ledger, relative to the folder if it is inside."""


def sweep_manifest(root: Path) -> SweepManifest | None:
    """Return the manifest of a sweep; None if the folder is not a sweep's.

    Raises:
        RunError: it is damaged.
    """
    return RunStore(root).read_model(SWEEP, SweepManifest) if (root / SWEEP).is_file() else None


def runs_in(path: Path) -> list[Path]:
    """Return the directories of a sweep's runs that have begun; a folder that is not a sweep's is returned itself."""
    manifest = sweep_manifest(path)
    if manifest is None:
        return [path]
    found = [path / RUNS / name for name in manifest.runs]
    return [run for run in found if existing_manifest(RunStore(run)) is not None]


def earlier_in(path: Path) -> list[str]:
    """Return the folders of a sweep with results that the sweep file no longer describes, relative to `path`."""
    manifest = sweep_manifest(path)
    current = set(manifest.runs) if manifest is not None else set[str]()
    found = [one for one in sorted((path / RUNS).glob(f"*/{MANIFEST}")) if one.parent.name not in current]
    return [
        one.parent.relative_to(path).as_posix()
        for one in (*found, *sorted((path / KEPT).glob(f"*/{MANIFEST}")))
    ]


def finished_in(path: Path) -> list[Path]:
    """Return the directories of a sweep's finished runs; a folder that is not a sweep's is returned itself.

    Raises:
        RunError: no run of the sweep is finished.
    """
    if sweep_manifest(path) is None:
        return [path]
    found = [run for run in runs_in(path) if is_finished(RunStore(run))]
    if not found:
        raise RunError(
            f"{path}: no run of this sweep is finished; `local-judge show {path}` prints what there is"
        )
    return found


def ledger_in(path: Path) -> Path:
    """Return the ledger of a sweep."""
    manifest = sweep_manifest(path)
    return path / (LEDGER if manifest is None else manifest.ledger)
