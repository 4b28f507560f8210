"""Verification and repair of a ledger: SQLite's own check, and the digest of every row.

Invariant: everything that a read would refuse is reported. Only `remove_damaged` writes, and it leaves a valid ledger.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from local_judge.judge.errors import CorruptReply, LedgerMissing
from local_judge.judge.ledger_calibrations import damaged_calibrations
from local_judge.judge.ledger_database import ANY_TEXT, insert, transaction
from local_judge.judge.ledger_file import connect, connect_to_read, ledger_errors
from local_judge.judge.ledger_rows import (
    DamagedText,
    checked_judge,
    checked_reply,
    checked_text,
    holds,
    read_text,
    rebuilt_request,
    select_reply,
    select_token_count,
)


def ledger_problems(path: Path) -> Iterator[str]:
    """Yield a line for each damaged row of a ledger and for each finding of SQLite.

    Raises:
        LedgerError: The file is no ledger of this version, or cannot be opened.
    """
    connection = connect_to_read(path)
    try:
        for name, check in _CHECKS.items():
            try:
                yield from check(connection)
            except sqlite3.DatabaseError as error:
                yield f"{name}: cannot be read to its end ({error})"
    finally:
        connection.close()


class Removed(NamedTuple):
    """Counts of the rows that `remove_damaged` removed."""

    replies: int
    """Replies that could be read and did not match; the content of unreadable pages is unknown."""
    calibrations: int
    rebuilt: bool
    """True if the file was damaged and was rebuilt from the readable rows."""


def remove_damaged(path: Path) -> Removed:
    """Remove the replies that do not match their digests, and the replies to damaged requests.

    The next run requests them again. If one calibration is damaged, all are removed. A file that SQLite finds damaged
    is rebuilt from the readable rows; no other process may use it meanwhile.

    Raises:
        LedgerError: The file is no ledger of this version, cannot be opened or written, or is entirely unreadable.
    """
    rebuilt = not _is_sound(path)
    if rebuilt:
        _rebuild(path)
    with ledger_errors(path), closing(connect(path)) as connection, transaction(connection):
        connection.text_factory = ANY_TEXT
        for table, column, check in (("texts", "body", checked_text), ("judges", "identity", checked_judge)):
            rows = connection.execute(f"SELECT rowid, digest, {column} FROM {table}").fetchall()
            _delete(connection, table, [row[0] for row in rows if not holds(check, *row[1:])])
        requests = connection.execute("SELECT rowid, key FROM requests ORDER BY shared, rowid").fetchall()
        text_of = _texts_once(connection)
        lost = [row for row in requests if not holds(rebuilt_request, connection, row[1], text_of)]
        _delete(connection, "requests", [row[0] for row in lost])
        asked = {row[1] for row in requests} - {row[1] for row in lost}
        rows = connection.execute("SELECT rowid, * FROM replies").fetchall()
        bad = [row[0] for row in rows if row[1] not in asked or not holds(checked_reply, row[1:])]
        _delete(connection, "replies", bad)
        connection.execute("DELETE FROM failures WHERE key NOT IN (SELECT key FROM requests)")
        counts = connection.execute("SELECT rowid, judge, messages FROM token_counts").fetchall()
        lost = [row[0] for row in counts if select_token_count(connection, *row[1:]) is None]
        _delete(connection, "token_counts", lost)
        calibrations = 0
        if any(damaged_calibrations(connection)):
            calibrations = connection.execute("DELETE FROM calibrations").rowcount
    return Removed(len(bad), calibrations, rebuilt)


def _is_sound(path: Path) -> bool:
    """Check whether SQLite finds no damage in the file."""
    with closing(connect_to_read(path)) as connection:
        try:
            return next(_sqlite(connection), None) is None
        except sqlite3.DatabaseError:
            return False


def _rebuild(path: Path) -> None:
    """Replace a damaged file by a new one with all readable rows."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.partial")
    beside.unlink(missing_ok=True)
    try:
        with ledger_errors(path), closing(connect_to_read(path)) as old, closing(connect(beside)) as new:
            old.text_factory = ANY_TEXT
            with transaction(new):
                for table in _TABLES:
                    for row in _readable(old, table):
                        with contextlib.suppress(UnicodeEncodeError):  # altered: matches no digest
                            insert(new, table, [row])
        for ending in ("-wal", "-shm"):
            path.with_name(path.name + ending).unlink(missing_ok=True)
        beside.replace(path)
    except OSError as error:
        raise LedgerMissing(
            f"ledger {path}: cannot be rebuilt ({error.strerror}); check path and rights"
        ) from None
    finally:
        beside.unlink(missing_ok=True)


_TABLES = ("texts", "judges", "requests", "replies", "failures", "calibrations", "token_counts")


def _readable(connection: sqlite3.Connection, table: str) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a table before its first damaged page, and those after its last."""
    seen: set[int] = set()
    for order in ("ASC", "DESC"):
        try:
            for number, *row in connection.execute(f"SELECT rowid, * FROM {table} ORDER BY rowid {order}"):
                if number not in seen:
                    seen.add(number)
                    yield tuple(row)
            return
        except sqlite3.DatabaseError:
            continue


def _delete(connection: sqlite3.Connection, table: str, rows: list[int]) -> None:
    connection.executemany(f"DELETE FROM {table} WHERE rowid=?", [(row,) for row in rows])


def _sqlite(connection: sqlite3.Connection) -> Iterator[str]:
    for (problem,) in connection.execute("PRAGMA integrity_check"):
        for line in str(problem).splitlines():
            if line != "ok":
                yield f"SQLite: {line}"


def _token_counts(connection: sqlite3.Connection) -> Iterator[str]:
    for judge, messages in connection.execute("SELECT judge, messages FROM token_counts ORDER BY rowid"):
        if select_token_count(connection, judge, messages) is None:
            yield f"token count of {str(messages)[:12]}: does not match its digest"


def _replies(connection: sqlite3.Connection) -> Iterator[str]:
    for key in _keys(connection, "replies"):
        try:
            if select_reply(connection, key) is None:
                yield f"reply {key[:12]}: not found under its key"
        except CorruptReply as error:
            yield str(error)
    without = "SELECT key FROM replies WHERE key NOT IN (SELECT key FROM requests) ORDER BY key"
    for (key,) in connection.execute(without).fetchall():
        yield f"reply {str(key)[:12]}: its request is missing"


def _requests(connection: sqlite3.Connection) -> Iterator[str]:
    text_of = _texts_once(connection)
    for key in _keys(connection, "requests", "shared, rowid"):
        try:
            rebuilt_request(connection, key, text_of)
        except DamagedText as error:
            yield f"request {key[:12]}: {error}"
        except ValueError as error:
            yield str(error)


def _texts_once(connection: sqlite3.Connection) -> Callable[[bytes], str]:
    """Return a cached reader of texts, so that a text shared by consecutive requests is decompressed and hashed once.

    The cache has room for the texts of one request: system, shared and own part, and schema.
    """
    return lru_cache(maxsize=4)(partial(read_text, connection))


def _keys(connection: sqlite3.Connection, table: str, order: str = "rowid") -> list[str]:
    return [str(key) for (key,) in connection.execute(f"SELECT key FROM {table} ORDER BY {order}").fetchall()]


def _texts(connection: sqlite3.Connection) -> Iterator[str]:
    for digest, body in connection.execute("SELECT digest, body FROM texts"):
        try:
            checked_text(digest, body)
        except DamagedText as error:
            yield str(error)


def _judges(connection: sqlite3.Connection) -> Iterator[str]:
    for digest, identity in connection.execute("SELECT digest, identity FROM judges"):
        try:
            checked_judge(digest, identity)
        except ValueError as error:
            yield str(error)


_CHECKS = {
    "SQLite": _sqlite,
    "replies": _replies,
    "requests": _requests,
    "texts": _texts,
    "judges": _judges,
    "calibrations": damaged_calibrations,
    "token_counts": _token_counts,
}
