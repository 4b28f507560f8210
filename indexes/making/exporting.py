"""A snapshot given to others as one file.

Invariant: what is exported holds the archive byte for byte, so that whoever imports it with the versions that the
manifest names gets a snapshot with the same digest.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from indexes.archive.cdxj import INDEX
from indexes.archive.wacz import PageLine, write_wacz
from indexes.archive.warc import FOLDER, UNKNOWN_DATE
from indexes.errors import SnapshotExists
from indexes.making.building import archive_files
from indexes.snapshot import Snapshot


def export_wacz(snapshot: Snapshot, out: Path, *, title: str = "", key_file: Path | None = None) -> None:
    """Write a WACZ 1.1.1 with the archive, its index, and the pages with their texts.

    Args:
        snapshot: what to write.
        out: the file to make.
        title: of the collection; default: the snapshot's digest.
        key_file: a private key for ECDSA in PEM, to sign with.

    Raises:
        SnapshotExists: `out` is there.
        ImportRefused: it could not be written, or the key is none.
        MissingExtra: it is to be signed and cryptography is not installed.
        DigestMismatch: a text, a file of the archive, or its index is not the one that was stored.
    """
    if out.exists():
        raise SnapshotExists(f"{out} exists; choose another name or remove it")
    snapshot.check_file(INDEX)
    digests = {entry.path: entry.sha256 for entry in snapshot.manifest.files}
    write_wacz(
        out,
        {path: digests.get(f"{FOLDER}/{path.name}", "") for path in archive_files(snapshot.path)},
        snapshot.path / INDEX,
        _pages(snapshot),
        title=title or f"Snapshot {snapshot.digest}",
        created=snapshot.info().fetched.last or UNKNOWN_DATE,
        key_file=key_file,
    )


def _pages(snapshot: Snapshot) -> Iterator[PageLine]:
    for page in snapshot.pages():
        if page.status == "ok":
            at = page.fetched or UNKNOWN_DATE
            yield PageLine(page.original_url, at, page.title, page.text)
