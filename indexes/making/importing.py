"""Pages that are there already, as files or in archives, made into a snapshot.

Invariant: the snapshot is a function of the pages and their list. Not of the order of lines, the number of
processes, or the time.

In a page list, URLs that are equal after normalisation: the same bytes with the same status are one page, which keeps
the first original URL; different ones are two captures if each says when it was fetched, at different times, and are
refused otherwise, both lines named. A `final_url` that leads to one page is another name of that page; one that leads
to several pages with different bytes is a name of none.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import closing
from itertools import chain
from operator import attrgetter
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from indexes.archive.captures import Warn, read_captures
from indexes.archive.model import Capture, Imported, Outcome
from indexes.archive.wacz import NO_DEMANDS, Trust, open_archives
from indexes.archive.warc import FOLDER, ArchiveWriter
from indexes.errors import ImportRefused
from indexes.limits import MAX_PAGE_BYTES, GzipRefused, gunzip, is_gzip
from indexes.making.building import Progress, archive_files, build, no_damage
from indexes.making.pagelist import PageEntry, read_page_list
from indexes.making.staging import publish, stage
from indexes.manifest import Manifest, sha256
from indexes.model import FoundBy
from indexes.snapshot import Snapshot
from indexes.text.decode import MEDIA_TYPES, Kind
from indexes.urls import normalise_url
from indexes.websearch import SEARCHES, merged_searches
from local_judge.base.files import read_file

_KINDS: dict[str, Kind] = {
    ".html": "html",
    ".htm": "html",
    ".pdf": "pdf",
    ".md": "markdown",
    ".txt": "text",
    ".json": "json",
}


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
    folder = Path(folder)
    listed = pages or folder / "pages.jsonl"
    total = sum(1 for _ in read_page_list(listed, folder))

    def captures() -> Iterator[Capture]:
        with closing(_Seen()) as seen:
            for entry in read_page_list(listed, folder):
                capture = _capture(entry, folder.resolve())
                seen.check(entry, capture)
                yield capture

    return make(captures, out, progress=progress, total=total, workers=workers)


def import_archives(
    files: Sequence[Path],
    out: Path,
    *,
    warn: Warn,
    progress: Progress | None = None,
    workers: int = 1,
    trust: Trust = NO_DEMANDS,
) -> Manifest:
    """Make a snapshot of WARC files (`.warc`, `.warc.gz`) and WACZ files, of this package or of other tools.

    Args:
        files: read in this order.
        out: as in `import_pages`.
        warn: told, in one line each, what was damaged and what was left out.
        progress: as in `import_pages`.
        workers: as in `import_pages`.
        trust: which signatures WACZ files must have; one that is there is verified in any case.

    Raises:
        ImportRefused: a file that is neither, altered, or not signed as `trust` asks; or nothing in the files that can
            be a page.
        MissingExtra: signatures are asked for and cryptography is not installed.
        SnapshotExists: `out` is there and is something else.
    """
    found = 0

    def captures() -> Iterator[Capture]:
        nonlocal found
        for path in files:
            with open_archives(path, warn, trust) as archive:
                for stored in read_captures(archive.warcs, warn, only=archive.pages):
                    found += 1
                    yield stored.capture
        if not found:
            raise ImportRefused(f"{', '.join(map(str, files))}: no page in it; is it a WARC or WACZ file?")

    return make(captures, out, progress=progress, total=None, workers=workers)


def make(
    captures: Callable[[], Iterator[Capture]],
    out: Path,
    *,
    progress: Progress | None,
    total: int | None,
    workers: int,
    notes: Mapping[str, str] | None = None,
) -> Manifest:
    """Write captures to an archive and make it the snapshot at `out`. Raises as `import_pages` does."""
    out = Path(out)
    with stage(out) as part:
        count = 0
        with ArchiveWriter(part / FOLDER) as archive:
            for capture in captures():
                archive.write(capture)
                count += 1
        total = count if total is None else total
        manifest = build(part, progress=progress, total=total, workers=workers, notes=notes)
        publish(part, out, manifest)
    return manifest


def _capture(entry: PageEntry, root: Path) -> Capture:
    """Return the capture for one line of a page list."""
    outcome: Outcome = "page" if entry.status in ("ok", "not_in_snapshot") else entry.status
    reason, imported = entry.reason, None
    if entry.text is not None:
        imported = _read_entry(entry, entry.text.encode("utf-8", "replace"), "page.txt")
    elif entry.file is not None:
        path = root / entry.file
        size = path.stat().st_size
        try:
            if size > MAX_PAGE_BYTES:
                raise GzipRefused(f"the file has {size:,} bytes, more than {MAX_PAGE_BYTES:,}")
            data = read_file(path, MAX_PAGE_BYTES)
            imported = _read_entry(entry, gunzip(data) if is_gzip(data) else data, entry.file)
        except GzipRefused as error:
            outcome, reason = "unsupported_type", str(error)
    return Capture(
        url=entry.original_url, fetched=entry.fetched, outcome=outcome, reason=reason, imported=imported
    )


def _read_entry(entry: PageEntry, data: bytes, name: str) -> Imported:
    suffix = PurePosixPath(name.lower().removesuffix(".gz")).suffix
    kind = _KINDS.get(suffix)
    return Imported(
        url=entry.final_url or entry.original_url,
        data=data,
        media_type=MEDIA_TYPES[kind] if kind is not None else "application/octet-stream",
        name=f"page{suffix}",
        title=entry.title if entry.text is not None else "",
    )


class _Seen:
    """The lines so far, in a scratch database of SQLite's own, so that memory does not grow with their number."""

    def __init__(self) -> None:
        self._connection = sqlite3.connect("")
        self._connection.execute("CREATE TABLE seen (url TEXT, fetched TEXT, content TEXT, line INTEGER)")
        self._connection.execute("CREATE INDEX by_url ON seen (url, fetched, content)")

    def check(self, entry: PageEntry, capture: Capture) -> None:
        """Remember a line. Raises ImportRefused if it contradicts an earlier one."""
        data = b"" if capture.imported is None else capture.imported.data
        content = f"{capture.outcome} {sha256(data)}"
        same = "SELECT 1 FROM seen WHERE url=? AND fetched IS ? AND content=?"
        if self._connection.execute(same, (entry.url, entry.fetched, content)).fetchone():
            return  # compared when it came first; a list of one line, many times, takes no longer for it
        query = "SELECT min(line) FROM seen WHERE url=? AND content<>?"
        values = [entry.url, content]
        if entry.fetched is not None:
            query += " AND (fetched IS NULL OR fetched=?)"
            values.append(entry.fetched)
        [line] = self._connection.execute(query, values).fetchone()
        if line is not None:
            raise ImportRefused(
                f"lines {line} and {entry.line} of the page list give different pages for {entry.url}; "
                f"keep one of them, or say of both when they were fetched"
            )
        row = (entry.url, entry.fetched, content, entry.line)
        self._connection.execute("INSERT INTO seen VALUES (?,?,?,?)", row)

    def close(self) -> None:
        """Release the database."""
        self._connection.close()


def merge_snapshots(
    snapshots: Sequence[Path],
    out: Path,
    *,
    progress: Progress | None = None,
    workers: int = 1,
) -> Manifest:
    """Make one snapshot of the captures of several; the order in which they are given changes no page.

    A capture that several of them hold is one page, with the web searches of all of them. The merged snapshot holds the
    searches too.

    Args:
        snapshots: directories of snapshots.
        out: as in `import_pages`.
        progress: as in `import_pages`.
        workers: as in `import_pages`.

    Raises:
        SnapshotError: one of them cannot be opened, or its archive is damaged.
        SnapshotExists: `out` is there and is something else.
        ImportRefused: the searches of one of them cannot be read.
    """
    opened = [Snapshot.open(path) for path in snapshots]
    found_by: dict[_Identity, set[tuple[FoundBy, ...]]] = {}
    for record in (record for snapshot in opened for record in snapshot.records() if record.found_by):
        found_by.setdefault(_Identity(record.url, record.fetched, record.answers), set()).add(record.found_by)

    def captures() -> Iterator[Capture]:
        with closing(sqlite3.connect("")) as seen:  # on disk, like `_Seen`
            seen.execute("CREATE TABLE seen (capture TEXT PRIMARY KEY)")
            for path, snapshot in zip(snapshots, opened, strict=True):
                files = archive_files(path)
                # A file that the manifest lacks, or has with another digest, brings no page in.
                for file in files:
                    snapshot.check_file(f"{FOLDER}/{file.name}")
                for stored in read_captures(files, no_damage):
                    one = stored.capture
                    key = repr((one.url, one.fetched, one.outcome, one.reason, stored.answers))
                    if seen.execute("INSERT OR IGNORE INTO seen VALUES (?)", (key,)).rowcount:
                        identity = _Identity(normalise_url(one.url), one.fetched, stored.answers)
                        yield one.model_copy(
                            update={"found_by": _merge_found_by(found_by.get(identity, set()))}
                        )

    searched = [
        snapshot for snapshot in opened if any(file.path == SEARCHES for file in snapshot.manifest.files)
    ]
    for snapshot in searched:
        snapshot.check_file(SEARCHES)
    searches = merged_searches(snapshot.path / SEARCHES for snapshot in searched)
    return make(
        captures,
        out,
        progress=progress,
        total=sum(map(len, opened)),
        workers=workers,
        notes={SEARCHES: searches} if searches else None,
    )


class _Identity(NamedTuple):
    """Key of a capture, whatever searches named it."""

    url: str
    fetched: str | None
    answers: tuple[str, ...]


def _merge_found_by(found_by: Set[tuple[FoundBy, ...]]) -> tuple[FoundBy, ...]:
    """Return the searches of one capture in several snapshots: as they are if all have the same, else by time."""
    if len(found_by) == 1:
        return next(iter(found_by))
    every = set(chain.from_iterable(found_by))
    return tuple(sorted(every, key=attrgetter("at", "query", "rank", "engines")))
