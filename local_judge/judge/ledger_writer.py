"""The one writer of a ledger: a thread that commits what has gathered since its last commit.

Invariant: the future of a write is done only after its transaction is committed, so nothing that waits for
it can use what a kill could take back. A cancelled wait does not cancel the write.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from local_judge.judge.errors import LedgerError
from local_judge.judge.ledger_file import ledger_errors

GROUP = 256
"""Writes in one transaction at most."""

Work = Callable[[sqlite3.Connection], Any]


class _Write(NamedTuple):
    work: Work
    future: asyncio.Future[Any]


class Writer:
    """Runs writes in the order in which they came, in groups of one transaction each."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path
        self._queue: queue.SimpleQueue[_Write | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._closed = False

    async def write(self, work: Work) -> Any:
        """Run `work` in a transaction; what it returns, once that is committed.

        Raises:
            LedgerError: the transaction was rolled back, or the ledger is closed.
        """
        if self._closed:
            raise LedgerError(f"ledger {self._path}: closed; open it again to write")
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="ledger-writer", daemon=True)
            self._thread.start()
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._queue.put(_Write(work, future))
        return await future

    def close(self) -> None:
        """Write what is still queued, then stop. Idempotent."""
        if self._closed:
            return
        self._closed = True
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()
        self._connection.close()

    def _run(self) -> None:
        last = False
        while not last:
            group: list[_Write] = []
            write = self._queue.get()
            while write is not None:
                group.append(write)
                if len(group) == GROUP or self._queue.empty():
                    break
                write = self._queue.get()
            last = write is None
            if group:
                self._commit(group)

    def _commit(self, group: list[_Write]) -> None:
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
        by_loop: dict[asyncio.AbstractEventLoop, list[int]] = {}
        for index, write in enumerate(group):
            by_loop.setdefault(write.future.get_loop(), []).append(index)
        for loop, indexes in by_loop.items():
            done = [(group[i].future, None if failure else results[i]) for i in indexes]
            with contextlib.suppress(RuntimeError):  # a loop that was closed: nobody waits any more
                loop.call_soon_threadsafe(_resolve, done, failure)


def _resolve(done: list[tuple[asyncio.Future[Any], Any]], failure: LedgerError | None) -> None:
    for future, result in done:
        if future.done():
            continue
        if failure is None:
            future.set_result(result)
        else:
            future.set_exception(failure)
