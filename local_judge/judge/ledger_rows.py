"""Conversion of a ledger's rows to models, with verification.

Invariant: a reply is returned only if its row matches its digest, and a request only if its parts hash to its key. A
text is stored once, under the SHA-256 of its UTF-8 bytes, and is returned unchanged or not at all.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import zlib
from collections.abc import Callable, Container, Iterator
from functools import lru_cache, partial
from typing import Any

from pydantic import ValidationError

from local_judge.judge.errors import CorruptReply
from local_judge.judge.layout import Prompt
from local_judge.judge.requests import Identified, Reply, Request, canonical, row_digest, sha256
from serving.types import EngineIdentity, Sampling, Usage

SHORT = 1024
"""Maximum characters of a text that is stored uncompressed, since zlib's set-up time exceeds the gain."""

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


def request_rows(request: Request, known: Container[Any] = ()) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Yield the rows of a request, each with its table, in an order in which they can be inserted.

    Args:
        request: Request to store.
        known: Digests of judges and of texts that calls share which are stored already; their rows are left out.
    """
    prompt = request.prompt
    parts = request_parts(request)
    if parts["judge"] not in known:
        yield "judges", (parts["judge"], request.judge.json)
    shared = {"system": prompt.system, "shared": prompt.shared, "schema": request.schema}
    for name, text in shared.items():
        if text is not None and parts[name] not in known:
            yield "texts", text_row(parts[name], text)
    yield "texts", text_row(parts["own"], prompt.rest)
    place = (prompt.prefix_key, request.draw, request.attempt)
    yield "requests", (request.key, *(parts[name] for name in _PARTS), *place)


_PARTS = ("judge", "system", "shared", "own", "schema", "sampling", "kind", "options")


def shared_parts(request: Request) -> list[Any]:
    """Return the digests of the judge and the texts that calls share, which `request_rows` leaves out if known."""
    parts = request_parts(request)
    return [parts[name] for name in ("judge", "system", "shared", "schema")]


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


def select_reply(connection: sqlite3.Connection, key: str) -> Reply | None:
    """Return the reply stored under `key`.

    Raises:
        CorruptReply: The row cannot be read, or does not match its digest.
    """
    try:
        row = connection.execute("SELECT * FROM replies WHERE key=?", (key,)).fetchone()
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
    return checked_reply(row)


def checked_reply(row: tuple[Any, ...]) -> Reply:
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


def rebuilt_request(
    connection: sqlite3.Connection, key: str, text_of: Callable[[bytes], str] | None = None
) -> Request:
    """Return the request stored under `key`, with its texts and its judge.

    Args:
        connection: Connection to the ledger.
        key: Key of the request.
        text_of: Function that returns a text by its digest; None for `read_text`.

    Raises:
        ValueError: A part is missing or damaged, or the parts do not hash to the key; the message names it.
    """
    row = connection.execute(
        "SELECT judge, system, shared, own, schema, sampling, kind, options, prefix, draw, attempt "
        "FROM requests WHERE key=?",
        (key,),
    ).fetchone()
    if row is None:
        raise ValueError(f"request {key[:12]}: missing")
    text_of = text_of or partial(read_text, connection)
    system, shared, own = (text_of(digest) for digest in row[1:4])
    schema = None if row[4] is None else text_of(row[4])
    found = connection.execute("SELECT identity FROM judges WHERE digest=?", (row[0],)).fetchone()
    if found is None:
        raise ValueError(f"judge {str(row[0])[:12]}: missing")
    try:
        judge = checked_judge(row[0], found[0])
        sampling = json.loads(row[5])
        request = Request(
            judge,
            Prompt(shared=shared, own=own.removeprefix("\n\n"), prefix_key=row[8], system=system),
            row[6],
            sampling=None if sampling is None else Sampling.model_validate(sampling),
            schema=schema,
            options=tuple(json.loads(row[7])),
            draw=row[9],
            attempt=row[10],
        )
    except (TypeError, ValidationError, json.JSONDecodeError, RecursionError):
        raise ValueError(f"request {key[:12]}: does not hash to its key") from None
    if request.key != key:
        raise ValueError(f"request {key[:12]}: does not hash to its key")
    return request


def checked_judge(digest: object, identity: object) -> Identified:
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


def select_token_count(connection: sqlite3.Connection, judge: str, messages: str) -> int | None:
    """Return the length of a prompt in tokens; None if it is not stored, or its row does not match its digest."""
    sql = "SELECT * FROM token_counts WHERE judge=? AND messages=?"
    row = connection.execute(sql, (judge, messages)).fetchone()
    return row[2] if row is not None and row_digest(row[:-1]) == row[-1] else None


class DamagedText(ValueError):
    """A text is missing, cannot be decompressed, or does not match its digest."""


def text_row(digest: bytes, text: str) -> tuple[bytes, str | bytes]:
    """Return the row of `texts` for a text."""
    return digest, text if len(text) <= SHORT else zlib.compress(text.encode(), 1)


def read_text(connection: sqlite3.Connection, digest: bytes) -> str:
    """Return the text stored under `digest`.

    Raises:
        DamagedText: It is missing or damaged.
    """
    row = connection.execute("SELECT body FROM texts WHERE digest=?", (digest,)).fetchone()
    if row is None:
        raise DamagedText(f"text {_name(digest)}: missing")
    return checked_text(digest, row[0])


def checked_text(digest: object, body: object) -> str:
    """Return the text in a row of `texts`.

    Raises:
        DamagedText: It is damaged.
    """
    try:
        content = body.encode() if isinstance(body, str) else _unpacked(body)
        if hashlib.sha256(content).digest() == digest:
            return content.decode()
    except (zlib.error, UnicodeError, TypeError) as error:
        raise DamagedText(f"text {_name(digest)}: {error}") from None
    raise DamagedText(f"text {_name(digest)}: does not match its digest")


def _unpacked(body: object) -> bytes:
    if not isinstance(body, bytes):
        raise TypeError(f"a {type(body).__name__} in place of a text")
    unpacking = zlib.decompressobj()
    content = unpacking.decompress(body, MAX_TEXT_BYTES)
    if not unpacking.eof:
        raise zlib.error("cut off, or too large")
    return content


def _name(digest: object) -> str:
    return digest.hex()[:12] if isinstance(digest, bytes) else repr(digest)[:40]


def holds(check: Callable[..., object], *given: Any) -> bool:
    """Check whether a function that checks a row raises no error."""
    try:
        check(*given)
    except (CorruptReply, ValueError, TypeError):
        return False
    return True
