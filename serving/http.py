"""HTTP to a model server, and nothing else.

Invariant: a socket is opened to the URL that was given and to no other: redirects are not followed, proxy
settings and .netrc of the environment are not read, cookies are not kept. Whatever goes wrong leaves as one
`serving.errors.EngineError` whose one-line message names the URL and the remedy, and a body is never read
beyond `MAX_BODY` bytes.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Any, cast

import aiohttp
from yarl import URL

from serving.errors import (
    EngineError,
    EngineFault,
    EngineOverloaded,
    EngineTimeout,
    EngineUnreachable,
    KeyRefused,
    MalformedReply,
    PromptTooLong,
    RequestRefused,
)

MAX_BODY = 32 << 20
"""Bytes; far above the longest reply of a model, with log-probabilities."""

CONNECT_SECONDS = 10.0

GET_SECONDS = 60.0
"""Bound of a GET, which asks for facts and no model's work; the time limit where that is shorter."""

HEALTH_SECONDS = 10.0
"""Bound of a health check."""

_TOO_LONG = re.compile(
    r"context[ _](?:length|window|size)|maximum context|max_model_len|max_total_tokens|too many tokens"
    r"|prompt is too long|input is too long|(?:inputs?|prompt) tokens? .{0,40}(?:exceed|must be <=)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Answer:
    """A complete answer with status 200."""

    url: str
    body: bytes


class HttpClient:
    """One pool of connections. Must be made and used inside one event loop."""

    def __init__(self, *, api_key: str | None, timeout: float) -> None:
        headers = {"Accept-Encoding": "identity", "Content-Type": "application/json"}
        self._secret = api_key.encode() if api_key else None
        if api_key:
            headers["Authorization"] = f"Bearer {api_key}"
        self._post_limit = aiohttp.ClientTimeout(total=timeout, sock_connect=CONNECT_SECONDS)
        self._get_limit = aiohttp.ClientTimeout(total=min(timeout, GET_SECONDS), sock_connect=CONNECT_SECONDS)
        self._session = aiohttp.ClientSession(
            # The caller bounds the requests in flight; a bound here would count waiting as answering.
            connector=aiohttp.TCPConnector(limit=0),
            headers=headers,
            skip_auto_headers=["User-Agent"],
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trust_env=False,
        )

    async def aclose(self) -> None:
        """Close all connections."""
        await self._session.close()

    async def get(self, url: str) -> Answer:
        """GET; raises EngineError for anything but a complete 200."""
        return await self._exchange("GET", url, None)

    async def answers(self, url: str) -> bool:
        """Whether a GET is answered within `HEALTH_SECONDS`, with whatever status but one that says of a fault."""
        try:
            async with asyncio.timeout(HEALTH_SECONDS):
                await self.get(url)
        except TimeoutError:
            return False
        except EngineError as error:
            return not error.retryable
        return True

    async def post(self, url: str, body: bytes) -> Answer:
        """POST JSON; raises EngineError for anything but a complete 200."""
        return await self._exchange("POST", url, body)

    @asynccontextmanager
    async def stream(self, url: str, body: bytes) -> AsyncGenerator[AsyncIterator[bytes]]:
        """POST JSON and iterate the answer's lines as they come (without line ends)."""
        try:
            async with self._request("POST", url, body) as response:
                if response.status != 200:
                    raise await self._refused(url, response)
                yield _lines(url, response)
        except (aiohttp.ClientError, TimeoutError) as error:
            raise _broken(url, self._post_limit, error) from error

    async def _exchange(self, method: str, url: str, body: bytes | None) -> Answer:
        try:
            async with self._request(method, url, body) as response:
                if response.status != 200:
                    raise await self._refused(url, response)
                return Answer(url, await _read(url, response))
        except (aiohttp.ClientError, TimeoutError) as error:
            raise _broken(url, self._get_limit if body is None else self._post_limit, error) from error

    def _request(
        self, method: str, url: str, body: bytes | None
    ) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        limit = self._get_limit if body is None else self._post_limit
        return self._session.request(method, _parsed(url), data=body, allow_redirects=False, timeout=limit)

    async def _refused(self, url: str, response: aiohttp.ClientResponse) -> EngineError:
        said = await _read(url, response)
        if self._secret is not None:  # some servers quote the key that they refuse
            said = said.replace(self._secret, b"***")
        return refusal(url, response.status, response.headers, said)


@lru_cache(maxsize=256)
def _parsed(url: str) -> URL:
    """One URL serves thousands of requests."""
    return URL(url)


def _broken(url: str, limit: aiohttp.ClientTimeout, error: Exception) -> EngineError:
    """The error that a failed exchange means."""
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return EngineUnreachable(
            f"{url} took no connection within {CONNECT_SECONDS:g} s; check host and port"
        )
    if isinstance(error, TimeoutError):
        return EngineTimeout(
            f"{url} did not answer within {limit.total:g} s; raise the time limit or send less at once"
        )
    if isinstance(error, aiohttp.ClientConnectorError):
        why = _one_line(str(error.os_error))
        return EngineUnreachable(f"{url} cannot be reached ({why}); check that the server runs")
    if isinstance(
        error, (aiohttp.ClientPayloadError, aiohttp.ClientOSError, aiohttp.ServerDisconnectedError)
    ):
        return EngineUnreachable(
            f"{url} closed the connection before its answer was complete; look at the server's log"
        )
    why = _one_line(str(error))
    return MalformedReply(f"{url} does not answer in HTTP ({why}); check the address and the port")


def _check_size(url: str, response: aiohttp.ClientResponse, size: int) -> None:
    """Refuse a body as soon as it is longer than MAX_BODY."""
    if size > MAX_BODY:
        response.close()
        raise MalformedReply(f"{url} answers with more than {MAX_BODY >> 20} MiB; this is no model server")


async def _read(url: str, response: aiohttp.ClientResponse) -> bytes:
    """The body, refused as soon as it is longer than MAX_BODY."""
    pieces: list[bytes] = []
    size = 0
    async for piece in response.content.iter_any():
        size += len(piece)
        _check_size(url, response, size)
        pieces.append(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


async def _lines(url: str, response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    rest: list[bytes] = []
    size = 0
    async for piece in response.content.iter_any():
        size += len(piece)
        _check_size(url, response, size)
        first, *others = piece.split(b"\n")
        rest.append(first)
        for start in others:
            yield b"".join(rest).rstrip(b"\r")
            rest = [start]
    if last := b"".join(rest):
        yield last


def refusal(url: str, status: int, headers: Mapping[str, str], body: bytes) -> EngineError:
    """The error that an HTTP status other than 200 means."""
    detail = _detail(body)
    said = f"{url} answered HTTP {status}" + (f" ({detail})" if detail else "")
    if status in (429, 503):
        remedy = "the server is overloaded: lower the concurrency or try later"
        return EngineOverloaded(f"{said}; {remedy}", retry_after=_retry_after(headers.get("Retry-After")))
    if status >= 500:
        return EngineFault(f"{said}; look at the server's log")
    if status == 408:
        return EngineTimeout(f"{said}; send less at once")
    if status == 413 or (status in (400, 422) and _TOO_LONG.search(detail)):
        return PromptTooLong(f"{said}; shorten the prompt or serve the model with a longer context")
    if status in (401, 403):
        refused = KeyRefused if status == 401 else RequestRefused
        return refused(f"{said}; give the API key that this server takes")
    if status == 404:
        return RequestRefused(f"{said}; check the base URL (it usually ends in /v1) and the model name")
    if 300 <= status < 400:
        return RequestRefused(f"{said}; redirects are not followed: give the final address")
    return RequestRefused(f"{said}; the request itself is wrong for this server")


def _detail(body: bytes) -> str:
    """What an error body says, on one line; '' when it says nothing."""
    text = body[:65_536].decode("utf-8", "replace")
    try:
        said: Any = json.loads(text)
    except (ValueError, RecursionError):
        return _one_line(text)
    for key in ("error", "message", "detail"):
        if isinstance(said, dict):
            inner = cast("dict[str, Any]", said)
            said = inner.get(key, inner)
    return _one_line(said if isinstance(said, str) else json.dumps(said))


def _one_line(text: str, limit: int = 300) -> str:
    """Printable characters only: what a server says goes to a terminal."""
    line = " ".join("".join(char if char.isprintable() else " " for char in text[: 4 * limit]).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _retry_after(value: str | None) -> float | None:
    """Seconds of a Retry-After header: a number or an HTTP date; None when absent or unreadable."""
    if value is None:
        return None
    try:
        return max(0.0, float(value)) if value.strip().isdigit() else _until(parsedate_to_datetime(value))
    except (ValueError, OverflowError):
        return None


def _until(moment: datetime) -> float:
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return max(0.0, (aware - datetime.now(UTC)).total_seconds())
