"""Upkeep of a ledger: its contents, verification, repair, and removal of replies that are no longer needed.

Invariants: everything that a read would refuse is reported. Only `remove_damaged` and `collect` write, each in one
transaction that leaves a valid ledger; a dry run counts the same rows and rolls them back. The file is compacted in
place, not replaced, since a process that has it open would write into the replaced file.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Iterator, Set
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from local_judge.base.files import partial_of, remove_partials
from local_judge.base.model import Frozen
from local_judge.ledger.calibrations import find_damaged_calibrations
from local_judge.ledger.database import ANY_TEXT, COLUMNS, Database, Row, delete, pages, transaction
from local_judge.ledger.errors import CorruptReply, LedgerMissing
from local_judge.ledger.file import connect, connect_to_read, ledger_errors
from local_judge.ledger.rows import (
    UNASKED,
    DamagedText,
    StoredRequests,
    is_token_count,
    passes,
    select_replies,
    verify_judge,
    verify_reply,
    verify_text,
)
from serving.types import EngineIdentity

TABLES = ("replies", "requests", "texts", "failures", "token_counts", "judges", "calibrations")


class JudgeCalls(NamedTuple):
    """Answered calls of one judge and kind of call."""

    judge: str
    """Name of the model."""
    digest: str
    kind: str
    replies: int
    prompt_tokens: int
    completion_tokens: int
    first: str
    """Time of the first reply; UTC, ISO 8601."""
    last: str


class Contents(Frozen):
    """Contents of a ledger."""

    bytes: int
    """Size of the database, without its write-ahead log."""
    free_bytes: int
    """Part of it that is unused, which `gc` releases."""
    rows: dict[str, int]
    """Numbers of rows by table."""
    stored: dict[str, int]
    """Bytes of the rows' contents by table, without indexes and overhead."""
    calls: tuple[JudgeCalls, ...]
    failures: dict[str, int]
    """Failed calls by kind."""


def contents(path: Path) -> Contents:
    """Return what a ledger contains; the rows are counted and not compared with their digests.

    Raises:
        LedgerError: Any of its kinds; the ledger must exist.
    """
    with ledger_errors(path), closing(connect_to_read(path, must_exist=True)) as connection:
        size, free = connection.size()
        calls = connection.execute(_CALLS).fetchall()
        failures = connection.execute("SELECT kind, count(*) FROM failures GROUP BY kind ORDER BY kind")
        return Contents(
            bytes=size,
            free_bytes=free,
            rows={name: _count(connection, name) for name in TABLES},
            stored={name: _stored(connection, name) for name in TABLES},
            calls=tuple(JudgeCalls(_model(identity), *rest) for identity, *rest in calls),
            failures=dict(failures.fetchall()),
        )


_CALLS = """
SELECT identity, judge, kind, count(*), sum(prompt_tokens), sum(completion_tokens), min(created), max(created)
FROM replies JOIN requests USING (key) JOIN judges ON judges.digest = judge GROUP BY identity, judge, kind
ORDER BY judge, kind
"""


class Collected(NamedTuple):
    """Counts of what `collect` removed, and the size of the file."""

    replies: int
    failures: int
    requests: int
    texts: int
    bytes_before: int
    bytes_after: int
    """Equal to `bytes_before` in a dry run."""


def collect(
    path: Path, *, keep: Set[str] | None = None, failures: bool = False, dry_run: bool = False
) -> Collected:
    """Remove replies, and the requests and texts that nothing refers to any more, and compact the file.

    Args:
        path: The ledger.
        keep: Keys of the replies to keep; None for all.
        failures: True to remove the failures, too.
        dry_run: True to count only.

    Raises:
        LedgerError: Any of its kinds; the ledger must exist. Compacting needs as much free disk space as the result.
    """
    connect_to_read(path, must_exist=True).close()
    with ledger_errors(path), closing(connect(path)) as connection:
        before, _ = connection.size()
        with _rolled_back_if(connection, dry_run):
            replies = failed = 0
            if keep is not None:
                _keys(connection, "kept", "SELECT key FROM replies WHERE 1 = 0")
                connection.insert("kept", [(key,) for key in keep])
                replies = _delete(connection, "replies", _without("kept", "replies"))
            if failures:
                failed = _delete(connection, "failures", "1 = 1")
            unused = [_without(table, "requests") for table in ("replies", "failures")]
            requests = _delete(connection, "requests", " AND ".join(unused))
            _keys(connection, "used", _USED)
            texts = _delete(connection, "texts", _without("used", "texts", "digest"))
        if not dry_run:
            connection.compact()
        return Collected(replies, failed, requests, texts, before, connection.size()[0])


_USED = " UNION ".join(
    f"SELECT {name} AS key FROM requests WHERE {name} IS NOT NULL"
    for name in ("system", "shared", "own", "schema")
)


def _keys(connection: Database, name: str, query: str) -> None:
    """Make a temporary table of the different keys that a query returns."""
    connection.execute(f"CREATE TEMP TABLE {name} AS {query}")
    connection.execute(f"CREATE UNIQUE INDEX {name}_keys ON {name} (key)")


def _without(other: str, table: str, column: str = "key") -> str:
    """Return the condition that another table lacks the key of a row."""
    return f"NOT EXISTS (SELECT 1 FROM {other} WHERE {other}.key = {table}.{column})"


class _DryRun(Exception):
    """End of a dry run's transaction."""


@contextmanager
def _rolled_back_if(connection: Database, dry_run: bool) -> Generator[None]:
    try:
        with transaction(connection):
            yield
            if dry_run:
                raise _DryRun
    except _DryRun:
        pass


def _delete(connection: Database, table: str, condition: str) -> int:
    return connection.execute(f"DELETE FROM {table} WHERE {condition}").rowcount


def _count(connection: Database, table: str) -> int:
    return connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]


def _stored(connection: Database, table: str) -> int:
    lengths = " + ".join(f"coalesce(length(CAST({name} AS BLOB)), 0)" for name in COLUMNS[table].split(", "))
    return connection.execute(f"SELECT coalesce(sum({lengths}), 0) FROM {table}").fetchone()[0]


def _model(identity: str) -> str:
    try:
        return EngineIdentity.model_validate_json(identity).model
    except ValueError:
        return "(damaged)"


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
        for table, check in (("texts", verify_text), ("judges", verify_judge)):
            bad = [number for number, row in _numbered(connection, table) if not passes(check, *row)]
            delete(connection, table, "rowid", bad)
        stored, asked, lost = StoredRequests(connection), set[Any](), list[int]()
        for page in pages(connection, "requests", "requests.rowid, key"):
            stored.read([key for _, key in page])
            for number, key in page:
                if passes(stored.request, key):
                    asked.add(key)
                else:
                    lost.append(number)
        delete(connection, "requests", "rowid", lost)
        bad = [
            number
            for number, row in _numbered(connection, "replies")
            if row[0] not in asked or not passes(verify_reply, row)
        ]
        delete(connection, "replies", "rowid", bad)
        connection.execute(
            "DELETE FROM failures WHERE NOT EXISTS (SELECT 1 FROM requests WHERE requests.key = failures.key)"
        )
        lost = [number for number, row in _numbered(connection, "token_counts") if not is_token_count(row)]
        delete(connection, "token_counts", "rowid", lost)
        calibrations = 0
        if any(find_damaged_calibrations(connection)):
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
                for table in COLUMNS:
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
    for reply in select_replies(connection):
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
            verify_text(digest, body)
        except DamagedText as error:
            yield str(error)


def _judges(connection: Database) -> Iterator[str]:
    for digest, identity in connection.execute("SELECT digest, identity FROM judges"):
        try:
            verify_judge(digest, identity)
        except ValueError as error:
            yield str(error)


_CHECKS = {
    "SQLite": _sqlite,
    "replies": _replies,
    "requests": _requests,
    "texts": _texts,
    "judges": _judges,
    "calibrations": find_damaged_calibrations,
    "token_counts": _token_counts,
}
