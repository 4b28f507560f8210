"""Connections to ledgers, wherever they are."""

from __future__ import annotations

from pathlib import Path

from local_judge.judge.ledger_place import LedgerPlace
from local_judge.ledger.database import Database
from local_judge.ledger.errors import LedgerMissing
from local_judge.ledger.file import connect_file, connect_file_to_read


def connect(place: LedgerPlace) -> Database:
    """Return a connection for writing; a missing ledger is created.

    Raises:
        LedgerError: Any of its kinds.
    """
    if isinstance(place, Path):
        return connect_file(place)
    from local_judge.judge.ledger_postgres import PostgresDatabase

    return PostgresDatabase.open(place)


def connect_to_read(place: LedgerPlace, *, must_exist: bool = False) -> Database:
    """Return a connection for reading; a missing ledger reads as an empty one unless it must exist.

    Raises:
        LedgerMissing: There is no such file, or the database has no ledger, and `must_exist` is True.
        LedgerError: Any other of its kinds.
    """
    if isinstance(place, Path):
        if must_exist and not place.exists():
            raise LedgerMissing(f"ledger {place}: no such file")
        return connect_file_to_read(place)
    from local_judge.judge.ledger_postgres import PostgresDatabase

    return PostgresDatabase.open_to_read(place, must_exist)
