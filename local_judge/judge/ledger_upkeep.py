"""Contents of a ledger, and removal of the replies that are no longer needed.

Invariant: only what the caller names is removed, in one transaction; a dry run counts the same rows and rolls it back.
The file is compacted in place, not replaced, since a process that has it open would write into the replaced file.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Set
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from local_judge.judge.errors import LedgerMissing
from local_judge.judge.ledger_database import insert, transaction
from local_judge.judge.ledger_file import connect, connect_to_read, ledger_errors
from serving.types import EngineIdentity, Frozen

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
        LedgerError: Any of its kinds; the file must exist.
    """
    if not path.exists():
        raise LedgerMissing(f"ledger {path}: no such file")
    with ledger_errors(path), closing(connect_to_read(path)) as connection:
        pages, size, free = connection.execute(
            "SELECT page_count, page_size, freelist_count "
            "FROM pragma_page_count, pragma_page_size, pragma_freelist_count"
        ).fetchone()
        calls = connection.execute(_CALLS).fetchall()
        failures = connection.execute("SELECT kind, count(*) FROM failures GROUP BY kind ORDER BY kind")
        return Contents(
            bytes=pages * size,
            free_bytes=free * size,
            rows={name: _count(connection, name) for name in TABLES},
            stored={name: _stored(connection, name) for name in TABLES},
            calls=tuple(JudgeCalls(_model(identity), *rest) for identity, *rest in calls),
            failures=dict(failures.fetchall()),
        )


_CALLS = """
SELECT identity, judge, kind, count(*), sum(prompt_tokens), sum(completion_tokens), min(created), max(created)
FROM replies JOIN requests USING (key) JOIN judges ON judges.digest = judge GROUP BY judge, kind ORDER BY judge, kind
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
        LedgerError: Any of its kinds; the file must exist. Compacting needs as much free disk space as the result.
    """
    if not path.exists():
        raise LedgerMissing(f"ledger {path}: no such file")
    with ledger_errors(path), closing(connect(path)) as connection:
        before = _size(connection)
        with _rolled_back_if(connection, dry_run):
            replies = failed = 0
            if keep is not None:
                connection.execute("CREATE TEMP TABLE kept (key TEXT PRIMARY KEY)")
                insert(connection, "kept", [(key,) for key in keep])
                replies = _delete(connection, "replies", "key NOT IN (SELECT key FROM kept)")
            if failures:
                failed = _delete(connection, "failures", "TRUE")
            unused = "key NOT IN (SELECT key FROM replies) AND key NOT IN (SELECT key FROM failures)"
            requests = _delete(connection, "requests", unused)
            texts = _delete(connection, "texts", _UNUSED_TEXT)
        if not dry_run:
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return Collected(replies, failed, requests, texts, before, _size(connection))


_UNUSED_TEXT = "digest NOT IN ({})".format(
    " UNION ".join(
        f"SELECT {name} FROM requests WHERE {name} IS NOT NULL"
        for name in ("system", "shared", "own", "schema")
    )
)


class _DryRun(Exception):
    """End of a dry run's transaction."""


@contextmanager
def _rolled_back_if(connection: sqlite3.Connection, dry_run: bool):
    try:
        with transaction(connection):
            yield
            if dry_run:
                raise _DryRun
    except _DryRun:
        pass


def _delete(connection: sqlite3.Connection, table: str, condition: str) -> int:
    return connection.execute(f"DELETE FROM {table} WHERE {condition}").rowcount


def _count(connection: sqlite3.Connection, table: str) -> int:
    return connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]


def _stored(connection: sqlite3.Connection, table: str) -> int:
    columns = [row[0] for row in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))]
    lengths = " + ".join(f"coalesce(length(CAST({name} AS BLOB)), 0)" for name in columns)
    return connection.execute(f"SELECT coalesce(sum({lengths}), 0) FROM {table}").fetchone()[0]


def _size(connection: sqlite3.Connection) -> int:
    return connection.execute(
        "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
    ).fetchone()[0]


def _model(identity: str) -> str:
    try:
        return EngineIdentity.model_validate_json(identity).model
    except ValueError:
        return "(damaged)"
