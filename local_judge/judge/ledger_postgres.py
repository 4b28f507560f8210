r"""PostgreSQL database of a ledger, in the schema `local_judge`: the tables of the SQLite file, with a column `rowid`.

Invariants: a transaction is on the server's disk when `commit` returns (`synchronous_commit` is on, whatever the
server's default). Writers take turns, as with SQLite, so that rows become visible in the order of `rowid`. A statement
is parsed apart from its parameters.

PostgreSQL's text cannot contain U+0000: it is stored as U+0001 U+0003, and U+0001 as U+0001 U+0002.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import count
from typing import Any, ClassVar, Self

from local_judge.judge.errors import LedgerUnreachable
from local_judge.judge.ledger_place import PostgresUrl
from local_judge.judge.ledger_session import Session
from local_judge.ledger.database import COLUMNS, Database, Row
from local_judge.ledger.errors import LedgerError, LedgerForeign, LedgerMissing
from local_judge.ledger.file import TABLES, VERSION, empty
from local_judge.ledger.rows import packed

_LOCK = 0x4C4A4C47
"""Number of the advisory lock that a writer holds during a transaction."""

_INSERTED_VALUES = 30_000
"""Maximum number of values in one insertion; the protocol's limit is 65,535."""

_INSERTED_CHARACTERS = 64 << 20
"""Number of characters after which an insertion is divided."""

_FETCHED = 1000
"""Rows that `stream` reads at once."""

_ESCAPES = {"\0": "\x01\x03", "\x01": "\x01\x02"}
_ESCAPED = {escape: character for character, escape in _ESCAPES.items()}


class _Result:
    """Rows of a statement, which are all in memory."""

    def __init__(self, rows: Iterable[Sequence[Any]], changed: int) -> None:
        self.rowcount = changed
        self._rows = iter([tuple(map(_plain, row)) for row in rows])

    def fetchone(self) -> Any:
        return next(self._rows, None)

    def fetchall(self) -> list[Any]:
        return list(self._rows)

    def __iter__(self) -> Iterator[Any]:
        return self._rows


class PostgresDatabase:
    """Connection to a ledger in PostgreSQL; it connects again once if the connection is lost between transactions."""

    REMOTE: ClassVar[bool] = True
    BYTES_OF: ClassVar[str] = "pg_column_size({})"
    text_factory: Any = str

    def __init__(self, url: PostgresUrl, read_only: bool) -> None:
        self._url = url
        self._session = Session(url, read_only)
        self._in_transaction = False
        self._closed = False
        self._streams = count(1)
        self._lock = threading.RLock()

    @classmethod
    def open(cls, url: PostgresUrl) -> Self:
        """Open a ledger for writing; its tables are created if they are missing."""
        database = cls(url, read_only=False)
        try:
            database._create()
        except BaseException:
            database.close()
            raise
        return database

    @classmethod
    def open_to_read(cls, url: PostgresUrl, must_exist: bool = False) -> Database:
        """Open a ledger for reading; a database without one reads as an empty ledger.

        Raises:
            LedgerMissing: The database has no ledger, and `must_exist` is True.
        """
        database = cls(url, read_only=True)
        try:
            if database._is_ledger():
                return database
        except BaseException:
            database.close()
            raise
        database.close()
        if must_exist:
            raise LedgerMissing(f"ledger {url}: this database has no ledger; check its name")
        return empty()

    def execute(self, sql: str, parameters: Sequence[Any] = (), /) -> _Result:
        """See `Database`."""
        return self._execute(sql, parameters, self._in_transaction)

    def _execute(self, sql: str, parameters: Sequence[Any], bound: bool) -> _Result:
        """Run a statement, which needs the present connection if it is `bound`."""
        values = [_sent(value) for value in parameters]
        with self._lock:
            if self._closed:  # by another thread: a read must not connect again
                raise LedgerError(f"ledger {self._url}: closed; open it again")
            fresh = not self._session.is_open
            if fresh and bound:
                raise self._session.unreachable("the connection was lost")
            try:
                found = self._session.run(sql, values)
            except LedgerUnreachable:
                self._session.close()
                if fresh or bound:
                    raise
                found = self._session.run(sql, values)
        return _Result(found.rows or (), found.row_count)

    def stream(self, sql: str, parameters: Sequence[Any] = ()) -> Iterator[Any]:
        """See `Database`."""
        name = f"stream_{next(self._streams)}"
        self.execute(f"DECLARE {name} NO SCROLL CURSOR WITH HOLD FOR {sql}", parameters)
        try:
            while rows := self._execute(f"FETCH {_FETCHED} FROM {name}", (), bound=True).fetchall():
                yield from rows
        finally:
            with suppress(LedgerError):
                self._execute(f"CLOSE {name}", (), bound=True)

    def begin(self) -> None:
        """See `Database`."""
        self.execute("BEGIN")
        self._in_transaction = True
        try:
            self.execute(f"SELECT pg_advisory_xact_lock({_LOCK})")
        except BaseException:
            self.rollback()
            raise

    def commit(self) -> None:
        """See `Database`."""
        self.execute("COMMIT")
        self._in_transaction = False

    def rollback(self) -> None:
        """See `Database`."""
        with suppress(LedgerError):  # without a connection, the server has rolled it back
            if self._in_transaction and self._session.is_open:
                self.execute("ROLLBACK")
        self._in_transaction = False

    def insert(self, table: str, rows: Sequence[Row]) -> list[Any]:
        """See `Database`."""
        if table == "texts":  # a column has one type
            rows = [(digest, packed(body) if isinstance(body, str) else body) for digest, body in rows]
        added: list[Any] = []
        for part in _parts(rows):
            row = f"({','.join('?' * len(part[0]))})"
            into = f"INSERT INTO {table} VALUES {','.join([row] * len(part))} ON CONFLICT DO NOTHING"
            key = COLUMNS.get(table, "key").partition(",")[0]
            found = self.execute(f"{into} RETURNING {key}", [one for row in part for one in row])
            added += [one for (one,) in found]
        return added

    def size(self) -> tuple[int, int]:
        """See `Database`; unused bytes are not known."""
        sizes = " + ".join(f"pg_total_relation_size('{table}')" for table in COLUMNS)
        return self.execute(f"SELECT {sizes}").fetchone()[0], 0

    def compact(self) -> None:
        """See `Database`: the tables can use the bytes again, and other commands continue meanwhile."""
        for table in COLUMNS:
            self.execute(f"VACUUM (ANALYZE) {table}")  # FULL would lock the table for minutes

    def problems(self, table: str | None = None) -> Iterator[str]:
        """See `Database`: the server verifies its pages itself, if it was set up with checksums."""
        yield from ()

    def close(self) -> None:
        """See `Database`; a statement of another thread ends first."""
        with self._lock:
            self._closed = True
            self._session.close()

    def _create(self) -> None:
        if self._is_ledger():
            return
        self.begin()
        try:
            if not self._is_ledger():  # another process may have created it since
                self.execute("CREATE SCHEMA IF NOT EXISTS local_judge")
                for statement in _tables():
                    self.execute(statement)
                self.execute("CREATE TABLE ledger (version BIGINT NOT NULL)")
                self.execute("INSERT INTO ledger VALUES (?)", (VERSION,))
            self.commit()
        except BaseException:
            self.rollback()
            raise

    def _is_ledger(self) -> bool:
        """Check whether the database has a ledger of this version.

        Raises:
            LedgerForeign: It has one of another version, or its text is not UTF-8.
        """
        # Not to_regclass, which does not see what another process committed while this one waited for the lock.
        encoding, there = self.execute(
            "SELECT current_setting('server_encoding'), "
            "EXISTS (SELECT 1 FROM pg_tables WHERE schemaname = 'local_judge' AND tablename = 'ledger')"
        ).fetchone()
        if encoding != "UTF8":
            raise LedgerForeign(
                f"ledger {self._url}: the database's encoding is {encoding}; create one with "
                "`createdb --encoding=UTF8 --template=template0`"
            )
        if not there:
            return False
        version = self.execute("SELECT max(version) FROM ledger").fetchone()[0]
        if version != VERSION:
            raise LedgerForeign(
                f"ledger {self._url}: format version {version}, but this program reads {VERSION}; name another "
                "database, or use the program's version that wrote it"
            )
        return True


def _tables() -> list[str]:
    """Return the statements that create the tables of SQLite's ledger in PostgreSQL.

    SQLite does not enforce references; the column `rowid` it has by itself.
    """
    text = re.sub(r" *--.*", "", TABLES)
    text = re.sub(r" REFERENCES \w+", "", text).replace(
        "\n);", ",\n    rowid BIGINT GENERATED ALWAYS AS IDENTITY UNIQUE\n);"
    )
    types = {"TEXT": 'TEXT COLLATE "C"', "BLOB": "BYTEA", "INTEGER": "BIGINT", "REAL": "DOUBLE PRECISION"}
    text = re.sub(rf"\b({'|'.join(types)})\b", lambda found: types[found[1]], text)
    return [statement for statement in text.split(";\n") if statement.strip()]


def _parts(rows: Sequence[Row]) -> Iterator[list[Row]]:
    """Divide rows into insertions of a limited size."""
    part: list[Row] = []
    size = 0
    for row in rows:
        length = sum(len(value) for value in row if isinstance(value, str | bytes))
        if part and (len(row) * (len(part) + 1) > _INSERTED_VALUES or size + length > _INSERTED_CHARACTERS):
            yield part
            part, size = [], 0
        part.append(row)
        size += length
    if part:
        yield part


def _sent(value: Any) -> Any:
    """Return a value as it is sent; raises UnicodeEncodeError for lone surrogates, before anything is sent."""
    if isinstance(value, str):
        value.encode()
    if isinstance(value, str) and ("\0" in value or "\x01" in value):
        return re.sub("[\0\x01]", lambda found: _ESCAPES[found[0]], value)
    return value


def _plain(value: Any) -> Any:
    """Return a received value as it was given to `_sent`."""
    if isinstance(value, str) and "\x01" in value:
        return re.sub("\x01[\x02\x03]", lambda found: _ESCAPED[found[0]], value)
    return value
