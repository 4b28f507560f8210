"""Writer of a ledger, which commits the writes of a few milliseconds in one transaction.

Invariant: the future of a write is done only after the commit, so that a kill cannot undo a write that a caller
relies on. Cancelling the wait does not cancel the write.

A file is written in the event loop: a commit without a sync to disk takes less time than two threads lose in contention
for the interpreter's lock at a thousand replies per second. A server is written to in a thread, since the event loop
must not wait for a network; writes that arrive meanwhile share the next transaction.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from local_judge.judge.errors import LedgerUnreachable
from local_judge.judge.ledger_place import LedgerPlace
from local_judge.ledger.database import Database, Row, select, transaction
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


class _Done(NamedTuple):
    results: Sequence[Any]
    failure: LedgerError | None


class Writer:
    """Queue of writes, run in order and grouped into transactions."""

    def __init__(self, connection: Database, path: LedgerPlace) -> None:
        self._connection = connection
        self._path = path
        self._waiting: list[_Write] = []
        self._due: asyncio.AbstractEventLoop | None = None
        """Event loop in which a commit is scheduled or, in the thread, in progress."""
        self._thread = ThreadPoolExecutor(1, "ledger") if connection.REMOTE else None
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
            loop.call_later(GATHER_SECONDS, self._commit_due, loop)
        return await future

    def close(self) -> None:
        """Commit the waiting writes and close the connection. Idempotent."""
        if self._closed:
            return
        self._closed = True
        if self._thread is not None:
            self._thread.shutdown()
        while group := self._next_group():
            _resolve(group, self._commit(group))
        self._connection.close()

    def _next_group(self) -> list[_Write]:
        group, self._waiting = self._waiting[:GROUP], self._waiting[GROUP:]
        return group

    def _commit_due(self, loop: asyncio.AbstractEventLoop) -> None:
        """Commit the waiting writes: all of them here, or one group in the thread, after which it is called again."""
        self._due = None
        if self._closed:
            return
        if self._thread is None:
            while group := self._next_group():
                _resolve(group, self._commit(group))
        elif group := self._next_group():
            self._due = loop
            self._thread.submit(self._commit_apart, loop, group)

    def _commit_apart(self, loop: asyncio.AbstractEventLoop, group: Sequence[_Write]) -> None:
        done = self._commit(group)

        def resolve() -> None:
            _resolve(group, done)
            self._commit_due(loop)

        with contextlib.suppress(RuntimeError):  # the loop was closed, so that no task waits
            loop.call_soon_threadsafe(resolve)

    def _commit(self, group: Sequence[_Write]) -> _Done:
        try:
            with ledger_errors(self._path):
                try:
                    return _Done(self._run(group), None)
                except LedgerUnreachable:  # the server restarted, before or after the commit
                    return _Done(self._run(group, again=True), None)
        except LedgerError as error:
            return _Done((), error)
        except Exception as error:
            return _Done((), LedgerError(f"ledger {self._path}: {type(error).__name__}: {error}"))

    def _run(self, group: Sequence[_Write], again: bool = False) -> list[Any]:
        """Run the writes in one transaction, and return their results.

        Args:
            group: the writes.
            again: the rows may be stored already; those of failures have no key by which the database would know.
        """
        rows: defaultdict[str, list[Row]] = defaultdict(list)
        for write in group:
            for table, row in write.rows:
                rows[table].append(row)
        with transaction(self._connection):
            if again:
                failures = rows["failures"]
                stored = select(self._connection, "failures", "key", {row[0] for row in failures})
                rows["failures"] = [row for row in failures if row not in stored]
            insert_requests(self._connection, [write.request for write in group if write.request is not None])
            added = {table: self._connection.insert(table, own) for table, own in rows.items()}
            stored = set(added.get("replies", ()))
            return [write.work and write.work(self._connection, stored) for write in group]


def _resolve(group: Sequence[_Write], done: _Done) -> None:
    for index, write in enumerate(group):
        if write.future.done():
            continue
        with contextlib.suppress(RuntimeError):  # the loop was closed, so that no task waits
            if done.failure is None:
                write.future.set_result(done.results[index])
            else:
                write.future.set_exception(done.failure)
