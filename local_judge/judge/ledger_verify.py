"""Everything in a ledger checked: SQLite's own check, and the digest of every row.

Invariant: whatever a read would refuse is named here. Only `remove_damaged` writes.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from local_judge.judge.errors import CorruptReply
from local_judge.judge.ledger_calibrations import damaged_calibrations
from local_judge.judge.ledger_file import connect, connect_to_read, ledger_errors
from local_judge.judge.ledger_rows import checked_judge, checked_reply, rebuilt_request, select_reply
from local_judge.judge.ledger_texts import DamagedText, checked_text


def ledger_problems(path: Path) -> Iterator[str]:
    """What is wrong with the ledger at `path`: a line for each damaged row, and for each finding of SQLite.

    Raises:
        LedgerError: the file is no ledger of this version, or cannot be opened.
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


def remove_damaged(path: Path) -> int:
    """Remove the replies that do not match their digests, and those to requests that cannot be rebuilt.

    The next run asks for them again. Damaged calibrations, and damage to the structure of the file, stay.

    Returns:
        How many replies were removed.

    Raises:
        LedgerError: the file is no ledger of this version, or cannot be opened or written.
    """
    with ledger_errors(path), closing(connect(path)) as connection:
        # Bytes that are no text are read too, and match no digest.
        connection.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")
        connection.execute("BEGIN IMMEDIATE")
        for table, column, check in (("texts", "body", checked_text), ("judges", "identity", checked_judge)):
            rows = connection.execute(f"SELECT rowid, digest, {column} FROM {table}").fetchall()
            _delete(connection, table, [row[0] for row in rows if not _holds(check, *row[1:])])
        requests = connection.execute("SELECT rowid, key FROM requests").fetchall()
        lost = [row for row in requests if not _holds(rebuilt_request, connection, row[1])]
        _delete(connection, "requests", [row[0] for row in lost])
        asked = {row[1] for row in requests} - {row[1] for row in lost}
        rows = connection.execute("SELECT rowid, * FROM replies").fetchall()
        bad = [row[0] for row in rows if row[1] not in asked or not _holds(checked_reply, row[1:])]
        _delete(connection, "replies", bad)
        connection.execute("DELETE FROM failures WHERE key NOT IN (SELECT key FROM requests)")
        connection.execute("COMMIT")
    return len(bad)


def _holds(check: Callable[..., object], *given: Any) -> bool:
    try:
        check(*given)
    except (CorruptReply, ValueError, TypeError):
        return False
    return True


def _delete(connection: sqlite3.Connection, table: str, rows: list[int]) -> None:
    connection.executemany(f"DELETE FROM {table} WHERE rowid=?", [(row,) for row in rows])


def _sqlite(connection: sqlite3.Connection) -> Iterator[str]:
    for (problem,) in connection.execute("PRAGMA integrity_check"):
        for line in str(problem).splitlines():
            if line != "ok":
                yield f"SQLite: {line}"


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
    for key in _keys(connection, "requests"):
        try:
            rebuilt_request(connection, key)
        except DamagedText as error:
            yield f"request {key[:12]}: {error}"
        except ValueError as error:
            yield str(error)


def _keys(connection: sqlite3.Connection, table: str) -> list[str]:
    return [str(key) for (key,) in connection.execute(f"SELECT key FROM {table} ORDER BY rowid").fetchall()]


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
}
