"""An archive made into a snapshot.

Invariant: the snapshot is a function of the captures, whatever their order, the number of processes and the time; and
memory does not grow with their number.
"""

from __future__ import annotations

import shutil
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from indexes.archive.captures import Stored, read_captures
from indexes.archive.cdxj import INDEX, render_line
from indexes.archive.content import Content, content_of
from indexes.archive.model import Capture
from indexes.archive.warc import FOLDER
from indexes.corpus import index_words
from indexes.errors import DigestMismatch
from indexes.making.spool import Spool
from indexes.manifest import (
    MANIFEST,
    PAGES,
    TEXTS,
    Manifest,
    Settings,
    list_files,
    render_manifest,
    sha256,
    snapshot_digest,
)
from indexes.records import PageRecord, render_record
from indexes.text.chunk import CHUNKING
from indexes.text.extract import EXTRACTION, extractor_versions
from indexes.text.extracting import ExtractionPool, Job, Reading
from indexes.urls import normalise_url

Progress = Callable[[int, int], None]
"""Called with the number of pages done and their total."""


def build(
    folder: Path,
    *,
    total: int,
    progress: Progress | None = None,
    workers: int = 1,
    notes: Mapping[str, str] | None = None,
) -> Manifest:
    """Write page records, texts, the indexes of the archive and of words, and the manifest beside the archive.

    Args:
        folder: holds the archive, whose files end with whole captures; whatever else it holds is removed.
        total: how many captures the archive holds, for the progress.
        progress: told after each page.
        workers: processes that extract.
        notes: further files of text, by name; not part of the digest.

    Raises:
        DigestMismatch: the archive is damaged.
    """
    for path in folder.iterdir():  # what a build that was killed has left
        if path.name != FOLDER:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for name, text in (notes or {}).items():
        (folder / name).write_text(text, encoding="utf-8")
    with Spool(folder) as spool:
        for done, (record, reading) in enumerate(_read(folder, spool, workers), start=1):
            _add(spool, record, reading)
            if progress is not None:
                progress(done, total)
        statuses = _write_pages(folder, spool)
        _write_index(folder, spool)
    index_words(folder)
    settings = Settings(extractor=extractor_versions(), extraction=EXTRACTION, chunking=CHUNKING)
    entries = list_files(folder)
    digest = snapshot_digest(settings, statuses, entries)
    manifest = Manifest(settings=settings, statuses=statuses, files=entries, digest=digest)
    (folder / MANIFEST).write_bytes(render_manifest(manifest))
    return manifest


def _read(folder: Path, spool: Spool, workers: int) -> Iterator[tuple[PageRecord, Reading | None]]:
    """Every capture of the archive with what was read of it, in order; only a few are held at a time."""
    waiting: deque[tuple[PageRecord, bool]] = deque()

    def jobs() -> Iterator[Job]:
        for stored in read_captures(archive_files(folder), no_damage):
            for entry in stored.entries:
                spool.add_line(render_line(entry))
            content = content_of(stored.capture)
            wanted = stored.capture.outcome == "page" and not content.refused
            waiting.append((_draft(stored, content), wanted))
            if wanted:
                capture = stored.capture
                yield Job(
                    capture.url,
                    content.data,
                    content.name,
                    capture.final_url,
                    capture.fetched,
                    content.charset,
                )

    with ExtractionPool(workers) as pool:
        for reading in pool.run(jobs()):
            while not waiting[0][1]:
                yield waiting.popleft()[0], None
            yield waiting.popleft()[0], reading
    while waiting:
        yield waiting.popleft()[0], None


def _draft(stored: Stored, content: Content) -> PageRecord:
    """What is known of a capture's page before its text."""
    capture = stored.capture
    url = normalise_url(capture.url)
    return PageRecord(
        url=url,
        original_url=capture.url,
        aliases=tuple(sorted(set(_names(capture)) - {url})),
        final_url=capture.final_url if capture.final_url != capture.url else "",
        status="unsupported_type" if content.refused else capture.status,
        reason=content.refused or capture.reason,
        http_status=content.http_status,
        title=capture.imported.title if capture.imported is not None else "",
        fetched=capture.fetched,
        raw_digest=sha256(content.data) if content.data else "",
        raw_size=len(content.data),
        record=stored.content,
        answers=stored.answers,
    )


def _add(spool: Spool, record: PageRecord, reading: Reading | None) -> None:
    if reading is not None:
        found = reading.extracted
        record = record.model_copy(
            update={
                "status": found.status,
                "reason": found.reason or record.reason,
                "title": found.title or record.title,
                "media_type": found.media_type,
                "language": found.language,
                "published": found.published,
                "text_digest": spool.add_text(found.text),
                "chunks": reading.chunks,
            }
        )
    spool.add_page(record)


def _names(capture: Capture) -> Iterator[str]:
    """Every address under which the page was met, normalised; those that are none are left out."""
    met = [exchange.url for exchange in capture.exchanges]
    met += [capture.imported.url] if capture.imported is not None else []
    for url in met:
        try:
            yield normalise_url(url)
        except ValueError:
            continue


def _write_pages(folder: Path, spool: Spool) -> dict[str, int]:
    """Page records and texts; how many pages have each status."""
    counts: Counter[str] = Counter()
    offsets: dict[bytes, int] = {}
    size = 0
    with (folder / PAGES).open("wb") as pages, (folder / TEXTS).open("wb") as texts:
        for record, text in spool.pages():
            key = bytes.fromhex(record.text_digest)
            if text and key not in offsets:
                offsets[key] = size
                size += texts.write(text)
            place = {"offset": offsets[key], "size": len(text)} if text else {}
            pages.write(render_record(record.model_copy(update=place)))
            counts[record.status] += 1
    return {status: counts[status] for status in sorted(counts)}


def _write_index(folder: Path, spool: Spool) -> None:
    path = folder / INDEX
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="\n") as index:
        index.writelines(spool.lines())


def archive_files(folder: Path) -> list[Path]:
    """The archive's files of a snapshot, in their order."""
    return sorted((folder / FOLDER).glob("*.warc.gz"))


def no_damage(said: str) -> None:
    """What to do about damage in an archive of our own: raises DigestMismatch."""
    raise DigestMismatch(f"the archive is damaged: {said}; make the snapshot again")
