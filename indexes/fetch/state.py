"""Stored state of a fetch.

Invariant: a capture counts as stored once its bytes are on the disk and its address is in the database, in this order;
after a kill at any instant the archive is cut back to the last capture that counts, and no other address is asked for
again.
"""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from indexes.archive.model import Capture
from indexes.archive.warc import FOLDER, ArchiveWriter, Position, archive_paths, file_name
from indexes.errors import FetchError
from indexes.urls import normalise_url
from local_judge.base.sqlite_files import foreign_journal, foreign_objects

_TABLES = (
    "CREATE TABLE IF NOT EXISTS captures (number INTEGER PRIMARY KEY, url TEXT UNIQUE, file TEXT, end INTEGER)",
    "CREATE TABLE IF NOT EXISTS runs (settings TEXT UNIQUE)",
)


class FetchState:
    """The archive that is being fetched, and what is in it.

    Args:
        part: holds the archive; one in which a fetch was begun is gone on with.
        database: see `manifest.database_of`.

    Raises:
        FetchError: the two do not belong together, or lead to files elsewhere.
    """

    def __init__(self, part: Path, database: Path) -> None:
        _check_own(part, database)
        self._database = database
        self._connection = sqlite3.connect(database, isolation_level=None)
        try:
            self._archive = self._open_archive(part)
            self.done: set[str] = {url for (url,) in self._connection.execute("SELECT url FROM captures")}
            """Normalised addresses that have a capture."""
        except BaseException:
            self._connection.close()
            raise

    def _open_archive(self, part: Path) -> ArchiveWriter:
        """Check that archive and database belong together, and open the archive where the last capture ends."""
        database = self._database
        self._connection.execute("PRAGMA synchronous=FULL")
        for table in _TABLES:
            self._connection.execute(table)
        if odd := foreign_objects(self._connection, ";".join(_TABLES)):
            raise FetchError(
                f"{database}: {odd[0]!r} in it is none of ours; remove it and {part}, and fetch again"
            )
        last = self._connection.execute(
            "SELECT file, end FROM captures ORDER BY number DESC LIMIT 1"
        ).fetchone()
        begun = (part / FOLDER / file_name(0)).exists()
        if last is not None:
            file, end = last
            known = file in {path.name for path in archive_paths(part / FOLDER)} and isinstance(end, int)
            if not known or not 0 <= end <= (part / FOLDER / file).stat().st_size:
                raise FetchError(
                    f"{part} is not the archive that {database} tells of; remove both and fetch again"
                )
        start = Position(file_name(0), 0) if begun else None
        return ArchiveWriter(part / FOLDER, resume=start if last is None else Position(*last))

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
    def settings(self) -> list[Any]:
        """Return the distinct settings of all runs, in order. Raises FetchError if there are none."""
        try:
            rows = self._connection.execute("SELECT settings FROM runs ORDER BY rowid")
            return [json.loads(one) for (one,) in rows]
        except (ValueError, TypeError, RecursionError):
            raise FetchError(
                f"{self._database}: settings that no fetch has; remove it and fetch again"
            ) from None

    def store(self, capture: Capture) -> None:
        """Keep a capture; committed when this returns."""
        self._archive.write(capture, durable=True)
        url = normalise_url(capture.url)
        self._connection.execute(
            "INSERT INTO captures (url, file, end) VALUES (?,?,?)", (url, *self._archive.position)
        )
        self.done.add(url)


def _check_own(part: Path, database: Path) -> None:
    """Refuse what would write or remove files elsewhere: a fetch may have been begun by somebody else."""
    for path in (database, part, part / FOLDER, *archive_paths(part / FOLDER)):
        if path.is_symlink():
            raise FetchError(f"{path}: a link; remove it, or {database} and {part}, and fetch again")
    if journal := foreign_journal(database):
        raise FetchError(
            f"{journal}: it is no file, or names other files, as none of ours does; remove it and fetch again"
        )
