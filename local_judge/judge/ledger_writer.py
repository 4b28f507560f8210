"""Writer of a ledger, which commits the writes of a few milliseconds in one transaction.

Invariant: the future of a write is done only after the commit, so that a kill cannot undo a write that a caller
relies on. Cancelling the wait does not cancel the write.

It runs in the event loop instead of a thread: a commit without a sync to disk takes less time than two threads lose in
contention for the interpreter's lock at a thousand replies per second.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from local_judge.judge.errors import LedgerError
from local_judge.judge.ledger_database import transaction
from local_judge.judge.ledger_file import ledger_errors

GROUP = 256
"""Maximum number of writes per transaction."""
GATHER_SECONDS = 0.005
"""Seconds that a write waits for others to share its transaction."""

Work = Callable[[sqlite3.Connection], Any]


class _Write(NamedTuple):
    work: Work
    future: asyncio.Future[Any]


class Writer:
    """Queue of writes, run in order and grouped into transactions."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path
        self._waiting: list[_Write] = []
        self._due: asyncio.AbstractEventLoop | None = None
        """Event loop in which a commit is scheduled."""
        self._closed = False

    async def write(self, work: Work) -> Any:
        """Run `work` in a transaction, and return its result after the commit.

        Raises:
            LedgerError: The transaction was rolled back, or the ledger is closed.
        """
        if self._closed:
            raise LedgerError(f"ledger {self._path}: closed; open it again to write")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        self._waiting.append(_Write(work, future))
        if self._due is not loop:  # also where an earlier loop ended before its commit
            self._due = loop
            loop.call_later(GATHER_SECONDS, self._commit_all)
        return await future

    def close(self) -> None:
        """Commit the waiting writes and close the connection. Idempotent."""
        if self._closed:
            return
        self._closed = True
        self._commit_all()
        self._connection.close()

    def _commit_all(self) -> None:
        self._due = None
        waiting, self._waiting = self._waiting, []
        for start in range(0, len(waiting), GROUP):
            self._commit(waiting[start : start + GROUP])

    def _commit(self, group: Sequence[_Write]) -> None:
        results: list[Any] = []
        failure: LedgerError | None = None
        try:
            with ledger_errors(self._path), transaction(self._connection):
                results = [write.work(self._connection) for write in group]
        except LedgerError as error:
            failure = error
        except Exception as error:
            failure = LedgerError(f"ledger {self._path}: {type(error).__name__}: {error}")
        for index, write in enumerate(group):
            with contextlib.suppress(RuntimeError):  # the loop was closed, so that no task waits
                _resolve(write.future, results[index] if failure is None else None, failure)


def _resolve(future: asyncio.Future[Any], result: Any, failure: LedgerError | None) -> None:
    if future.done():
        return
    if failure is None:
        future.set_result(result)
    else:
        future.set_exception(failure)
