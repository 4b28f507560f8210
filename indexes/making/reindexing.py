"""Search indexes added to a snapshot, or built again with other settings.

Invariant: pages, texts and archive are not touched, so the snapshot's digest stays; the manifest names the files of the
new indexes only once they are whole. A kill in between leaves a snapshot that opens, files that `verify` names, and
work that the same call does again.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from indexes.corpus import BM25, DENSE, SEARCH, index_meanings, index_words
from indexes.errors import ImportRefused
from indexes.making.staging import hold_lock
from indexes.manifest import MANIFEST, FileEntry, hash_file, load_manifest, render_manifest
from indexes.search.dense import DenseSettings
from indexes.search.encoder import Encoder
from indexes.search.folder import is_replaceable
from indexes.search.weights import Bm25Settings
from indexes.snapshot import Snapshot


def reindex(
    path: Path,
    *,
    words: Bm25Settings | None = None,
    encoder: Encoder | None = None,
    meanings: DenseSettings | None = None,
) -> None:
    """Build the indexes of a snapshot that are asked for.

    Args:
        path: of the snapshot.
        words: builds the BM25 index.
        encoder: builds the dense index.
        meanings: settings of the dense index.

    Raises:
        SnapshotError: there is no snapshot, or it is damaged.
        ImportRefused: another process is at it, or a link leads out of it.
        MissingExtra: the libraries of the encoder are not installed.
        SearchError: see `indexes.search`.
    """
    Snapshot.open(path)
    part = path / f".{MANIFEST}.part"
    with hold_lock(path):
        for place in (part, path / SEARCH, *(path / SEARCH).glob("*")):
            if place.is_symlink():  # what is there is not the snapshot's to write or remove
                raise ImportRefused(f"{place}: a link; remove it")
        for place in (path / BM25, path / DENSE):
            if place.exists() and not is_replaceable(place):
                shutil.rmtree(place)  # what is left of an index
        if words is not None:
            index_words(path, words)
        if encoder is not None:
            index_meanings(path, encoder, meanings)
        manifest = load_manifest(path)
        kept = [entry for entry in manifest.files if not entry.path.startswith(f"{SEARCH}/")]
        files = tuple(sorted([*kept, *_built(path)], key=lambda entry: entry.path))
        part.write_bytes(render_manifest(manifest.model_copy(update={"files": files})))
        part.replace(path / MANIFEST)


def _built(path: Path) -> list[FileEntry]:
    names = [file.relative_to(path).as_posix() for file in (path / SEARCH).rglob("*") if file.is_file()]
    return [hash_file(path / name).model_copy(update={"path": name}) for name in names]
