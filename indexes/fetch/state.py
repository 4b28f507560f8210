"""What a fetch has stored so far.

Invariant: a capture counts as stored once its bytes are on the disk and its address is in the database, in this order;
after a kill at any instant the archive is cut back to the last capture that counts, and no other address is asked for
again.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from types import TracebackType
from typing import Self

from indexes.archive.model import Capture
from indexes.archive.warc import FOLDER, ArchiveWriter, Position, file_name
from indexes.errors import FetchError
from indexes.urls import normalise_url


class FetchState:
    """The archive that is being fetched, and what is in it.

    Args:
        part: holds the archive; one in which a fetch was begun is gone on with.
        database: see `manifest.database_of`.
    """

    def __init__(self, part: Path, database: Path) -> None:
        self._connection = sqlite3.connect(database, isolation_level=None)
        self._connection.execute("PRAGMA synchronous=FULL")
        self._connection.execute(
            "CREATE TABLE IF NOT EXISTS captures (number INTEGER PRIMARY KEY, url TEXT UNIQUE, file TEXT, end INTEGER)"
        )
        last = self._connection.execute(
            "SELECT file, end FROM captures ORDER BY number DESC LIMIT 1"
        ).fetchone()
        begun = (part / FOLDER / file_name(0)).exists()
        if last is not None:
            archived = part / FOLDER / last[0]
            if not archived.exists() or archived.stat().st_size < last[1]:
                raise FetchError(
                    f"{part} is not the archive that {database} tells of; remove both and fetch again"
                )
        start = Position(file_name(0), 0) if begun else None
        self._archive = ArchiveWriter(part / FOLDER, resume=start if last is None else Position(*last))
        self._connection.execute("CREATE TABLE IF NOT EXISTS runs (settings TEXT UNIQUE)")
        self.done: set[str] = {url for (url,) in self._connection.execute("SELECT url FROM captures")}
        """Normalised addresses that have a capture."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._archive.close()
        self._connection.close()

    def note_settings(self, settings: str) -> None:
        """Remember with what settings a run fetches."""
        self._connection.execute("INSERT OR IGNORE INTO runs VALUES (?)", (settings,))

    @property
    def settings(self) -> list[str]:
        """Those of all runs, in order, each once."""
        return [one for (one,) in self._connection.execute("SELECT settings FROM runs ORDER BY rowid")]

    def store(self, capture: Capture) -> None:
        """Keep a capture; committed when this returns."""
        self._archive.write(capture, durable=True)
        url = normalise_url(capture.url)
        self._connection.execute(
            "INSERT INTO captures (url, file, end) VALUES (?,?,?)", (url, *self._archive.position)
        )
        self.done.add(url)
