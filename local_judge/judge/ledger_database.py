"""Databases of ledgers: what SQLite and PostgreSQL have in common, and SQLite's part.

A statement has `?` for parameters and is one that both databases run. Every table has a column `rowid`, which grows
with each insertion, and which `SELECT *` may contain: `COLUMNS` has the others.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, ClassVar, Protocol

Row = tuple[Any, ...]

ANY_TEXT = partial(str, encoding="utf-8", errors="surrogateescape")
"""Text factory that also accepts invalid UTF-8, which matches no digest."""

PAGE = 500
"""Rows that `pages` reads at once."""

COLUMNS = {
    "judges": "digest, identity",
    "texts": "digest, body",
    "requests": "key, judge, system, shared, own, schema, sampling, kind, options, prefix, draw, attempt",
    "replies": "key, text, reasoning, finish_reason, logprobs, bounded, prompt_tokens, completion_tokens, "
    "cached_tokens, created, latency, digest",
    "failures": "key, kind, detail, attempts, created",
    "token_counts": "judge, messages, tokens, digest",
    "calibrations": "id, fit, judge, question, prompt, language, body, created, digest",
}
"""Columns of each table, in an order in which rows can be inserted."""


class Rows(Protocol):
    """Result of a statement."""

    @property
    def rowcount(self) -> int:
        """Number of rows that were changed."""
        ...

    def fetchone(self) -> Any:
        """Return the next row; None after the last."""
        ...

    def fetchall(self) -> list[Any]:
        """Return all remaining rows."""
        ...

    def __iter__(self) -> Iterator[Any]: ...


class Database(Protocol):
    """Connection to the database of a ledger. A statement outside a transaction is committed at once."""

    REMOTE: ClassVar[bool]
    """True if a statement waits for a network."""
    BYTES_OF: ClassVar[str]
    """Expression for the bytes of a column, with `{}` for its name."""
    text_factory: Any

    def execute(self, sql: str, parameters: Sequence[Any] = (), /) -> Rows:
        """Run a statement."""
        ...

    def stream(self, sql: str, parameters: Sequence[Any] = ()) -> Iterator[Any]:
        """Yield the rows of a query, which are not all in memory."""
        ...

    def begin(self) -> None:
        """Begin a transaction that excludes other writers."""
        ...

    def commit(self) -> None:
        """Commit the transaction, which then survives the death of this process."""
        ...

    def rollback(self) -> None:
        """Undo the transaction, if one is open."""
        ...

    def insert(self, table: str, rows: Sequence[Row]) -> list[Any]:
        """Insert rows, without those whose key is stored already; return the first column of the inserted ones."""
        ...

    def size(self) -> tuple[int, int]:
        """Return the bytes of the ledger, and how many of them are unused."""
        ...

    def compact(self) -> None:
        """Release unused bytes."""
        ...

    def problems(self, table: str | None = None) -> Iterator[str]:
        """Yield the findings of the database's own check of a table, or of all."""
        ...

    def close(self) -> None:
        """Close the connection."""
        ...


class SqliteDatabase(sqlite3.Connection):
    """Connection to a SQLite file."""

    REMOTE: ClassVar[bool] = False
    BYTES_OF: ClassVar[str] = "length(CAST({} AS BLOB))"

    def stream(self, sql: str, parameters: Sequence[Any] = ()) -> Iterator[Any]:
        """See `Database`."""
        yield from self.execute(sql, parameters)

    def begin(self) -> None:
        """See `Database`."""
        self.execute("BEGIN IMMEDIATE")

    def rollback(self) -> None:
        """See `Database`."""
        if self.in_transaction:  # SQLite ends it by itself where the disk is full
            super().rollback()

    def insert(self, table: str, rows: Sequence[Row]) -> list[Any]:
        """See `Database`."""
        if not rows:
            return []
        sql = f"INSERT INTO {table} VALUES ({','.join('?' * len(rows[0]))}) ON CONFLICT DO NOTHING"
        return [row[0] for row in rows if self.execute(sql, row).rowcount]

    def size(self) -> tuple[int, int]:
        """See `Database`."""
        return self.execute(
            "SELECT page_count * page_size, freelist_count * page_size "
            "FROM pragma_page_count, pragma_page_size, pragma_freelist_count"
        ).fetchone()

    def compact(self) -> None:
        """See `Database`."""
        self.execute("VACUUM")
        self.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def problems(self, table: str | None = None) -> Iterator[str]:
        """See `Database`."""
        for (problem,) in self.execute(f"PRAGMA integrity_check{'' if table is None else f'({table})'}"):
            yield from (line for line in str(problem).splitlines() if line != "ok")


@contextmanager
def transaction(connection: Database) -> Generator[None]:
    """Run the block in a transaction that excludes other writers; it is rolled back if the block raises."""
    connection.begin()
    try:
        yield
        connection.commit()
    except BaseException:
        connection.rollback()
        raise


def select(
    connection: Database,
    table: str,
    column: str,
    values: Iterable[Any],
    columns: str | None = None,
    **equal: Any,
) -> list[Row]:
    """Return the rows of a table whose `column` has one of the values, and other columns the given values.

    All columns are returned by default.
    """
    wanted, found = list(values), list[Row]()
    others = "".join(f" AND {name}=?" for name in equal)
    for start in range(0, len(wanted), PAGE):
        part = wanted[start : start + PAGE]
        condition = f"{column} IN ({','.join('?' * len(part))}){others}"
        sql = f"SELECT {columns or COLUMNS[table]} FROM {table} WHERE {condition}"
        found += connection.execute(sql, [*part, *equal.values()]).fetchall()
    return found


def delete(connection: Database, table: str, column: str, values: Sequence[Any]) -> None:
    """Delete the rows of a table whose `column` has one of the values."""
    for start in range(0, len(values), PAGE):
        part = values[start : start + PAGE]
        connection.execute(f"DELETE FROM {table} WHERE {column} IN ({','.join('?' * len(part))})", part)


def pages(connection: Database, table: str, columns: str) -> Iterator[list[Row]]:
    """Yield the rows of a table in the order of their insertion, without holding a transaction open in between.

    Args:
        connection: Connection to the ledger.
        table: Table, or tables joined to it by LEFT JOIN.
        columns: Columns to select.
    """
    last, first = -1, table.split()[0]
    sql = f"SELECT {first}.rowid, {columns} FROM {table} WHERE {first}.rowid > ? ORDER BY 1 LIMIT {PAGE}"
    while rows := connection.execute(sql, (last,)).fetchall():
        if rows[-1][0] <= last:
            raise sqlite3.DatabaseError(f"{first}: malformed, since its rows are not in order")
        last = rows[-1][0]
        yield [row[1:] for row in rows]
