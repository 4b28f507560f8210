"""A stored run with the inputs that its results follow from, found again where its manifest says.

Invariant: settings come from the manifest alone; a place that the user names takes precedence over the recorded one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from indexes.errors import IndexesError
from indexes.snapshot import Snapshot
from local_judge.base.errors import RunError, UserError, first_problem
from local_judge.runs.execution.job import Inputs, reports_of
from local_judge.runs.planning.inputs import RawReport
from local_judge.runs.planning.run_file import RunFile
from local_judge.runs.storage.manifest import read_manifest
from local_judge.runs.storage.store import MANIFEST, RunStore

IMPORTED = "the run was imported from published files, without reports and replies"


class Material(NamedTuple):
    """A run with the inputs that its results follow from, as far as they are at hand."""

    store: RunStore
    reports: Sequence[RawReport] | None
    snapshot: Path | None
    ledger: Path | None
    public: bool = False
    """Page texts and prompts were left out."""
    snapshot_digest: str | None = None
    """Digest of the run's snapshot, of which a bundle may have only a part."""
    absent: str = ""
    """Reason why something is not at hand."""

    @property
    def lacks_snapshot(self) -> bool:
        """True if the run used a snapshot that is not at hand."""
        return self.snapshot is None and read_manifest(self.store).get("snapshot") is not None


class Places(NamedTuple):
    """Places of inputs that the user names."""

    reports: Sequence[Path] = ()
    snapshot: Path | None = None
    ledger: Path | None = None
    file: RunFile | None = None
    """Run file whose paths say where the other inputs are."""


NOWHERE = Places()


def recorded_file(manifest: Mapping[str, Any]) -> RunFile:
    """Return the settings of a run from its manifest.

    Raises:
        RunError: The manifest records none, or invalid ones.
    """
    run, config = manifest.get("run"), manifest.get("config")
    if not isinstance(run, dict) or not isinstance(config, dict):
        raise RunError(f"{MANIFEST}: records no settings of a run")
    try:
        return RunFile.model_validate({**config, **run})
    except ValidationError as error:
        raise RunError(f"{MANIFEST}: run: {first_problem(error, 'the settings', RunFile)}") from None


def placed_file(manifest: Mapping[str, Any], places: Places) -> RunFile:
    """Return the settings of a run, with the places that the user names; errors as `recorded_file`."""
    file = recorded_file(manifest)
    moved: dict[str, Any] = {}
    if places.file is not None:
        named = ("reports", "snapshot", "ledger", *type(file.files).model_fields)
        moved = {name: value for name in named if (value := getattr(places.file, name))}
    moved |= {name: value for name in ("reports", "snapshot", "ledger") if (value := getattr(places, name))}
    return file.model_copy(update=moved)


def snapshot_places(recorded: Path | None, store: RunStore) -> list[Path]:
    """Return the places where the snapshot of a run may be: where it was, in the run directory, or beside it."""
    beside = [store.root / "snapshot", store.root.resolve().parent / "snapshot"]
    return beside if recorded is None else [recorded, *beside]


def material_of_run(store: RunStore, places: Places = NOWHERE) -> Material:
    """Return a run with its inputs, or the reason why they are not at hand.

    Raises:
        RunError: The manifest cannot be read.
    """
    manifest = read_manifest(store)
    if "imported" in manifest:
        return Material(store, None, None, None, absent=IMPORTED)
    kept = store.ledger if store.ledger.exists() else None
    try:
        file = placed_file(manifest, places)
        reports = reports_of(file, (), Inputs())
    except (UserError, IndexesError) as error:
        absent = f"{error}; give --reports, --snapshot and --ledger, or a run file with --config"
        return Material(store, None, None, places.ledger or kept, absent=absent)
    ledger = file.ledger or kept
    if ledger is not None and not ledger.exists():
        ledger = kept
    absent = "the ledger is not there; give --ledger"
    if ledger is not None:
        absent = "the snapshot is not there; give --snapshot"
    snapshot = None
    if (digest := manifest.get("snapshot")) is not None:
        by_user = places.snapshot is not None or (
            places.file is not None and places.file.snapshot is not None
        )
        there = [path for path in snapshot_places(file.snapshot, store) if path.is_dir()]
        snapshot = next((path for path in there if by_user or _may_be(path, digest)), None)
        if there and snapshot is None and ledger is not None:
            absent = f"{there[0]} holds another snapshot; give --snapshot"
    return Material(store, reports, snapshot, ledger, absent=absent)


def _may_be(path: Path, digest: str) -> bool:
    """Check whether a folder holds the snapshot with a digest; a damaged one may, and its check names the damage."""
    try:
        return Snapshot.open(path).digest == digest
    except IndexesError:
        return True
