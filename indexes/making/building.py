"""An archive made into a snapshot.

Invariant: the snapshot is a function of the captures, whatever their order, the number of processes and the time; and
memory does not grow with their number. Pages with the same bytes are read once: an archive of a few kilobytes can name
one body thousands of times.
"""

from __future__ import annotations

import shutil
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from indexes.archive.captures import Stored, read_captures
from indexes.archive.cdxj import INDEX, render_line
from indexes.archive.content import Content, answer_of, content_of
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
    canonical,
    list_files,
    render_manifest,
    sha256,
    snapshot_digest,
)
from indexes.records import PageRecord, render_record
from indexes.text.chunk import CHUNKING
from indexes.text.dates import date_in_url, latest_date
from indexes.text.decode import MEDIA_TYPES
from indexes.text.extract import EXTRACTION, extractor_versions
from indexes.text.extracting import ExtractionPool, Job, Reading
from indexes.text.walls import Arrival, arrival
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
        for done, record in enumerate(_read(folder, spool, workers), start=1):
            spool.add_page(record)
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


class _Draft(NamedTuple):
    """A capture's page before its text."""

    record: PageRecord
    content: str
    """Key of everything that its reading depends on, except dates; '' for a page that is not read."""


def _read(folder: Path, spool: Spool, workers: int) -> Iterator[PageRecord]:
    """Every capture of the archive with what was read of it, in order; only a few are held at a time."""
    waiting: deque[_Draft] = deque()

    def jobs() -> Iterator[Job | None]:
        for stored in read_captures(archive_files(folder), no_damage):
            for entry in stored.entries:
                spool.add_line(render_line(entry))
            content = content_of(stored.capture)
            record = _draft(stored, content)
            if stored.capture.outcome != "page" or content.refused:
                waiting.append(_Draft(record, ""))
                yield None
                continue
            url = _DATED if date_in_url(stored.capture.final_url) else _UNDATED
            arrived = _arrival(stored.capture)
            job = Job(stored.capture.url, content.data, content.name, url, None, content.charset, arrived)
            key = canonical([record.raw_digest, job.name, job.charset, job.url, job.arrived])
            waiting.append(_Draft(record, key))
            yield job if spool.is_new(key) else None

    with ExtractionPool(workers) as pool:
        for reading in pool.run(jobs()):
            record, key = waiting.popleft()
            if reading is not None:
                spool.add_reading(key, reading, spool.add_text(reading.extracted.text))
            yield _with_reading(record, *spool.reading(key)) if key else record


_CUT = "only the beginning of the page was stored"
_UNDATED, _DATED = "https://undated.invalid/", "https://dated.invalid/2000/01/01/"
"""Stand for the page's own address while it is read: where that holds a date, the page's is not looked for."""


def _arrival(capture: Capture) -> Arrival:
    """Return what address and header fields say of a capture's page."""
    first = capture.exchanges[0].url if capture.exchanges else capture.url
    if capture.rendered is not None:
        return arrival(capture.rendered.url, first, ())
    if capture.imported is not None:
        return arrival(capture.imported.url, first, ())
    answer = answer_of(capture)
    return Arrival() if answer is None else arrival(answer.url, first, answer.headers)


def _draft(stored: Stored, content: Content) -> PageRecord:
    """Return the fields of a capture's page that are known before its text."""
    capture = stored.capture
    url = normalise_url(capture.url)
    return PageRecord(
        url=url,
        original_url=capture.url,
        aliases=tuple(sorted(set(_names(capture)) - {url})),
        final_url=capture.final_url if capture.final_url != capture.url else "",
        status="unsupported_type" if content.refused else capture.status,
        reason=content.refused or capture.reason or (_CUT if content.truncated else ""),
        http_status=content.http_status,
        title=capture.imported.title if capture.imported is not None else "",
        fetched=capture.fetched,
        raw_digest=sha256(content.data) if content.data else "",
        raw_size=len(content.data),
        record=stored.content,
        answers=stored.answers,
        found_by=capture.found_by,
        truncated=content.truncated,
    )


def _with_reading(record: PageRecord, reading: Reading, text_digest: str) -> PageRecord:
    """A record with what was read of its bytes, which does not know where and when they were fetched."""
    found = reading.extracted
    published = found.published
    if found.status == "ok" and found.media_type == MEDIA_TYPES["html"]:
        published = date_in_url(record.final_url or record.original_url) or published
    if published is not None and published > latest_date(record.fetched).isoformat():
        published = None
    return record.model_copy(
        update={
            "status": found.status,
            "reason": found.reason or record.reason,
            "title": found.title or record.title,
            "media_type": found.media_type,
            "language": found.language,
            "published": published,
            "changed": found.changed,
            "text_digest": text_digest,
            "chunks": reading.chunks,
        }
    )


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
    return sorted(path for path in (folder / FOLDER).glob("*.warc.gz") if path.is_file())


def no_damage(message: str) -> None:
    """Handle damage in this program's own archive: raise DigestMismatch."""
    raise DigestMismatch(f"the archive is damaged: {message}; make the snapshot again")
