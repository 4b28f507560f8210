"""Conversion of a ledger's rows to models, with verification.

Invariant: a reply is returned only if its row matches its digest, and a request only if its parts hash to its key. A
text is stored once, under the SHA-256 of its UTF-8 bytes, and is returned unchanged or not at all.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from pydantic import ValidationError

from local_judge.ledger.database import COLUMNS, Database, Row, select
from local_judge.ledger.errors import CorruptReply
from local_judge.ledger.requests import Identified, Reply, Request, canonical, row_digest, sha256
from local_judge.prompts import Prompt
from serving.types import EngineIdentity, Sampling, Usage

SHORT = 1024
"""Maximum characters of a text that is stored uncompressed, since zlib's set-up time exceeds the gain."""

UNASKED = """
SELECT key FROM replies WHERE NOT EXISTS (SELECT 1 FROM requests WHERE requests.key = replies.key) ORDER BY key
"""
"""Query for the replies without a request."""

_TEXTS_KEPT = 256
"""Number of texts of `StoredRequests` in memory, so that one that requests share is decompressed and hashed once."""

MAX_TEXT_BYTES = 256 << 20
"""Maximum size of an uncompressed text; a larger one counts as damaged."""


@lru_cache(maxsize=64)
def _digest(text: str) -> bytes:
    # Cached for the texts that many calls share.
    return hashlib.sha256(text.encode()).digest()


def request_parts(request: Request) -> dict[str, Any]:
    """Return the parts of a request as in the columns of `requests`, with texts by digest."""
    prompt = request.prompt
    return {
        "judge": request.judge.digest,
        "system": _digest(prompt.system),
        "shared": _digest(prompt.shared),
        "own": hashlib.sha256(prompt.rest.encode()).digest(),
        "schema": None if request.schema is None else _digest(request.schema),
        "sampling": request.sampling_json,
        "kind": request.kind,
        "options": canonical(request.options),
        "draw": request.draw,
        "attempt": request.attempt,
    }


def insert_requests(connection: Database, requests: Iterable[Request]) -> None:
    """Insert requests with judges and texts in the caller's transaction, without the rows that are stored already.

    What is stored is looked up each time, which takes microseconds: another process may have removed it.
    """
    judges: dict[str, str] = {}
    texts: dict[bytes, str] = {}
    rows: list[Row] = []
    for request in requests:
        prompt, parts = request.prompt, request_parts(request)
        judges[parts["judge"]] = request.judge.json
        texts[parts["system"]], texts[parts["shared"]] = prompt.system, prompt.shared
        if request.schema is not None:
            texts[parts["schema"]] = request.schema
        texts[parts["own"]] = prompt.rest
        place = (prompt.prefix_key, request.draw, request.attempt)
        rows.append((request.key, *(parts[name] for name in _PARTS), *place))
    long = [digest for digest, text in texts.items() if len(text) > SHORT]
    stored = {digest for (digest,) in select(connection, "texts", "digest", long, "digest")}
    connection.insert("judges", list(judges.items()))
    connection.insert("texts", [text_row(*one) for one in texts.items() if one[0] not in stored])
    connection.insert("requests", rows)


_PARTS = ("judge", "system", "shared", "own", "schema", "sampling", "kind", "options")


def reply_row(reply: Reply) -> tuple[Any, ...]:
    """Return the row of `replies` for a reply, with its digest last."""
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
        float(reply.latency),  # as SQLite gives it back
    )
    return (*row, row_digest(row))


def select_reply(connection: Database, key: str) -> Reply | None:
    """Return the reply stored under `key`.

    Raises:
        CorruptReply: The row cannot be read, or does not match its digest.
    """
    try:
        row = connection.execute(f"SELECT {COLUMNS['replies']} FROM replies WHERE key=?", (key,)).fetchone()
    except sqlite3.OperationalError as error:
        if "decode" not in str(error):  # text that is no UTF-8
            raise
        raise CorruptReply(f"reply {key[:12]}: not UTF-8") from None
    except sqlite3.DatabaseError as error:
        if "malformed" not in str(error):
            raise
        raise CorruptReply(f"reply {key[:12]}: {error}") from None
    if row is None:
        return None
    if row[0] != key:
        raise CorruptReply(f"reply {key[:12]}: its place holds another row")
    return verify_reply(row)


def select_replies(connection: Database) -> Iterator[Reply | CorruptReply]:
    """Yield all replies in the order of their insertion; for each one that `select_reply` refuses, its error."""
    for (key,) in connection.execute("SELECT key FROM replies ORDER BY rowid").fetchall():
        try:
            reply = select_reply(connection, str(key))
        except CorruptReply as error:
            yield error
        else:
            yield reply or CorruptReply(f"reply {str(key)[:12]}: not found under its key")


def verify_reply(row: tuple[Any, ...]) -> Reply:
    """Return the reply in a row of `replies`.

    Raises:
        CorruptReply: The row does not match its digest.
    """
    if row_digest(row[:-1]) != row[-1]:
        raise CorruptReply(f"reply {str(row[0])[:12]}: does not match its digest")
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


class StoredRequests:
    """Requests of a ledger with their texts and judges, of which many are read at once."""

    def __init__(self, connection: Database) -> None:
        self._connection = connection
        self._rows: dict[str, Row] = {}
        self._bodies: dict[bytes, Any] = {}
        self._text_of = lru_cache(_TEXTS_KEPT)(self._checked)
        self.judge_of = lru_cache(_TEXTS_KEPT)(self._judge)

    def read(self, keys: Sequence[str]) -> None:
        """Read the rows of requests and their texts, instead of those that were read before."""
        sent = [key for key in keys if is_text(key)]
        self._rows = {row[0]: row for row in select(self._connection, "requests", "key", sent)}
        digests = dict.fromkeys(digest for row in self._rows.values() for digest in row[2:6])
        known = [digest for digest in digests if isinstance(digest, bytes)]
        self._bodies = dict(select(self._connection, "texts", "digest", known))

    def request(self, key: str) -> Request:
        """Return a request.

        Raises:
            ValueError: A part is missing or damaged, or the parts do not hash to the key; the message names it.
        """
        try:
            if key not in self._rows:
                self.read([key])
            if not is_text(key):
                raise ValueError(f"request {str(key)[:12]}: not UTF-8")
            if key not in self._rows:
                raise ValueError(f"request {str(key)[:12]}: missing")
            request = self._rebuilt(self._rows[key])
        except UnicodeError:
            raise ValueError(f"request {str(key)[:12]}: not UTF-8") from None
        except (TypeError, ValidationError, json.JSONDecodeError, RecursionError):
            raise ValueError(f"request {str(key)[:12]}: does not hash to its key") from None
        if request.key != key:
            raise ValueError(f"request {str(key)[:12]}: does not hash to its key")
        return request

    def _rebuilt(self, row: Row) -> Request:
        _, judge, system, shared, own, schema, sampling, kind, options, prefix, draw, attempt = row
        rendered = None if sampling == "null" else Sampling.model_validate(json.loads(sampling))
        prompt = Prompt(
            shared=self._text_of(shared),
            own=self._text_of(own).removeprefix("\n\n"),
            prefix_key=prefix,
            system=self._text_of(system),
        )
        return Request(
            self.judge_of(judge),
            prompt,
            kind,
            sampling=rendered,
            schema=None if schema is None else self._text_of(schema),
            options=tuple(json.loads(options)),
            draw=draw,
            attempt=attempt,
        )

    def _checked(self, digest: bytes) -> str:
        if digest not in self._bodies:
            raise DamagedText(f"text {_name(digest)}: missing")
        return verify_text(digest, self._bodies[digest])

    def _judge(self, digest: str) -> Identified:
        rows = select(self._connection, "judges", "digest", [digest])
        if not rows:
            raise ValueError(f"judge {str(digest)[:12]}: missing")
        return verify_judge(*rows[0])


def select_request(connection: Database, key: str) -> Request:
    """Return the request stored under `key`; raises ValueError as `StoredRequests.request` does."""
    return StoredRequests(connection).request(key)


def verify_judge(digest: object, identity: object) -> Identified:
    """Return the judge in a row of `judges`.

    Raises:
        ValueError: The identity does not match its digest.
    """
    if not isinstance(identity, str) or sha256(identity) != digest:
        raise ValueError(f"judge {str(digest)[:12]}: does not match its digest")
    return Identified.of(EngineIdentity.model_validate_json(identity))


def token_count_row(judge: str, messages: str, tokens: int) -> tuple[Any, ...]:
    """Return the row of `token_counts` for the length of a prompt, with its digest last."""
    row = (judge, messages, tokens)
    return (*row, row_digest(row))


def select_token_count(connection: Database, judge: str, messages: str) -> int | None:
    """Return the length of a prompt in tokens; None if it is not stored, or its row does not match its digest."""
    rows = select(connection, "token_counts", "messages", [messages], judge=judge)
    return rows[0][2] if rows and is_token_count(rows[0]) else None


def is_token_count(row: Row) -> bool:
    """Check whether a row of `token_counts` matches its digest."""
    return row_digest(row[:-1]) == row[-1]


class DamagedText(ValueError):
    """A text is missing, cannot be decompressed, or does not match its digest."""


def text_row(digest: bytes, text: str) -> tuple[bytes, str | bytes]:
    """Return the row of `texts` for a text."""
    return digest, text if len(text) <= SHORT else zlib.compress(text.encode(), 1)


def read_text(connection: Database, digest: bytes) -> str:
    """Return the text stored under `digest`.

    Raises:
        DamagedText: It is missing or damaged.
    """
    row = connection.execute("SELECT body FROM texts WHERE digest=?", (digest,)).fetchone()
    if row is None:
        raise DamagedText(f"text {_name(digest)}: missing")
    return verify_text(digest, row[0])


def verify_text(digest: object, body: object) -> str:
    """Return the text in a row of `texts`.

    Raises:
        DamagedText: It is damaged.
    """
    try:
        content = body.encode() if isinstance(body, str) else _decompress(body)
        if hashlib.sha256(content).digest() == digest:
            return content.decode()
    except (zlib.error, UnicodeError, TypeError) as error:
        raise DamagedText(f"text {_name(digest)}: {error}") from None
    raise DamagedText(f"text {_name(digest)}: does not match its digest")


def _decompress(body: object) -> bytes:
    if not isinstance(body, bytes):
        raise TypeError(f"a {type(body).__name__} in place of a text")
    unpacking = zlib.decompressobj()
    content = unpacking.decompress(body, MAX_TEXT_BYTES)
    if not unpacking.eof:
        raise zlib.error("cut off, or too large")
    return content


def _name(digest: object) -> str:
    return digest.hex()[:12] if isinstance(digest, bytes) else repr(digest)[:40]


def is_text(value: object) -> bool:
    """Check whether a value is a text that a database can store."""
    return isinstance(value, str) and passes(value.encode)


def passes(check: Callable[..., object], *values: Any) -> bool:
    """Check whether a function that checks a row raises no error."""
    try:
        check(*values)
    except (CorruptReply, ValueError, TypeError):
        return False
    return True
