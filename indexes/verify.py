"""Every byte of a snapshot compared with its manifest, and every page with the archive.

Invariant: reads everything, changes nothing, and names every file that is wrong, missing or extra, the
manifest itself among them, and every page whose text or archived bytes are not those that its record names.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from indexes.archive.captures import read_captures
from indexes.archive.content import content_of
from indexes.archive.warc import FOLDER
from indexes.errors import NotASnapshot
from indexes.making.building import archive_files
from indexes.manifest import (
    MANIFEST,
    PAGES,
    TEXTS,
    FileEntry,
    Manifest,
    hash_file,
    load_manifest,
    render_manifest,
    sha256,
)
from indexes.records import PageRecord, parse_records
from local_judge.base.files import open_file, read_file
from local_judge.base.model import Frozen


class FileProblem(Frozen):
    """One file that is not as the manifest says."""

    path: str
    kind: Literal["wrong", "missing", "extra"]
    detail: str


class VerifyReport(Frozen):
    """Result of `verify`."""

    digest: str
    """Digest in the manifest."""
    n_files: int
    """Files that the manifest names."""
    n_bytes: int
    problems: tuple[FileProblem, ...]
    """Problems in order of path."""

    @property
    def ok(self) -> bool:
        """True if there is no problem."""
        return not self.problems


def verify(path: Path | str) -> VerifyReport:
    """Hash every file of a snapshot, every text and every archived page.

    Raises:
        SnapshotMissing, NotASnapshot, SnapshotTooNew: there is no manifest to compare with.
    """
    path = Path(path)
    manifest = load_manifest(path, check_digest=False)
    problems = [*_manifest_problems(path, manifest)]
    for entry in manifest.files:
        problem = _check(path, entry)
        if problem is not None:
            problems.append(problem)
    named = {entry.path for entry in manifest.files} | {MANIFEST}
    for extra in sorted(_files(path) - named):
        problems.append(FileProblem(path=extra, kind="extra", detail="the manifest does not name it"))
    if not any(problem.path in (PAGES, TEXTS) for problem in problems):
        problems += _page_problems(path)
    return VerifyReport(
        digest=manifest.digest,
        n_files=len(manifest.files),
        n_bytes=sum(entry.size for entry in manifest.files),
        problems=tuple(sorted(problems, key=lambda p: (p.path, p.kind, p.detail))),
    )


def _manifest_problems(root: Path, manifest: Manifest) -> Iterator[FileProblem]:
    if manifest.digest != manifest.expected_digest():
        yield FileProblem(path=MANIFEST, kind="wrong", detail="its digest is not that of its contents")
    elif read_file(root / MANIFEST) != render_manifest(manifest):
        yield FileProblem(path=MANIFEST, kind="wrong", detail="not the bytes that were written")


def _check(root: Path, entry: FileEntry) -> FileProblem | None:
    file = root / entry.path
    if file.is_symlink() or not file.is_file():
        return FileProblem(path=entry.path, kind="missing", detail="there is no such file")
    found = hash_file(file)
    if found.size != entry.size:
        detail = f"{found.size:,} bytes, not {entry.size:,}"
        return FileProblem(path=entry.path, kind="wrong", detail=detail)
    if found.sha256 != entry.sha256:
        return FileProblem(path=entry.path, kind="wrong", detail="SHA-256 differs from the manifest")
    return None


def _page_problems(root: Path) -> Iterator[FileProblem]:
    """Texts against the records, then the archive against the records."""
    wanted: dict[str, PageRecord] = {}
    try:
        with open_file(root / TEXTS) as texts:
            n_bytes = os.fstat(texts.fileno()).st_size
            for record in parse_records(read_file(root / PAGES), str(root / PAGES)):
                if record.record is not None:
                    wanted[record.record.id] = record.model_copy(update={"chunks": ()})
                if not record.text_digest:
                    continue
                inside = record.offset + record.size <= n_bytes
                texts.seek(record.offset if inside else 0)
                data = texts.read(record.size) if inside else b""
                if sha256(data) != record.text_digest or not _is_utf8(data):
                    yield FileProblem(path=TEXTS, kind="wrong", detail=f"the text of {record.url} is another")
    except (NotASnapshot, OSError) as error:
        yield FileProblem(path=PAGES, kind="wrong", detail=str(error))
        return
    damage: list[str] = []
    for stored in read_captures(archive_files(root), damage.append):
        record = wanted.pop(stored.content.id, None) if stored.content is not None else None
        if record is None or record.record is None or stored.content is None:
            continue
        content = content_of(stored.capture)
        digest = sha256(content.data) if content.data else ""
        if (digest, stored.content, stored.answers) != (record.raw_digest, record.record, record.answers):
            yield FileProblem(path=FOLDER, kind="wrong", detail=f"it holds another page for {record.url}")
    for problem in damage:
        behind = f"; {len(wanted)} pages that may lie behind it were not compared"
        yield FileProblem(path=FOLDER, kind="wrong", detail=problem + behind)
    for record in () if damage else wanted.values():
        yield FileProblem(path=FOLDER, kind="missing", detail=f"it does not hold {record.url}")


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _files(root: Path) -> set[str]:
    found: set[str] = set()
    for folder, _, names in os.walk(root):
        found.update((Path(folder) / name).relative_to(root).as_posix() for name in names)
    return found
