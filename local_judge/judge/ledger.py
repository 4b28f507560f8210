"""The store of judges' replies.

Invariant: a reply is committed before anything can read it (reading goes through its own connection, which
sees committed rows only); the first reply stored under a key stays; failures are kept beside and never
replayed. A report's text is stored once, however many calls were made about it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from local_judge.judge.calibration import Calibration
from local_judge.judge.errors import LedgerReadOnly
from local_judge.judge.failures import Failure
from local_judge.judge.layout import Prompt
from local_judge.judge.ledger_calibrations import insert_calibrations, select_calibrations
from local_judge.judge.ledger_explain import Explanation, nearest, request_parts
from local_judge.judge.ledger_file import connect, connect_to_read, ledger_errors
from local_judge.judge.ledger_texts import insert_text, read_text
from local_judge.judge.ledger_writer import Writer
from local_judge.judge.requests import Reply, Request, canonical, now
from serving.types import EngineIdentity, Frozen, Message, Sampling, Usage

_REPLY = (
    "key, text, reasoning, finish_reason, logprobs, bounded, "
    "prompt_tokens, completion_tokens, cached_tokens, created, latency"
)


class Trace(Frozen):
    """A stored reply with all that it answers: what a number can be traced to."""

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
    """What a ledger holds."""

    requests: int
    replies: int
    failures: int
    judges: int
    texts: int
    prompt_tokens: int
    cached_tokens: int
    warm_tokens: int
    """Of these, those of the first call of each prefix: in the engine's cache before this ledger asked."""
    completion_tokens: int
    bytes: int
    busy_seconds: float
    """In which at least one of the calls was under way."""


class Ledger:
    """Replies by key. Make one with `open`; close it when done (it is a context manager)."""

    def __init__(self, path: Path, reader: sqlite3.Connection, writer: Writer | None) -> None:
        self.path = path
        self._reader = reader
        self._writer = writer
        self._known: set[Any] = set()
        """Digests of judges and of shared texts whose rows are committed."""

    @classmethod
    def open(cls, path: str | Path, *, read_only: bool = False) -> Ledger:
        """The ledger at `path`, made if there is none.

        Read-only, a missing file reads as an empty ledger, and none is made.

        Raises:
            LedgerError: any of its kinds; a file that is not a ledger is refused and left as it was.
        """
        path = Path(path)
        writer = None if read_only else Writer(connect(path), path)
        try:
            return cls(path, connect_to_read(path), writer)
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
        """Write what is still queued and release the file. Idempotent."""
        self._reader.close()
        if self._writer is not None:  # last, so that it folds the write-ahead log into the file
            self._writer.close()

    @property
    def read_only(self) -> bool:
        """Whether `put` is refused."""
        return self._writer is None

    def get(self, key: str) -> Reply | None:
        """The reply stored under `key`."""
        with ledger_errors(self.path):
            return _select(self._reader, key)

    async def put(self, request: Request, reply: Reply) -> Reply:
        """Store a reply, and return the stored one once it is committed.

        A reply that was there already stays, and is the one returned.

        Raises:
            LedgerError: it could not be stored.
        """

        def work(connection: sqlite3.Connection) -> Reply:
            self._insert_request(connection, request)
            usage = reply.usage
            row = (
                reply.key,
                reply.text,
                reply.reasoning,
                reply.finish_reason,
                None if reply.logprobs is None else canonical(reply.logprobs),
                None if reply.logprobs is None else canonical(reply.bounded),
                usage.prompt_tokens,
                usage.completion_tokens,
                usage.cached_tokens,
                reply.created,
                reply.latency,
            )
            sql = f"INSERT OR IGNORE INTO replies ({_REPLY}) VALUES (?,?,?,?,?,?,?,?,?,?,?)"
            if connection.execute(sql, row).rowcount:
                return reply
            return _select(connection, reply.key) or reply

        stored = await self._write(work)
        self._note_committed(request)
        return stored

    async def put_failure(self, request: Request, failure: Failure) -> None:
        """Keep the record of a call that was not answered."""

        def work(connection: sqlite3.Connection) -> None:
            self._insert_request(connection, request)
            connection.execute(
                "INSERT INTO failures VALUES (?,?,?,?,?)",
                (request.key, failure.kind, failure.detail, failure.attempts, now()),
            )

        await self._write(work)

    async def put_calibrations(self, calibrations: Iterable[Calibration]) -> None:
        """Make these, which were fitted together, the calibrations that count; older ones stay in the file.

        Raises:
            LedgerError: they could not be stored.
        """
        kept = tuple(calibrations)

        def work(connection: sqlite3.Connection) -> None:
            insert_calibrations(connection, kept)

        await self._write(work)

    def calibrations(self, judge: str) -> tuple[Calibration, ...]:
        """Those that count of the judge whose identity has this digest, by question, prompt and language."""
        with ledger_errors(self.path):
            return select_calibrations(self._reader, judge)

    def failures(self, key: str) -> list[Failure]:
        """The failed calls recorded under `key`, oldest first."""
        sql = "SELECT kind, detail, attempts FROM failures WHERE key=? ORDER BY rowid"
        with ledger_errors(self.path):
            rows = self._reader.execute(sql, (key,)).fetchall()
        return [Failure(kind=kind, detail=detail, attempts=attempts) for kind, detail, attempts in rows]

    def reply(self, key: str) -> Trace | None:
        """A stored reply with its full prompt, judge, schema and sampling."""
        with ledger_errors(self.path):
            found = _select(self._reader, key)
            if found is None:
                return None
            row = self._reader.execute(
                "SELECT identity, system, shared, own, schema, sampling, options, prefix, draw, attempt "
                "FROM requests JOIN judges ON judges.digest = requests.judge WHERE key=?",
                (key,),
            ).fetchone()
            system, shared, own = (read_text(self._reader, digest) for digest in row[1:4])
            schema = None if row[4] is None else json.loads(read_text(self._reader, row[4]))
        user = shared + own
        messages = (Message(role="system", content=system), Message(role="user", content=user))
        sampling = json.loads(row[5])
        return Trace(
            reply=found,
            judge=EngineIdentity.model_validate_json(row[0]),
            prompt=Prompt(shared=shared, own=own.removeprefix("\n\n"), prefix_key=row[7], system=system),
            messages=messages,
            json_schema=schema,
            sampling=None if sampling is None else Sampling.model_validate(sampling),
            options=tuple(json.loads(row[6])),
            draw=row[8],
            attempt=row[9],
        )

    def explain(self, request: Request) -> Explanation:
        """Which parts of the key differ from the stored call that has most in common with the request.

        A call with the same question counts as nearest, then one about the same report or page. Reads the
        whole table of requests: for people who wonder, not for the hot path.
        """
        with ledger_errors(self.path):
            if _select(self._reader, request.key) is not None:
                return Explanation(hit=True, nearest=request.key)
            return nearest(self._reader, request)

    def stats(self) -> LedgerStats:
        """Counts over the whole ledger."""
        with ledger_errors(self.path):

            def one(sql: str) -> tuple[int, ...]:
                return self._reader.execute(sql).fetchone()

            tokens = one(
                "SELECT count(*), coalesce(sum(prompt_tokens), 0), coalesce(sum(cached_tokens), 0), "
                "coalesce(sum(completion_tokens), 0) FROM replies"
            )
            return LedgerStats(
                requests=one("SELECT count(*) FROM requests")[0],
                replies=tokens[0],
                failures=one("SELECT count(*) FROM failures")[0],
                judges=one("SELECT count(*) FROM judges")[0],
                texts=one("SELECT count(*) FROM texts")[0],
                prompt_tokens=tokens[1],
                cached_tokens=tokens[2],
                warm_tokens=one(_WARM)[0],
                completion_tokens=tokens[3],
                bytes=one("PRAGMA page_count")[0] * one("PRAGMA page_size")[0],
                busy_seconds=_busy(self._reader.execute("SELECT created, latency FROM replies")),
            )

    async def _write(self, work: Callable[[sqlite3.Connection], Any]) -> Any:
        if self._writer is None:
            raise LedgerReadOnly(
                f"ledger {self.path}: opened for reading; open it for writing to store replies"
            )
        return await self._writer.write(work)

    def _insert_request(self, connection: sqlite3.Connection, request: Request) -> None:
        prompt = request.prompt
        parts = request_parts(request)
        if parts["judge"] not in self._known:
            connection.execute(
                "INSERT OR IGNORE INTO judges VALUES (?,?)", (parts["judge"], request.judge.json)
            )
        shared = {"system": prompt.system, "shared": prompt.shared, "schema": request.schema}
        for name, text in shared.items():
            if text is not None and parts[name] not in self._known:
                insert_text(connection, parts[name], text)
        insert_text(connection, parts["own"], prompt.rest)
        connection.execute(
            "INSERT OR IGNORE INTO requests VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
            (
                request.key,
                *(parts[name] for name in _COLUMNS),
                prompt.prefix_key,
                request.draw,
                request.attempt,
            ),
        )

    def _note_committed(self, request: Request) -> None:
        """Rows that many calls share are not asked for again. To be called after the commit, not before."""
        if len(self._known) > _KNOWN_AT_MOST:
            self._known.clear()
        parts = request_parts(request)
        self._known.update(parts[name] for name in ("judge", "system", "shared", "schema"))


def _busy(calls: Iterable[tuple[str, float]]) -> float:
    """Seconds that the calls take up together: `created` is when a call began, and `latency` how long it took."""
    starts = [(datetime.fromisoformat(created).timestamp(), latency) for created, latency in calls]
    total, until = 0.0, float("-inf")
    for start, end in sorted((start, start + latency) for start, latency in starts):
        total += max(0.0, end - max(start, until))
        until = max(until, end)
    return total


_COLUMNS = ("judge", "system", "shared", "own", "schema", "sampling", "kind", "options")

_KNOWN_AT_MOST = 4096

_WARM = """
SELECT coalesce(sum(cached_tokens), 0) FROM replies WHERE rowid IN (
    SELECT min(replies.rowid) FROM replies JOIN requests USING (key) GROUP BY prefix
)
"""


def _select(connection: sqlite3.Connection, key: str) -> Reply | None:
    row = connection.execute(f"SELECT {_REPLY} FROM replies WHERE key=?", (key,)).fetchone()
    if row is None:
        return None
    return Reply(
        key=row[0],
        kind="generate" if row[4] is None else "choose",
        text=row[1],
        reasoning=row[2],
        finish_reason=row[3],
        logprobs=None if row[4] is None else json.loads(row[4]),
        bounded=() if row[5] is None else tuple(json.loads(row[5])),
        usage=Usage(prompt_tokens=row[6], completion_tokens=row[7], cached_tokens=row[8]),
        created=row[9],
        latency=row[10],
    )
