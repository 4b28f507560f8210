"""Statements that several modules of the ledger use: insertion, transactions, reading in pages."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

Row = tuple[Any, ...]

ANY_TEXT = partial(str, encoding="utf-8", errors="surrogateescape")
"""Text factory that also accepts invalid UTF-8, which matches no digest."""

PAGE = 500
"""Rows that `pages` reads at once."""


@contextmanager
def transaction(connection: sqlite3.Connection) -> Generator[None]:
    """Run the block in a transaction that excludes other writers; it is rolled back if the block raises."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # SQLite ends it by itself where the disk is full
            connection.execute("ROLLBACK")
        raise


def insert(connection: sqlite3.Connection, table: str, rows: Sequence[Row]) -> None:
    """Insert rows, without those whose key is stored already."""
    if rows:
        places = ",".join("?" * len(rows[0]))
        connection.executemany(f"INSERT INTO {table} VALUES ({places}) ON CONFLICT DO NOTHING", rows)


def pages(connection: sqlite3.Connection, table: str, columns: str = "*") -> Iterator[list[Row]]:
    """Yield the rows of a table in the order of their insertion, without holding a transaction open in between.

    Args:
        connection: Connection to the ledger.
        table: Table, or tables joined to it by LEFT JOIN.
        columns: Columns to select.
    """
    last, first = -1, table.split()[0]
    sql = f"SELECT {first}.rowid, {columns} FROM {table} WHERE {first}.rowid > ? ORDER BY 1 LIMIT {PAGE}"
    while rows := connection.execute(sql, (last,)).fetchall():
        last = rows[-1][0]
        yield [row[1:] for row in rows]
