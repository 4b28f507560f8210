"""Contents of a ledger, and removal of the replies that are no longer needed.

Invariant: only what the caller names is removed, in one transaction; a dry run counts the same rows and rolls it back.
The file is compacted in place, not replaced, since a process that has it open would write into the replaced file.
"""

from __future__ import annotations

from collections.abc import Set
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from local_judge.base.model import Frozen
from local_judge.judge.ledger_database import COLUMNS, Database, transaction
from local_judge.judge.ledger_file import connect, connect_to_read, ledger_errors
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
def _rolled_back_if(connection: Database, dry_run: bool):
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
