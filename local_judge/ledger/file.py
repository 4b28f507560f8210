"""SQLite file of a ledger: connections, tables and errors.

Invariant: a file is written only if it is empty or a ledger of this version; any other file is refused with one line
and left unchanged.

Durability: WAL with `synchronous=NORMAL`. Every commit survives the death of the process at any time
(SIGKILL, out of memory). A power failure or kernel crash may lose the commits since the last checkpoint,
but not the file's consistency; lost calls are made again.
"""

from __future__ import annotations

import os
import re
import sqlite3
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from local_judge.base.sqlite_files import foreign_journal, foreign_objects
from local_judge.ledger.database import TABLES, TOKEN_COUNTS, Database, transaction
from local_judge.ledger.errors import LedgerBusy, LedgerCorrupt, LedgerError, LedgerForeign, LedgerMissing

APPLICATION_ID = 0x4C4A4C47
"""`LJLG` in the header of the file, by which `file` and readers recognise a ledger."""

VERSION = 2

BUSY_SECONDS = 30.0
"""Seconds that one process waits for another's write."""

_URL = re.compile(r"(?:^|/)([A-Za-z][\w+.-]+):/")

_SHOWN = 200
"""Maximum characters of SQLite's message, which may quote a reply."""


@contextmanager
def ledger_errors(path: Path) -> Generator[None]:
    """Turn SQLite's errors into one line with the path and the remedy."""
    try:
        yield
    except sqlite3.OperationalError as error:
        text = str(error)
        if "locked" in text or "busy" in text:
            raise LedgerBusy(
                f"ledger {path}: another process held it for {BUSY_SECONDS:g} s; "
                "wait for it or use another ledger"
            ) from error
        if "unable to open" in text or "readonly" in text:
            raise LedgerMissing(
                f"ledger {path}: cannot be opened or written ({text}); check path and rights"
            ) from error
        if "full" in text:
            raise LedgerError(
                f"ledger {path}: the disk is full; free space and run the same command again"
            ) from error
        if "disk I/O" in text:
            raise LedgerError(
                f"ledger {path}: cannot be read or written ({text}); check the disk, the room on it, and the limit of "
                "file sizes (ulimit -f)"
            ) from error
        if "no such table" in text or "no such column" in text or "decode" in text:
            raise damage_error(path, text) from error
        raise LedgerError(f"ledger {path}: {text}") from error
    except sqlite3.DatabaseError as error:
        text = str(error)
        if "not a database" in text:
            raise _foreign(path) from error
        if "malformed" in text:
            raise damage_error(path, text) from error
        raise LedgerError(f"ledger {path}: {text}") from error


def damage_error(path: Path, what: str) -> LedgerCorrupt:
    """Return the error that describes the damage and names the command that lists it."""
    return LedgerCorrupt(
        f"ledger {path}: damaged ({what[:_SHOWN]}); `local-judge ledger verify {path} --remove` keeps what is whole; "
        "if nothing can be read, restore it from a copy, or move it away to have all asked again"
    )


def connect(path: Path) -> Database:
    """Return a connection for writing; the file is created, or checked to be a ledger of this version.

    Raises:
        LedgerError: Any of its kinds.
    """
    _refuse_url(path)
    with ledger_errors(path):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise LedgerMissing(
                f"ledger {path}: its folder cannot be made ({error.strerror}); check path and rights"
            ) from error
        _check_files(path)
        connection = sqlite3.connect(
            path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False, factory=Database
        )
        try:
            if not _is_ledger(connection, path):
                _use_wal(connection)
                _create(connection, path)
            _use_wal(connection)
            connection.execute("PRAGMA synchronous=NORMAL")
            _add_token_counts(connection)
        except BaseException:
            connection.close()
            raise
    return connection


def _empty() -> Database:
    """Return a connection to an empty ledger in memory."""
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False, factory=Database)
    connection.executescript(TABLES)
    return connection


def connect_to_read(path: Path, *, must_exist: bool = False) -> Database:
    """Return a connection for reading; a missing file reads as an empty ledger unless it must exist.

    Raises:
        LedgerMissing: There is no such file, and `must_exist` is True.
        LedgerError: Any other of its kinds.
    """
    _refuse_url(path)
    with ledger_errors(path):
        if not path.exists():
            if must_exist:
                raise LedgerMissing(f"ledger {path}: no such file")
            return _empty()
        _check_files(path)
        uri = path.resolve().as_uri() + "?mode=ro"
        beside = path.resolve().with_name(f"{path.resolve().name}-wal")
        if not os.access(beside.parent, os.W_OK) and not beside.exists():
            uri += "&immutable=1"  # otherwise SQLite would create the files of the write-ahead log
        connection = sqlite3.connect(
            uri,
            uri=True,
            timeout=BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
            factory=Database,
        )
        try:
            if not _is_ledger(connection, path):
                raise _foreign(path)
            _add_token_counts(connection, "TEMP TABLE")
        except BaseException:
            connection.close()
            raise
    return connection


def _refuse_url(path: Path) -> None:
    """Refuse a URL, without its text, which may contain a password.

    Raises:
        LedgerMissing: The path begins as a URL does, or ends in one that was joined to a folder.
    """
    if found := _URL.search(str(path)):
        raise LedgerMissing(f"ledger {found[1]}:...: a ledger is a file; give the path of one")


def _check_files(path: Path) -> None:
    """Refuse anything that is not a regular file, and a journal beside it that refers to another file.

    Raises:
        LedgerForeign: It is no file, or there is such a journal.
    """
    if path.is_symlink() and not path.exists():
        raise LedgerForeign(
            f"ledger {path}: a link to a file that is not there; remove it or name another path"
        )
    if path.is_dir():
        raise LedgerMissing(f"ledger {path}: cannot be opened: it is a folder; name a file")
    if path.exists() and not path.is_file():
        raise _foreign(path)
    if journal := foreign_journal(path):
        raise LedgerForeign(
            f"ledger {path}: {journal.name} beside it is no file, or names other files, as none of ours does; remove it"
        )


def _foreign(path: Path) -> LedgerForeign:
    return LedgerForeign(f"ledger {path}: this file is not a ledger; name another path")


def _is_ledger(connection: sqlite3.Connection, path: Path) -> bool:
    """Check whether the file is a ledger of this version (True) or empty (False).

    Raises:
        LedgerForeign: It is something else.
    """
    # In one statement, since another process may create the tables between two.
    application, version, tables = connection.execute(
        "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_master) "
        "FROM pragma_application_id, pragma_user_version"
    ).fetchone()
    if application == APPLICATION_ID and version == VERSION:
        _check_tables(connection, path)
        return True
    if application == APPLICATION_ID:
        raise LedgerForeign(
            f"ledger {path}: format version {version}, but this program reads {VERSION}; name another file, or "
            "use the program's version that wrote it"
        )
    if tables or application or version:
        raise _foreign(path)
    return False


def _check_tables(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse objects such as triggers and views, which SQLite would run, or which would prevent storing a reply.

    Raises:
        LedgerForeign: The file contains anything but the ledger's tables and indexes.
    """
    if names := foreign_objects(connection, TABLES):
        raise LedgerForeign(
            f"ledger {path}: {', '.join(map(repr, names[:3]))} in it is not as this program makes it; name another path"
        )


def _use_wal(connection: sqlite3.Connection) -> None:
    # Changing the journal mode does not wait for locks as ordinary statements do.
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _add_token_counts(connection: sqlite3.Connection, kind: str = "TABLE") -> None:
    """Make the table of token counts, which older ledgers of this version do not have."""
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name='token_counts'").fetchone() is None:
        connection.execute(TOKEN_COUNTS.replace("TABLE", f"{kind} IF NOT EXISTS", 1))


def _create(connection: Database, path: Path) -> None:
    with transaction(connection):
        if not _is_ledger(connection, path):  # another process may have created it since
            for statement in TABLES.split(";\n"):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version={VERSION}")
