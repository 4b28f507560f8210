"""The one writer of a ledger: commits what has gathered in a few milliseconds in one transaction.

Invariant: the future of a write is done only after its transaction is committed, so nothing that waits for
it can use what a kill could take back. A cancelled wait does not cancel the write.

It runs in the event loop and not in a thread: a commit without a sync to disk takes less time than two threads
lose to each other over the interpreter's lock when a thousand replies come in a second.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from local_judge.judge.errors import LedgerError
from local_judge.judge.ledger_file import ledger_errors

GROUP = 256
"""Writes in one transaction at most."""
GATHER_SECONDS = 0.005
"""How long a write waits for others to share its transaction."""

Work = Callable[[sqlite3.Connection], Any]


class _Write(NamedTuple):
    work: Work
    future: asyncio.Future[Any]


class Writer:
    """Runs writes in the order in which they came, in groups of one transaction each."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path
        self._waiting: list[_Write] = []
        self._due: asyncio.AbstractEventLoop | None = None
        """The loop in which a commit is due."""
        self._closed = False

    async def write(self, work: Work) -> Any:
        """Run `work` in a transaction; what it returns, once that is committed.

        Raises:
            LedgerError: the transaction was rolled back, or the ledger is closed.
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
        """Write what is still waiting, then stop. Idempotent."""
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
            with ledger_errors(self._path):
                self._connection.execute("BEGIN IMMEDIATE")
                try:
                    results = [write.work(self._connection) for write in group]
                    self._connection.execute("COMMIT")
                except BaseException:
                    if self._connection.in_transaction:
                        self._connection.execute("ROLLBACK")
                    raise
        except LedgerError as error:
            failure = error
        except Exception as error:
            failure = LedgerError(f"ledger {self._path}: {type(error).__name__}: {error}")
        for index, write in enumerate(group):
            with contextlib.suppress(RuntimeError):  # a loop that was closed: nobody waits any more
                _resolve(write.future, results[index] if failure is None else None, failure)


def _resolve(future: asyncio.Future[Any], result: Any, failure: LedgerError | None) -> None:
    if future.done():
        return
    if failure is None:
        future.set_result(result)
    else:
        future.set_exception(failure)
