"""Database of a ledger: tables, and statements on them.

Every table has a column `rowid`, which grows with each insertion, and which `SELECT *` does not contain.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

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

TOKEN_COUNTS = """
CREATE TABLE token_counts (       -- lengths of prompts, so that a run can be replayed without the judge's tokenizer
    judge    TEXT NOT NULL REFERENCES judges,
    messages TEXT NOT NULL,       -- SHA-256 of the messages
    tokens   INTEGER NOT NULL,
    digest   TEXT NOT NULL,       -- SHA-256 of the canonical JSON list of all other columns
    PRIMARY KEY (judge, messages)
);
"""

TABLES = f"""
CREATE TABLE texts (              -- message parts and schemas, by content
    digest BLOB PRIMARY KEY,      -- SHA-256 of the UTF-8 text
    body   BLOB NOT NULL          -- TEXT as it is where short, else zlib
);
CREATE TABLE judges (
    digest   TEXT PRIMARY KEY,    -- SHA-256 of `identity`
    identity TEXT NOT NULL        -- canonical JSON
);
CREATE TABLE requests (
    key      TEXT PRIMARY KEY,
    judge    TEXT NOT NULL REFERENCES judges,
    system   BLOB NOT NULL REFERENCES texts,
    shared   BLOB NOT NULL REFERENCES texts,
    own      BLOB NOT NULL REFERENCES texts,
    schema   BLOB REFERENCES texts,
    sampling TEXT NOT NULL,       -- canonical JSON
    kind     TEXT NOT NULL,
    options  TEXT NOT NULL,       -- canonical JSON
    prefix   TEXT NOT NULL,       -- name of the shared part
    draw     INTEGER NOT NULL,
    attempt  INTEGER NOT NULL
);
CREATE TABLE replies (
    key               TEXT PRIMARY KEY REFERENCES requests,
    text              TEXT NOT NULL,
    reasoning         TEXT,
    finish_reason     TEXT NOT NULL,
    logprobs          TEXT,       -- canonical JSON
    bounded           TEXT,       -- canonical JSON: options whose log-probability is only an upper bound
    prompt_tokens     INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    cached_tokens     INTEGER,
    created           TEXT NOT NULL,
    latency           REAL NOT NULL,
    digest            TEXT NOT NULL  -- SHA-256 of the canonical JSON list of all other columns
);
CREATE TABLE failures (           -- kept, never replayed
    key      TEXT NOT NULL REFERENCES requests,
    kind     TEXT NOT NULL,
    detail   TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    created  TEXT NOT NULL
);
CREATE INDEX failures_by_key ON failures (key);
CREATE TABLE calibrations (       -- of a judge, question and prompt the last set counts
    id       TEXT NOT NULL,       -- SHA-256 of `body`
    fit      TEXT NOT NULL,       -- SHA-256 of the ids of what was fitted together
    judge    TEXT NOT NULL REFERENCES judges,
    question TEXT NOT NULL,
    prompt   TEXT NOT NULL,       -- SHA-256 of the question as it is sent
    language TEXT NOT NULL,
    body     TEXT NOT NULL,       -- canonical JSON
    created  TEXT NOT NULL,
    digest   TEXT NOT NULL        -- SHA-256 of the canonical JSON list of place and all other columns
);
{TOKEN_COUNTS}"""


class Database(sqlite3.Connection):
    """Connection to the database of a ledger. A statement outside a transaction is committed at once."""

    def insert(self, table: str, rows: Sequence[Row]) -> list[Any]:
        """Insert rows, without those whose key is stored already; return the first column of the inserted ones."""
        if not rows:
            return []
        sql = f"INSERT INTO {table} VALUES ({','.join('?' * len(rows[0]))}) ON CONFLICT DO NOTHING"
        return [row[0] for row in rows if self.execute(sql, row).rowcount]

    def size(self) -> tuple[int, int]:
        """Return the bytes of the ledger, and how many of them are unused."""
        return self.execute(
            "SELECT page_count * page_size, freelist_count * page_size "
            "FROM pragma_page_count, pragma_page_size, pragma_freelist_count"
        ).fetchone()

    def compact(self) -> None:
        """Release unused bytes."""
        self.execute("VACUUM")
        self.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def problems(self, table: str | None = None) -> Iterator[str]:
        """Yield the findings of SQLite's own check of a table, or of all."""
        for (problem,) in self.execute(f"PRAGMA integrity_check{'' if table is None else f'({table})'}"):
            yield from (line for line in str(problem).splitlines() if line != "ok")


@contextmanager
def transaction(connection: Database) -> Generator[None]:
    """Run the block in a transaction that excludes other writers; it is rolled back if the block raises."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.commit()
    except BaseException:
        if connection.in_transaction:  # SQLite ends it by itself where the disk is full
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
