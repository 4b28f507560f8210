"""Temporary storage on disk for building a snapshot: accepts pages in any order, returns them in one order.

Invariant: memory does not grow with the number of pages, and what comes out depends on what went in and not on the
order in which it came.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from indexes.manifest import sha256
from indexes.records import PageRecord
from indexes.text.extracting import Reading

_TABLES = """
CREATE TABLE pages (url TEXT, fetched TEXT, raw TEXT, status TEXT, original TEXT, record TEXT);
CREATE TABLE texts (digest TEXT PRIMARY KEY, offset INTEGER, size INTEGER) WITHOUT ROWID;
CREATE TABLE lines (line TEXT);
CREATE TABLE readings (content TEXT PRIMARY KEY, reading TEXT, text TEXT) WITHOUT ROWID;
"""
_ORDER = "CREATE INDEX pages_by_url ON pages (url, fetched, raw, status, original, record)"


class Spool:
    """A scratch database and a scratch file of texts, both in `folder`; removed by `close`."""

    def __init__(self, folder: Path) -> None:
        self._database = folder / "spool.db"
        self._texts_path = folder / "spool.texts"
        self._connection = sqlite3.connect(self._database, isolation_level=None)
        self._connection.executescript("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;" + _TABLES)
        self._connection.execute("BEGIN")
        self._texts = self._texts_path.open("w+b")
        self._size = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release and remove the files. Idempotent."""
        self._connection.close()
        self._texts.close()
        self._database.unlink(missing_ok=True)
        self._texts_path.unlink(missing_ok=True)

    def add_page(self, record: PageRecord) -> None:
        """Take a record, without offset and size."""
        self._connection.execute(
            "INSERT INTO pages VALUES (?,?,?,?,?,?)",
            (
                record.url,
                record.fetched or "",
                record.raw_digest,
                record.status,
                record.original_url,
                record.model_dump_json(),
            ),
        )

    def add_text(self, text: str) -> str:
        """Keep a text once; its digest, '' for an empty one."""
        if not text:
            return ""
        data = text.encode()
        digest = sha256(data)
        added = self._connection.execute(
            "INSERT OR IGNORE INTO texts VALUES (?,?,?)", (digest, self._size, len(data))
        )
        if added.rowcount:
            self._texts.write(data)
            self._size += len(data)
        return digest

    def is_new(self, content: str) -> bool:
        """Check whether this is the first page with that content; others can reuse its reading."""
        added = self._connection.execute("INSERT OR IGNORE INTO readings VALUES (?,'','')", (content,))
        return bool(added.rowcount)

    def add_reading(self, content: str, reading: Reading, text_digest: str) -> None:
        """Keep what was read of the first page with that content. Its text was added before."""
        bare = reading.model_copy(update={"extracted": reading.extracted.model_copy(update={"text": ""})})
        self._connection.execute(
            "UPDATE readings SET reading=?, text=? WHERE content=?",
            (bare.model_dump_json(), text_digest, content),
        )

    def reading(self, content: str) -> tuple[Reading, str]:
        """Return the reading that `add_reading` stored, without its text, and the text's digest."""
        query = "SELECT reading, text FROM readings WHERE content=?"
        reading, text_digest = self._connection.execute(query, (content,)).fetchone()
        return Reading.model_validate_json(reading), text_digest

    def add_line(self, line: str) -> None:
        """Take a line of the archive's index."""
        self._connection.execute("INSERT INTO lines VALUES (?)", (line,))

    def lines(self) -> Iterator[str]:
        """The lines in order of their bytes, each once."""
        for (line,) in self._connection.execute("SELECT DISTINCT line FROM lines ORDER BY line"):
            yield line

    def pages(self) -> Iterator[tuple[PageRecord, bytes]]:
        """The records in order of URL, time and content, and their texts.

        Captures of one URL and time with the same bytes and status are one: that with the first original URL. One
        without a time adds nothing to one that has a time and is the same besides.
        """
        self._connection.execute("COMMIT")
        self._connection.execute(_ORDER)
        before: tuple[str, ...] = ()
        query = (
            "SELECT url, fetched, raw, status, record FROM pages AS one WHERE NOT (fetched = '' AND EXISTS ("
            "SELECT 1 FROM pages WHERE url = one.url AND raw = one.raw AND status = one.status AND fetched <> ''"
            ")) ORDER BY url, fetched, raw, status, original, record"
        )
        for *key, row in self._connection.execute(query):
            if tuple(key) != before:
                before = tuple(key)
                record = PageRecord.model_validate_json(row)
                yield record, self._text(record.text_digest)

    def _text(self, digest: str) -> bytes:
        if not digest:
            return b""
        offset, size = self._connection.execute(
            "SELECT offset, size FROM texts WHERE digest=?", (digest,)
        ).fetchone()
        self._texts.seek(offset, os.SEEK_SET)
        data = self._texts.read(size)
        self._texts.seek(0, os.SEEK_END)
        return data
