"""Snapshots of others, whose manifests say what their makers want."""

from __future__ import annotations

from pathlib import Path

from indexes.manifest import MANIFEST, Manifest, list_files, render_manifest


def sealed_again(root: Path) -> None:
    """Give a snapshot the manifest of the files that it has, as somebody would who wants it to be opened."""
    old = Manifest.model_validate_json((root / MANIFEST).read_bytes())
    new = old.model_copy(update={"files": list_files(root)})
    (root / MANIFEST).write_bytes(render_manifest(new.model_copy(update={"digest": new.expected_digest()})))
