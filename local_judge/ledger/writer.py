"""Writer of a ledger, which commits the writes of a few milliseconds in one transaction.

Invariant: the future of a write is done only after the commit, so that a kill cannot undo a write that a caller
relies on. Cancelling the wait does not cancel the write.

The file is written in the event loop: a commit without a sync to disk takes less time than two threads lose in
contention for the interpreter's lock at a thousand replies per second.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from local_judge.ledger.database import Database, Row, transaction
from local_judge.ledger.errors import LedgerError
from local_judge.ledger.file import ledger_errors
from local_judge.ledger.requests import Request
from local_judge.ledger.rows import insert_requests

GROUP = 256
"""Maximum number of writes per transaction."""
GATHER_SECONDS = 0.005
"""Seconds that a write waits for others to share its transaction."""

Work = Callable[[Database, set[Any]], Any]
"""Function that runs in the transaction after the insertions. Its arguments are the connection and the keys of the
replies that were inserted."""


class _Write(NamedTuple):
    work: Work | None
    rows: Sequence[tuple[str, Row]]
    request: Request | None
    future: asyncio.Future[Any]


class Writer:
    """Queue of writes, run in order and grouped into transactions."""

    def __init__(self, connection: Database, path: Path) -> None:
        self._connection = connection
        self._path = path
        self._waiting: list[_Write] = []
        self._due: asyncio.AbstractEventLoop | None = None
        """Event loop in which a commit is scheduled."""
        self._closed = False

    async def write(
        self, work: Work | None, rows: Sequence[tuple[str, Row]] = (), request: Request | None = None
    ) -> Any:
        """Insert rows and run `work` in one transaction, and return the result of `work` after the commit.

        Args:
            work: Function to run after the insertions; None for none.
            rows: Rows to insert, each with its table, if their keys are not stored.
            request: Request to insert first.

        Raises:
            LedgerError: The transaction was rolled back, or the ledger is closed.
        """
        if self._closed:
            raise LedgerError(f"ledger {self._path}: closed; open it again to write")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        self._waiting.append(_Write(work, rows, request, future))
        if self._due is not loop:  # also where an earlier loop ended before its commit
            self._due = loop
            loop.call_later(GATHER_SECONDS, self._commit_due)
        return await future

    def close(self) -> None:
        """Commit the waiting writes and close the connection. Idempotent."""
        if not self._closed:
            self._closed = True
            self._commit_waiting()
            self._connection.close()

    def _commit_due(self) -> None:
        self._due = None
        self._commit_waiting()

    def _commit_waiting(self) -> None:
        while group := self._waiting[:GROUP]:
            del self._waiting[:GROUP]
            results, failure = list[Any](), None
            try:
                with ledger_errors(self._path):
                    results = self._run(group)
            except LedgerError as error:
                failure = error
            except Exception as error:
                failure = LedgerError(f"ledger {self._path}: {type(error).__name__}: {error}")
            _resolve(group, results, failure)

    def _run(self, group: Sequence[_Write]) -> list[Any]:
        """Run the writes in one transaction, and return their results."""
        rows: defaultdict[str, list[Row]] = defaultdict(list)
        for write in group:
            for table, row in write.rows:
                rows[table].append(row)
        with transaction(self._connection):
            insert_requests(self._connection, [write.request for write in group if write.request is not None])
            added = {table: self._connection.insert(table, new) for table, new in rows.items()}
            stored = set(added.get("replies", ()))
            return [write.work and write.work(self._connection, stored) for write in group]


def _resolve(group: Sequence[_Write], results: Sequence[Any], failure: LedgerError | None) -> None:
    for index, write in enumerate(group):
        if write.future.done():
            continue
        with contextlib.suppress(RuntimeError):  # the loop was closed, so that no task waits
            if failure is None:
                write.future.set_result(results[index])
            else:
                write.future.set_exception(failure)
