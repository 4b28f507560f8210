"""Ledger: the database of judges' replies.

Invariants: a reply is committed before it can be read (reads use their own connection, which sees committed rows only);
the first reply stored under a key stays; failures are stored separately and never replayed; a row is checked against
its digest whenever it is read, and a reply that does not match is never used. A report's text is stored once for all
calls.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from local_judge.base.failures import Failure
from local_judge.base.model import Frozen
from local_judge.ledger.calibrations import (
    Calibration,
    DamagedCalibrations,
    insert_calibrations,
    select_calibrations,
)
from local_judge.ledger.database import Database
from local_judge.ledger.errors import CorruptReply, LedgerReadOnly
from local_judge.ledger.explain import Explanation, explain_miss
from local_judge.ledger.file import connect, connect_to_read, damage_error, ledger_errors
from local_judge.ledger.requests import Identified, Reply, Request, now
from local_judge.ledger.rows import (
    DamagedText,
    reply_row,
    select_replies,
    select_reply,
    select_request,
    select_token_count,
    token_count_row,
    verify_judge,
)
from local_judge.ledger.writer import Writer
from local_judge.prompts import Prompt
from serving.types import EngineIdentity, Message, Sampling


class Trace(Frozen):
    """Stored reply with its complete request, to which a number can be traced."""

    reply: Reply
    judge: EngineIdentity
    prompt: Prompt
    messages: tuple[Message, ...]
    json_schema: dict[str, Any] | None
    sampling: Sampling | None
    options: tuple[str, ...]
    draw: int
    attempt: int


class LedgerStats(Frozen):
    """Tokens and time of all replies of a ledger; `upkeep.contents` counts its rows."""

    replies: int
    prompt_tokens: int
    cached_tokens: int
    warm_tokens: int
    """Cached tokens of the first call of each prefix, which were in the engine's cache before."""
    completion_tokens: int
    busy_seconds: float
    """Seconds during which at least one call was in progress."""


class Ledger:
    """Replies by key. Open it with `open`, and close it when done; it is a context manager."""

    def __init__(
        self, path: Path, reader: Database, writer: Writer | None, base: Ledger | None = None
    ) -> None:
        self.path = path
        self._base = base
        self._reader = reader
        self._writer = writer
        self._corrupt: dict[str, str] = {}
        """Keys of the replies found corrupt since the ledger was opened, with the reason."""

    @classmethod
    def open(cls, path: str | Path, *, read_only: bool = False, base: str | Path | None = None) -> Ledger:
        """Open the ledger in a file, and create it if it is missing.

        With `read_only`, a missing file reads as an empty ledger and is not created. Replies and token counts that the
        ledger lacks are read from the ledger `base`, which is never written.

        Raises:
            LedgerError: Any of its kinds; a file that is not a ledger is refused and left unchanged.
        """
        path = Path(path)
        writer = None if read_only else Writer(connect(path), path)
        try:
            below = None if base is None else cls.open(base, read_only=True)
            return cls(path, connect_to_read(path), writer, below)
        except BaseException:
            if writer is not None:
                writer.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Commit queued writes and release the file. Idempotent."""
        self._reader.close()
        if self._base is not None:
            self._base.close()
        if self._writer is not None:  # last, so that it folds the write-ahead log into the file
            self._writer.close()

    @property
    def read_only(self) -> bool:
        """True if `put` is refused."""
        return self._writer is None

    def get(self, key: str) -> Reply | None:
        """Return the reply stored under `key`.

        Raises:
            CorruptReply: The reply is damaged. While the ledger is open, every later read raises it too, so that all
                reads of one run agree.
        """
        if key in self._corrupt:
            raise self._corrupt_reply(key)
        with ledger_errors(self.path):
            try:
                found = select_reply(self._reader, key)
            except CorruptReply as error:
                self._corrupt[key] = str(error)
                raise self._corrupt_reply(key) from None
        return self._from_base(key) if found is None and self._base is not None else found

    def _from_base(self, key: str) -> Reply | None:
        """Return a reply of the base; a damaged one counts as missing there, and is asked for again."""
        assert self._base is not None
        with suppress(CorruptReply):
            return self._base.get(key)

    def _corrupt_reply(self, key: str) -> CorruptReply:
        return CorruptReply(
            f"ledger {self.path}: {self._corrupt[key]}; `local-judge ledger verify {self.path}` lists what is damaged"
        )

    async def set_aside(self, request: Request) -> Failure:
        """Replace the corrupt reply to `request` by a failure, which is returned, so that the next run asks again.

        Raises:
            LedgerError: It could not be removed.
        """
        failure = Failure(kind="corrupt_reply", detail=self._corrupt[request.key])
        if self._writer is None:
            return failure

        def work(connection: Database, _: set[Any]) -> None:
            # Another process may have replaced it since: only a reply that is still corrupt is removed.
            try:
                select_reply(connection, request.key)
            except CorruptReply:
                connection.execute("DELETE FROM replies WHERE key=?", (request.key,))

        await self._writable().write(work)
        await self.put_failure(request, failure)
        return failure

    async def put(self, request: Request, reply: Reply) -> Reply:
        """Store a reply, and return the stored one after the commit.

        An existing reply stays and is returned.

        Raises:
            LedgerError: It could not be stored.
        """
        row = reply_row(reply)

        def work(connection: Database, added: set[Any]) -> Reply:
            if reply.key in added:
                added.remove(reply.key)  # a later reply of the same transaction was not inserted
                return reply
            try:
                return select_reply(connection, reply.key) or reply
            except CorruptReply:
                connection.execute("DELETE FROM replies WHERE key=?", (reply.key,))
                connection.insert("replies", [row])
                return reply

        return await self._writable().write(work, [("replies", row)], request)

    async def put_failure(self, request: Request, failure: Failure) -> None:
        """Store the failure of a call."""
        row = (request.key, failure.kind, failure.detail, failure.attempts, now())
        await self._writable().write(None, [("failures", row)], request)

    async def put_calibrations(self, calibrations: Iterable[Calibration]) -> None:
        """Store calibrations that were fitted together and make them current; older ones stay in the file.

        Raises:
            LedgerError: They could not be stored.
        """
        kept = tuple(calibrations)

        def work(connection: Database, _: set[Any]) -> None:
            try:
                insert_calibrations(connection, kept)
            except DamagedCalibrations as error:
                raise damage_error(self.path, str(error)) from None

        await self._writable().write(work)

    def calibrations(self, judge: str) -> tuple[Calibration, ...]:
        """Return the current calibrations of a judge, given by its digest, sorted by question, prompt and language.

        Raises:
            LedgerCorrupt: A row is altered or missing.
        """
        with ledger_errors(self.path):
            try:
                return select_calibrations(self._reader, judge)
            except DamagedCalibrations as error:
                raise damage_error(self.path, str(error)) from None

    async def put_token_count(self, judge: Identified, messages: str, tokens: int) -> None:
        """Store the length of a prompt, given by the digest of its messages, in a judge's tokens."""

        def work(connection: Database, _: set[Any]) -> None:
            connection.execute(_SET_TOKEN_COUNT, token_count_row(judge.digest, messages, tokens))

        await self._writable().write(work, [("judges", (judge.digest, judge.json))])

    def token_count(self, judge: Identified, messages: str) -> int | None:
        """Return the length of a prompt in a judge's tokens; None if it is not stored or damaged."""
        with ledger_errors(self.path):
            found = select_token_count(self._reader, judge.digest, messages)
        return self._base.token_count(judge, messages) if found is None and self._base is not None else found

    def judges(self) -> list[EngineIdentity]:
        """Return the identities of all judges, the one with the latest reply first.

        Raises:
            LedgerCorrupt: A row is damaged.
        """
        with ledger_errors(self.path):
            try:
                return [verify_judge(*row).identity for row in self._reader.execute(_JUDGES)]
            except ValueError as error:
                raise damage_error(self.path, str(error)) from None

    def failures(self, key: str) -> list[Failure]:
        """Return the failures stored under `key`, oldest first."""
        sql = "SELECT kind, detail, attempts FROM failures WHERE key=? ORDER BY created, rowid"
        with ledger_errors(self.path):
            rows = self._reader.execute(sql, (key,))
            return [Failure(kind=kind, detail=detail, attempts=attempts) for kind, detail, attempts in rows]

    def reply(self, key: str) -> Trace | None:
        """Return a stored reply with its full prompt, judge, schema and sampling.

        Raises:
            LedgerCorrupt: The reply or its request is damaged.
        """
        with ledger_errors(self.path):
            found = self.get(key)
        if found is None:
            return None
        asked = self.request(key)
        return Trace(
            reply=found,
            judge=asked.judge.identity,
            prompt=asked.prompt,
            messages=asked.messages,
            json_schema=None if asked.schema is None else json.loads(asked.schema),
            sampling=asked.sampling,
            options=asked.options,
            draw=asked.draw,
            attempt=asked.attempt,
        )

    def request_keys(self) -> list[str]:
        """Return the keys of all stored requests, answered or not, in the order in which they were stored."""
        with ledger_errors(self.path):
            return [key for (key,) in self._reader.execute("SELECT key FROM requests ORDER BY rowid")]

    def request(self, key: str) -> Request:
        """Return a stored request with its texts and its judge.

        Raises:
            LedgerCorrupt: It is missing or damaged.
        """
        with ledger_errors(self.path):
            try:
                return select_request(self._reader, key)
            except ValueError as error:
                raise damage_error(self.path, str(error)) from None

    def explain(self, request: Request) -> Explanation:
        """Compare a request with the most similar stored call, by the parts of the key.

        A call with the same question is most similar, then one about the same report or page. It reads the whole table
        of requests, so that it is slow.
        """
        with ledger_errors(self.path):
            if self.get(request.key) is not None:
                return Explanation(hit=True, nearest=request.key)
            try:
                return explain_miss(self._reader, request)
            except DamagedText as error:
                raise damage_error(self.path, str(error)) from None

    def stats(self) -> LedgerStats:
        """Return sums over all replies but the damaged ones, which are never used."""
        with ledger_errors(self.path):
            replies = (reply for reply in select_replies(self._reader) if isinstance(reply, Reply))
            calls = [(reply.usage, reply.created, reply.latency) for reply in replies]
            return LedgerStats(
                replies=len(calls),
                prompt_tokens=sum(usage.prompt_tokens for usage, _, _ in calls),
                cached_tokens=sum(usage.cached_tokens or 0 for usage, _, _ in calls),
                warm_tokens=self._reader.execute(_WARM).fetchone()[0],
                completion_tokens=sum(usage.completion_tokens for usage, _, _ in calls),
                busy_seconds=_busy((created, latency) for _, created, latency in calls),
            )

    def _writable(self) -> Writer:
        if self._writer is None:
            raise LedgerReadOnly(
                f"ledger {self.path}: opened for reading; open it for writing to store replies"
            )
        return self._writer


def _busy(calls: Iterable[tuple[str, float]]) -> float:
    """Return the length of the union of the calls' intervals, given by start (`created`) and `latency`, in seconds."""
    starts = [(datetime.fromisoformat(created).timestamp(), latency) for created, latency in calls]
    total, until = 0.0, float("-inf")
    for start, end in sorted((start, start + latency) for start, latency in starts):
        total += max(0.0, end - max(start, until))
        until = max(until, end)
    return total


_SET_TOKEN_COUNT = """
INSERT INTO token_counts VALUES (?,?,?,?)
ON CONFLICT (judge, messages) DO UPDATE SET tokens = excluded.tokens, digest = excluded.digest
"""

_JUDGES = """
SELECT digest, identity FROM judges ORDER BY (
    SELECT max(replies.rowid) FROM replies JOIN requests USING (key) WHERE judge = judges.digest
) DESC NULLS LAST, judges.rowid DESC
"""

_WARM = """
SELECT coalesce(sum(cached_tokens), 0) FROM replies WHERE rowid IN (
    SELECT min(replies.rowid) FROM replies JOIN requests USING (key) GROUP BY prefix
)
"""
