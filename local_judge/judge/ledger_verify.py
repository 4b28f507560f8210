"""Verification and repair of a ledger: SQLite's own check, and the digest of every row.

Invariant: everything that a read would refuse is reported. Only `remove_damaged` writes, and it leaves a valid ledger.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from local_judge.base.files import partial_of, remove_partials
from local_judge.judge.errors import CorruptReply, LedgerMissing
from local_judge.judge.ledger_calibrations import damaged_calibrations
from local_judge.judge.ledger_database import ANY_TEXT, COLUMNS, Database, Row, delete, pages, transaction
from local_judge.judge.ledger_file import connect, connect_to_read, ledger_errors
from local_judge.judge.ledger_rows import (
    UNASKED,
    DamagedText,
    StoredRequests,
    checked_judge,
    checked_reply,
    checked_text,
    holds,
    is_token_count,
    stored_replies,
)


def ledger_problems(path: Path) -> Iterator[str]:
    """Yield a line for each damaged row of a ledger and for each finding of SQLite.

    Raises:
        LedgerError: There is no ledger, or none of this version, or it cannot be opened.
    """
    connection = connect_to_read(path, must_exist=True)
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
    rebuilt, lost_replies = False, 0
    if not _is_sound(path):
        rebuilt, lost_replies = True, _rebuild(path)
    with ledger_errors(path), closing(connect(path)) as connection, transaction(connection):
        connection.text_factory = ANY_TEXT
        for table, check in (("texts", checked_text), ("judges", checked_judge)):
            bad = [number for number, row in _numbered(connection, table) if not holds(check, *row)]
            delete(connection, table, "rowid", bad)
        stored, asked, lost = StoredRequests(connection), set[Any](), list[int]()
        for page in pages(connection, "requests", "requests.rowid, key"):
            stored.read([key for _, key in page])
            for number, key in page:
                if holds(stored.request, key):
                    asked.add(key)
                else:
                    lost.append(number)
        delete(connection, "requests", "rowid", lost)
        bad = [
            number
            for number, row in _numbered(connection, "replies")
            if row[0] not in asked or not holds(checked_reply, row)
        ]
        delete(connection, "replies", "rowid", bad)
        connection.execute(
            "DELETE FROM failures WHERE NOT EXISTS (SELECT 1 FROM requests WHERE requests.key = failures.key)"
        )
        lost = [number for number, row in _numbered(connection, "token_counts") if not is_token_count(row)]
        delete(connection, "token_counts", "rowid", lost)
        calibrations = 0
        if any(damaged_calibrations(connection)):
            calibrations = connection.execute("DELETE FROM calibrations").rowcount
    return Removed(len(bad) + lost_replies, calibrations, rebuilt)


def _numbered(connection: Database, table: str) -> Iterator[tuple[int, Row]]:
    """Yield the rows of a table, each with its number."""
    for page in pages(connection, table, f"{table}.rowid, {COLUMNS[table]}"):
        yield from ((row[0], row[1:]) for row in page)


def _is_sound(path: Path) -> bool:
    """Check whether SQLite finds no damage in the file."""
    with closing(connect_to_read(path)) as connection:
        try:
            return next(_sqlite(connection), None) is None
        except sqlite3.DatabaseError:
            return False


def _rebuild(path: Path) -> int:
    """Replace a damaged file by a new one with the readable rows; return the number of replies that were left out."""
    lost = 0
    beside = partial_of(path)
    remove_partials(path.parent, path.name)
    beside.unlink(missing_ok=True)
    try:
        with (
            ledger_errors(path),
            closing(connect_to_read(path)) as old,
            closing(connect(beside)) as new,
        ):
            old.text_factory = ANY_TEXT
            with transaction(new):
                for table in _TABLES:
                    for row in _readable(old, table):
                        try:
                            new.insert(table, [row])
                        except (UnicodeEncodeError, sqlite3.IntegrityError):  # altered: matches no digest
                            lost += table == "replies"
        for ending in ("-wal", "-shm"):
            path.with_name(path.name + ending).unlink(missing_ok=True)
        beside.replace(path)
    except OSError as error:
        raise LedgerMissing(
            f"ledger {path}: cannot be rebuilt ({error.strerror}); check path and rights"
        ) from None
    finally:
        beside.unlink(missing_ok=True)
    return lost


_TABLES = ("texts", "judges", "requests", "replies", "failures", "calibrations", "token_counts")


def _readable(connection: Database, table: str) -> Iterator[tuple[Any, ...]]:
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


def _sqlite(connection: Database) -> Iterator[str]:
    for problem in connection.problems():
        yield f"SQLite: {problem}"


def _token_counts(connection: Database) -> Iterator[str]:
    for _, row in _numbered(connection, "token_counts"):
        if not is_token_count(row):
            yield f"token count of {str(row[1])[:12]}: does not match its digest"


def _replies(connection: Database) -> Iterator[str]:
    for reply in stored_replies(connection):
        if isinstance(reply, CorruptReply):
            yield str(reply)
    for (key,) in connection.execute(UNASKED).fetchall():
        yield f"reply {str(key)[:12]}: its request is missing"


def _requests(connection: Database) -> Iterator[str]:
    stored = StoredRequests(connection)
    for page in pages(connection, "requests", "key"):
        stored.read([key for (key,) in page])
        for (key,) in page:
            try:
                stored.request(key)
            except DamagedText as error:
                yield f"request {str(key)[:12]}: {error}"
            except ValueError as error:
                yield str(error)


def _texts(connection: Database) -> Iterator[str]:
    for digest, body in connection.execute("SELECT digest, body FROM texts"):
        try:
            checked_text(digest, body)
        except DamagedText as error:
            yield str(error)


def _judges(connection: Database) -> Iterator[str]:
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
