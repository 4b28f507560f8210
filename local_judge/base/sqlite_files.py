"""Checks of SQLite databases from untrusted sources, and of the files next to them.

Invariant: no database is opened whose journal makes SQLite remove a file that is not its own, or wait for one that
never ends; none is read or written that holds anything for SQLite to run.
"""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from functools import lru_cache
from pathlib import Path

from local_judge.base.files import open_file

SUPER_JOURNAL = bytes.fromhex("d9d505f920a163d7")
"""Ends a journal of SQLite that names another file, which SQLite may remove. Ours never do."""

_COMMENT = re.compile("--.*")


def foreign_journal(database: Path) -> Path | None:
    """The journal beside a database if there is one that is no file or names other files, as none of ours does."""
    beside = database.resolve()
    journal = beside.with_name(f"{beside.name}-journal")
    if journal.exists() and not _is_own(journal):
        return journal
    return None


def _is_own(journal: Path) -> bool:
    try:
        with open_file(journal) as file:
            file.seek(max(0, file.seek(0, 2) - len(SUPER_JOURNAL)))
            return file.read() != SUPER_JOURNAL
    except OSError:
        return False


def foreign_objects(connection: sqlite3.Connection, statements: str) -> list[str]:
    """Names of what a database holds that these statements do not make, or make otherwise, in order.

    SQLite runs triggers, views, checks, defaults and the expressions of indexes when a row is read or written.
    """
    made = _made(statements)
    return sorted(name for name, sql in _objects(connection).items() if sql != made.get(name))


def _objects(connection: sqlite3.Connection) -> dict[str, str]:
    """The statement that made each table, index, trigger and view but SQLite's own, without comments and line ends."""
    found = connection.execute(
        "SELECT name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite^_%' ESCAPE '^'"
    )
    return {str(name): " ".join(_COMMENT.sub("", str(sql)).split()) for name, sql in found}


@lru_cache(maxsize=4)
def _made(statements: str) -> dict[str, str]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(statements)
        return _objects(connection)
