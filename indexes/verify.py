"""Every byte of a snapshot compared with its manifest.

Invariant: reads everything, changes nothing, and names every file that is wrong, missing or extra, the
manifest itself among them.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from indexes.errors import DigestMismatch
from indexes.manifest import MANIFEST, RAW, FileEntry, load_manifest, render_manifest, sha256
from indexes.model import Frozen
from indexes.raw import unpack


class FileProblem(Frozen):
    """One file that is not as the manifest says."""

    path: str
    kind: Literal["wrong", "missing", "extra"]
    detail: str


class VerifyReport(Frozen):
    """What `verify` found."""

    digest: str
    """As the manifest says."""
    n_files: int
    """Files that the manifest names."""
    n_bytes: int
    problems: tuple[FileProblem, ...]
    """In order of path."""

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


def verify(path: Path | str) -> VerifyReport:
    """Hash every file of a snapshot.

    Raises:
        SnapshotMissing, NotASnapshot, SnapshotTooNew: there is no manifest to compare with.
    """
    path = Path(path)
    manifest = load_manifest(path, check_digest=False)
    problems: list[FileProblem] = []
    if manifest.digest != manifest.expected_digest():
        problems.append(
            FileProblem(path=MANIFEST, kind="wrong", detail="its digest is not that of its contents")
        )
    elif (path / MANIFEST).read_bytes() != render_manifest(manifest):
        problems.append(FileProblem(path=MANIFEST, kind="wrong", detail="not the bytes that were written"))
    for entry in manifest.files:
        problem = _check(path, entry)
        if problem is not None:
            problems.append(problem)
    named = {entry.path for entry in manifest.files} | {MANIFEST}
    for extra in sorted(_files(path) - named):
        problems.append(FileProblem(path=extra, kind="extra", detail="the manifest does not name it"))
    return VerifyReport(
        digest=manifest.digest,
        n_files=len(manifest.files),
        n_bytes=sum(entry.size for entry in manifest.files),
        problems=tuple(sorted(problems, key=lambda p: (p.path, p.kind))),
    )


def _check(root: Path, entry: FileEntry) -> FileProblem | None:
    file = root / entry.path
    if file.is_symlink() or not file.is_file():
        return FileProblem(path=entry.path, kind="missing", detail="there is no such file")
    data = file.read_bytes()
    if len(data) != entry.size:
        detail = f"{len(data):,} bytes, not {entry.size:,}"
        return FileProblem(path=entry.path, kind="wrong", detail=detail)
    if sha256(data) != entry.sha256:
        return FileProblem(path=entry.path, kind="wrong", detail="its SHA-256 is another")
    if not entry.path.startswith(f"{RAW}/"):
        content = entry.sha256
    else:
        try:
            content = sha256(unpack(file))
        except DigestMismatch:
            content = ""
    if content != entry.content_sha256:
        return FileProblem(path=entry.path, kind="wrong", detail="what it holds has another SHA-256")
    return None


def _files(root: Path) -> set[str]:
    found: set[str] = set()
    for folder, _, names in os.walk(root):
        found.update((Path(folder) / name).relative_to(root).as_posix() for name in names)
    return found
