"""A folder of pages made into a snapshot.

Invariant: the snapshot is a function of the pages and their list. Not of the order of lines, the number of
processes, or the time; and a directory with the final name exists only when it is whole (written beside it,
then renamed).

URLs that are equal after normalisation: the same bytes with the same status are one page, which keeps the
first original URL; different ones are refused, both lines named. A `final_url` that leads to one page is
another name of that page; one that leads to several pages with different bytes is a name of none.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from pathlib import Path

from indexes.chunk import CHUNKING, chunk_spans
from indexes.errors import ImportRefused, NotASnapshot, SnapshotExists, SnapshotMissing
from indexes.extract import EXTRACTION, Extracted, extract, extractor_versions
from indexes.limits import MAX_PAGE_BYTES, GzipRefused, gunzip, is_gzip
from indexes.manifest import (
    MANIFEST,
    PAGES,
    TEXTS,
    FileEntry,
    Manifest,
    Settings,
    load_manifest,
    render_manifest,
    sha256,
    snapshot_digest,
)
from indexes.model import Frozen
from indexes.pagelist import PageEntry, read_page_list
from indexes.raw import pack, raw_path, write_raw
from indexes.records import PageRecord, render_records
from indexes.verify import verify

Progress = Callable[[int, int], None]
"""Called with the number of pages done and their total."""


class _Read(Frozen):
    """One page as a worker hands it back."""

    entry: PageEntry
    extracted: Extracted
    raw_digest: str = ""
    raw_size: int = 0
    packed: bytes = b""
    chunks: tuple[tuple[int, int], ...] = ()


def import_pages(
    folder: Path,
    out: Path,
    *,
    pages: Path | None = None,
    progress: Progress | None = None,
    workers: int = 1,
) -> Manifest:
    """Make a snapshot of a folder of HTML, Markdown, text, JSON and PDF files, each plain or gzipped.

    Args:
        folder: holds the files.
        out: the snapshot directory to make. One that is there already is left alone if it is the same.
        pages: the page list (`pagelist`); default `folder/pages.jsonl`.
        progress: told after each page.
        workers: processes that extract; with more than one, the calling script needs a main guard.

    Returns:
        The manifest of the snapshot.

    Raises:
        ImportRefused: the list or a line of it is wrong.
        SnapshotExists: `out` is there and is something else.
    """
    folder, out = Path(folder), Path(out)
    entries = read_page_list(pages or folder / "pages.jsonl", folder)
    existing = _existing(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    part = out.parent / f".{out.name}.{os.getpid()}.part"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir()
    try:
        manifest = _write(part, _reads(entries, folder, workers), len(entries), progress)
        if existing is None:
            part.rename(out)
        elif existing.digest != manifest.digest:
            raise SnapshotExists(
                f"{out} holds snapshot {existing.digest[:12]} and these pages make {manifest.digest[:12]}; "
                f"choose another directory or remove it"
            )
        elif not verify(out).ok:
            raise SnapshotExists(
                f"{out} holds this snapshot, but damaged; run `snapshot verify` or remove it"
            )
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return manifest


def _existing(out: Path) -> Manifest | None:
    if not out.exists():
        return None
    try:
        return load_manifest(out)
    except (NotASnapshot, SnapshotMissing):
        if out.is_dir() and not any(out.iterdir()):
            return None
    raise SnapshotExists(f"{out} exists and is not a snapshot; choose another directory")


def _reads(entries: list[PageEntry], folder: Path, workers: int) -> Iterator[_Read]:
    read = partial(_read, folder.resolve())
    if workers <= 1:
        yield from map(read, entries)
        return
    # Spawned, not forked: a child starts from nothing, whatever threads and state the parent has.
    context = multiprocessing.get_context("spawn")
    try:
        with ProcessPoolExecutor(workers, mp_context=context) as pool:
            yield from pool.map(read, entries, chunksize=4)
    except BrokenProcessPool:
        raise ImportRefused(
            f"a process that read pages of {folder} ended (out of memory, or a script without a main guard); "
            f"import with one worker"
        ) from None


def _read(root: Path, entry: PageEntry) -> _Read:
    """Read, keep and extract one page; runs in a worker."""
    known = Extracted(status=entry.status, reason=entry.reason, media_type="")
    if entry.file is None:
        return _Read(entry=entry, extracted=known)
    path = root / entry.file
    size = path.stat().st_size
    if size > MAX_PAGE_BYTES:
        reason = f"the file has {size:,} bytes, more than {MAX_PAGE_BYTES:,}"
        return _Read(
            entry=entry, extracted=Extracted(status="unsupported_type", reason=reason, media_type="")
        )
    data = path.read_bytes()
    if is_gzip(data):
        try:
            data = gunzip(data)
        except GzipRefused as error:
            extracted = Extracted(status="unsupported_type", reason=str(error), media_type="application/gzip")
            return _Read(entry=entry, extracted=extracted)
    extracted = extract(data, entry.file) if entry.status == "ok" else known
    return _Read(
        entry=entry,
        extracted=extracted,
        raw_digest=sha256(data),
        raw_size=len(data),
        packed=pack(data),
        chunks=tuple(chunk_spans(extracted.text)),
    )


def _write(part: Path, reads: Iterator[_Read], total: int, progress: Progress | None) -> Manifest:
    kept: list[_Read] = []
    files: dict[str, FileEntry] = {}
    records: list[PageRecord] = []
    offsets: dict[str, tuple[int, int]] = {}
    with (part / TEXTS).open("wb") as texts:
        for done, read in enumerate(reads, start=1):
            if not (kept and kept[-1].entry.url == read.entry.url and _same(kept[-1], read)):
                if read.raw_digest:
                    write_raw(part, read.raw_digest, read.packed)
                    files[raw_path(read.raw_digest)] = _raw_entry(read)
                data = read.extracted.text.encode()
                digest = sha256(data) if data else ""
                if digest not in offsets:
                    offsets[digest] = (texts.tell(), texts.write(data))
                records.append(_record(read, digest, *(offsets[digest] if data else (0, 0))))
                kept.append(read.model_copy(update={"packed": b"", "chunks": (), "extracted": _bare(read)}))
            if progress is not None:
                progress(done, total)
    aliases = _aliases(kept)
    named = [record.model_copy(update={"aliases": aliases.get(record.url, ())}) for record in records]
    (part / PAGES).write_bytes(render_records(named))
    for name in (PAGES, TEXTS):
        data = (part / name).read_bytes()
        files[name] = FileEntry(path=name, size=len(data), sha256=sha256(data), content_sha256=sha256(data))
    return _manifest(part, named, tuple(files[path] for path in sorted(files)))


def _same(first: _Read, second: _Read) -> bool:
    """Whether two lines of one URL are one page. Raises ImportRefused if they are not."""
    if (first.raw_digest, first.extracted.status) == (second.raw_digest, second.extracted.status):
        return True
    lines = sorted((first.entry.line, second.entry.line))
    raise ImportRefused(
        f"lines {lines[0]} and {lines[1]} of the page list give different pages for {first.entry.url}; "
        f"keep one of them"
    )


def _bare(read: _Read) -> Extracted:
    return read.extracted.model_copy(update={"text": ""})


def _raw_entry(read: _Read) -> FileEntry:
    return FileEntry(
        path=raw_path(read.raw_digest),
        size=len(read.packed),
        sha256=sha256(read.packed),
        content_sha256=read.raw_digest,
    )


def _record(read: _Read, text_digest: str, offset: int, size: int) -> PageRecord:
    entry, extracted = read.entry, read.extracted
    return PageRecord(
        url=entry.url,
        original_url=entry.original_url,
        aliases=(),
        status=extracted.status,
        reason=extracted.reason,
        title=extracted.title,
        media_type=extracted.media_type,
        fetched=entry.fetched,
        raw_digest=read.raw_digest,
        raw_size=read.raw_size,
        text_digest=text_digest,
        offset=offset,
        size=size,
        chunks=read.chunks,
    )


def _aliases(kept: list[_Read]) -> dict[str, tuple[str, ...]]:
    """Other names of each page by its URL; the page list's own URLs are never another page's alias."""
    own = {read.entry.url for read in kept}
    claims: dict[str, list[_Read]] = {}
    for read in kept:
        final = read.entry.final_url
        if final is not None and final not in own:
            claims.setdefault(final, []).append(read)
    found: dict[str, list[str]] = {}
    for final in sorted(claims):
        if len({read.raw_digest for read in claims[final]}) == 1:
            found.setdefault(claims[final][0].entry.url, []).append(final)
    return {url: tuple(names) for url, names in found.items()}


def _manifest(part: Path, records: list[PageRecord], files: tuple[FileEntry, ...]) -> Manifest:
    settings = Settings(extractor=extractor_versions(), extraction=EXTRACTION, chunking=CHUNKING)
    counts = Counter(record.status for record in records)
    statuses: dict[str, int] = {status: counts[status] for status in sorted(counts)}
    digest = snapshot_digest(settings, statuses, files)
    manifest = Manifest(settings=settings, statuses=statuses, files=files, digest=digest)
    (part / MANIFEST).write_bytes(render_manifest(manifest))
    return manifest
