"""What SQLite would do with the files beside a database that comes from somebody else.

Invariant: no database is opened whose journal makes SQLite remove a file that is not its own.
"""

from __future__ import annotations

from pathlib import Path

SUPER_JOURNAL = bytes.fromhex("d9d505f920a163d7")
"""Ends a journal of SQLite that names another file, which SQLite may remove. Ours never do."""


def foreign_journal(database: Path) -> Path | None:
    """The journal beside a database that names other files, as one of ours never does; None where there is none."""
    beside = database.resolve()
    journal = beside.with_name(f"{beside.name}-journal")
    if journal.is_file() and journal.read_bytes().endswith(SUPER_JOURNAL):
        return journal
    return None
