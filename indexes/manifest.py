"""The manifest: what a snapshot is made of, and the one digest that stands for it.

Invariant: the digest is a function of the settings and of the contents alone. No clock, no machine, no order
of import, and no compressor enters it. It covers the page records and the texts; the records name the SHA-256 of
every page's bytes and of the archive's record that holds them, so the archive is covered however it was packed. The
bytes of each file as stored are named beside it and are what `verify` compares. Search indexes are made from the
texts and named by files of their own: adding one to a snapshot does not make it another web.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path, PurePosixPath
from typing import Any, cast

from pydantic import ValidationError, field_validator

from indexes.errors import DigestMismatch, NotASnapshot, SnapshotMissing, SnapshotTooNew
from local_judge.base.files import MOST_JSON, open_file, read_file
from local_judge.base.model import Frozen
from local_judge.base.problems import first_problem

FORMAT = "frozen-web-snapshot"
FORMAT_VERSION = 2
MANIFEST = "manifest.json"
PAGES = "pages.jsonl"
TEXTS = "texts.utf8"
_PIECE = 1 << 20


class FileEntry(Frozen):
    """One file of a snapshot."""

    path: str
    """Relative to the snapshot, with `/`."""
    size: int
    """Bytes as stored."""
    sha256: str
    """Digest of the stored bytes."""

    @field_validator("path")
    @classmethod
    def _inside(cls, path: str) -> str:
        parts = PurePosixPath(path).parts
        if not parts or path.startswith("/") or ".." in parts or "\\" in path or "\0" in path:
            raise ValueError(f"path {path!r} leaves the snapshot")
        return path


class Settings(Frozen):
    """All that decides what is made from the same input bytes."""

    extractor: dict[str, str]
    """Names and versions of the libraries that text passes through."""
    extraction: dict[str, str | int | bool]
    """Options and limits of extraction."""
    chunking: dict[str, str | int]


class Manifest(Frozen):
    """The contents of a snapshot."""

    format: str = FORMAT
    format_version: int = FORMAT_VERSION
    settings: Settings
    statuses: dict[str, int]
    """Pages by status."""
    files: tuple[FileEntry, ...]
    """Files in order of path, without the manifest itself."""
    digest: str

    @property
    def n_pages(self) -> int:
        """Number of pages of any status."""
        return sum(self.statuses.values())

    def expected_digest(self) -> str:
        """Value that `digest` must have, given the other fields."""
        return snapshot_digest(self.settings, self.statuses, self.files)


def sha256(data: bytes) -> str:
    """SHA-256 in lower-case hex."""
    return hashlib.sha256(data).hexdigest()


def canonical(value: object) -> str:
    """JSON with sorted keys, no white space, and text as it is: one value, one string."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def snapshot_digest(settings: Settings, statuses: dict[str, int], files: tuple[FileEntry, ...]) -> str:
    """SHA-256 over the canonical JSON of format, settings, statuses and the digests of page records and texts."""
    digests = {entry.path: entry.sha256 for entry in files}
    return sha256(
        canonical(
            {
                "format": FORMAT,
                "format_version": FORMAT_VERSION,
                "settings": settings.model_dump(),
                "statuses": statuses,
                "files": [[name, digests.get(name, "")] for name in (PAGES, TEXTS)],
            }
        ).encode()
    )


def render_manifest(manifest: Manifest) -> bytes:
    """The only bytes that a manifest has on disk."""
    return (json.dumps(manifest.model_dump(), sort_keys=True, ensure_ascii=False, indent=1) + "\n").encode()


def part_of(out: Path) -> Path:
    """Return the folder in which a snapshot is built before it moves to `out`."""
    return out.parent / f".{out.name}.part"


def database_of(out: Path) -> Path:
    """Return the path of the fetch database of `out`, next to it, so that it is not part of the snapshot."""
    return out.parent / f".{out.name}.fetch.db"


def hash_file(path: Path) -> FileEntry:
    """Size and SHA-256 of a file, read piece by piece; its `path` is the name alone. Raises OSError."""
    hasher = hashlib.sha256()
    size = 0
    with open_file(path) as file:
        while piece := file.read(_PIECE):
            hasher.update(piece)
            size += len(piece)
    return FileEntry(path=path.name, size=size, sha256=hasher.hexdigest())


def list_files(folder: Path) -> tuple[FileEntry, ...]:
    """Every file below a snapshot but its manifest, hashed, in order of path."""
    found = sorted(
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink()
    )
    return tuple(
        hash_file(folder / name).model_copy(update={"path": name}) for name in found if name != MANIFEST
    )


def load_manifest(folder: Path, *, check_digest: bool = True) -> Manifest:
    """Read `folder/manifest.json`.

    Raises:
        SnapshotMissing: there is no such directory.
        NotASnapshot: it holds no manifest, or one that cannot be read.
        SnapshotTooNew: its format is newer than this package.
        DigestMismatch: the manifest contradicts its own digest (unless `check_digest` is false).
    """
    if not folder.exists() and part_of(folder).is_dir():
        raise SnapshotMissing(
            f"the snapshot at {folder} was begun and is not whole; give the command that made it once more, "
            f"and it resumes or starts again"
        )
    if not folder.is_dir():
        raise SnapshotMissing(f"no snapshot at {folder}; make one with `snapshot import`")
    path = folder / MANIFEST
    try:
        data: Any = json.loads(read_file(path, MOST_JSON))
    except OSError:
        raise NotASnapshot(
            f"{folder} is not a snapshot: it has no {MANIFEST}; make one with `snapshot import`"
        ) from None
    except (ValueError, RecursionError):
        raise NotASnapshot(f"{path} is not JSON; make the snapshot again") from None
    fields = cast("dict[str, object]", data) if isinstance(data, dict) else {}
    version = fields.get("format_version")
    if fields.get("format") != FORMAT or not isinstance(version, int):
        raise NotASnapshot(f"{path} is not the manifest of a snapshot (format {fields.get('format')!r})")
    if version > FORMAT_VERSION:
        raise SnapshotTooNew(
            f"{path} has format {version} and this package reads up to {FORMAT_VERSION}; upgrade it"
        )
    if version < FORMAT_VERSION:
        raise NotASnapshot(
            f"{path} has format {version}, and this package reads format {FORMAT_VERSION}; make the snapshot again"
        )
    try:
        manifest = Manifest.model_validate(data)
    except ValidationError as error:
        raise NotASnapshot(
            f"{path}: {first_problem(error, 'the manifest')}; make the snapshot again"
        ) from None
    if check_digest and manifest.digest != manifest.expected_digest():
        raise DigestMismatch(
            f"{path} says digest {manifest.digest[:12]} but its contents give "
            f"{manifest.expected_digest()[:12]}; run `snapshot verify` or make the snapshot again"
        )
    return manifest
