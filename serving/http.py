"""HTTP client for model servers.

Invariants: a socket is opened to the given URL only: redirects are not followed, proxy settings and .netrc are not
read, cookies are not kept. Every failure is one `serving.errors.EngineError` whose one-line message names the URL and
the remedy. No more than `MAX_BODY` bytes of a body are read.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

import aiohttp
from yarl import URL

from local_judge.base.http import retry_after
from serving.errors import (
    EngineError,
    EngineFault,
    EngineOverloaded,
    EngineTimeout,
    EngineUnreachable,
    KeyRefused,
    MalformedReply,
    NoServer,
    PromptTooLong,
    RequestRefused,
)

MAX_BODY = 32 << 20
"""Maximum size of a body in bytes, far above the longest reply with log-probabilities."""

CONNECT_SECONDS = 10.0

GET_SECONDS = 60.0
"""Time limit of a GET, which needs no work of the model; the client's time limit if that is shorter."""

HEALTH_SECONDS = 10.0
"""Time limit of a health check."""

_TOO_LONG = re.compile(
    r"context[ _](?:length|window|size)|maximum context|max_model_len|max_total_tokens|too many tokens"
    r"|prompt is too long|input is too long|(?:inputs?|prompt) tokens? .{0,40}(?:exceed|must be <=)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Answer:
    """Complete answer with status 200."""

    url: str
    body: bytes


class HttpClient:
    """Pool of connections. It must be made and used inside one event loop."""

    def __init__(self, *, api_key: str | None, timeout: float) -> None:
        headers = {"Accept-Encoding": "identity", "Content-Type": "application/json"}
        self._secret = api_key.encode() if api_key else None
        if api_key:
            headers["Authorization"] = f"Bearer {api_key}"
        self._post_limit = aiohttp.ClientTimeout(total=timeout, sock_connect=CONNECT_SECONDS)
        self._get_limit = aiohttp.ClientTimeout(total=min(timeout, GET_SECONDS), sock_connect=CONNECT_SECONDS)
        self._session = aiohttp.ClientSession(
            # The caller limits the requests in flight; a limit here would count waiting towards the time limit.
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
        """Send a GET; raise EngineError for anything but a complete 200."""
        return await self._exchange("GET", url, None)

    async def get_soon(self, url: str) -> Answer:
        """Send a GET as `get` does, with the time limit `HEALTH_SECONDS`."""
        try:
            async with asyncio.timeout(HEALTH_SECONDS):
                return await self.get(url)
        except TimeoutError as error:
            raise EngineTimeout(f"{url} did not answer within {HEALTH_SECONDS:g} s") from error

    async def answers(self, url: str) -> bool:
        """Check whether a GET is answered within `HEALTH_SECONDS`, with any status that is not a server fault."""
        try:
            await self.get_soon(url)
        except EngineError as error:
            return not error.retryable
        return True

    async def post(self, url: str, body: bytes) -> Answer:
        """Post JSON; raise EngineError for anything but a complete 200."""
        return await self._exchange("POST", url, body)

    @asynccontextmanager
    async def stream(self, url: str, body: bytes) -> AsyncGenerator[AsyncIterator[bytes]]:
        """Post JSON and iterate over the lines of the answer as they arrive, without line ends."""
        try:
            async with self._request("POST", url, body) as response:
                if response.status != 200:
                    raise await self._refusal_of(url, response)
                yield lines_of(_pieces(url, response))
        except (aiohttp.ClientError, TimeoutError) as error:
            raise _broken(url, self._post_limit, error) from error

    async def _exchange(self, method: str, url: str, body: bytes | None) -> Answer:
        try:
            async with self._request(method, url, body) as response:
                if response.status != 200:
                    raise await self._refusal_of(url, response)
                return Answer(url, await _read(url, response))
        except (aiohttp.ClientError, TimeoutError) as error:
            raise _broken(url, self._get_limit if body is None else self._post_limit, error) from error

    def _request(
        self, method: str, url: str, body: bytes | None
    ) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        limit = self._get_limit if body is None else self._post_limit
        return self._session.request(method, _parse_url(url), data=body, allow_redirects=False, timeout=limit)

    async def _refusal_of(self, url: str, response: aiohttp.ClientResponse) -> EngineError:
        body = await _read(url, response)
        if self._secret is not None:  # some servers quote the refused key
            body = body.replace(self._secret, b"***")
        return refusal(url, response.status, response.headers, body)


@lru_cache(maxsize=256)
def _parse_url(url: str) -> URL:
    """Parse a URL; cached, since one URL serves thousands of requests."""
    return URL(url)


def _broken(url: str, limit: aiohttp.ClientTimeout, error: Exception) -> EngineError:
    """Return the error for a failed exchange."""
    match error:
        case aiohttp.ConnectionTimeoutError():
            problem = f"took no connection within {CONNECT_SECONDS:g} s; check host and port"
            return EngineUnreachable(f"{url} {problem}")
        case TimeoutError():
            problem = f"did not answer within {limit.total:g} s; raise the time limit or send less at once"
            return EngineTimeout(f"{url} {problem}")
        case aiohttp.ClientConnectorError():
            return _unreachable(url, error.os_error)
        case aiohttp.ClientPayloadError() | aiohttp.ClientOSError() | aiohttp.ServerDisconnectedError():
            problem = "closed the connection before its answer was complete; look at the server's log"
            return EngineUnreachable(f"{url} {problem}")
        case _:
            why = _one_line(str(error))
            return MalformedReply(f"{url} does not answer in HTTP ({why}); check the address and the port")


def _unreachable(url: str, error: OSError) -> EngineUnreachable:
    """Return the error for a server to which no connection can be made."""
    base = _BELOW_BASE.sub("", url)
    if isinstance(error, ConnectionRefusedError):
        return NoServer(
            f"nothing answers at {base}; start the server (`local-judge judge up NAME`) or check --base-url"
        )
    why = _one_line(_ERRNO.sub("", str(error)))
    return EngineUnreachable(f"{base} cannot be reached ({why}); check --base-url and that the server runs")


_BELOW_BASE = re.compile(r"(?<=/v1)/[a-z/]+$")
"""Path of a request below the base URL."""
_ERRNO = re.compile(r"^\[Errno -?\d+\] ")


async def _pieces(url: str, response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    """Iterate over a body, and refuse it as soon as it is longer than MAX_BODY."""
    size = 0
    async for piece in response.content.iter_any():
        size += len(piece)
        if size > MAX_BODY:
            response.close()
            raise MalformedReply(
                f"{url} answers with more than {MAX_BODY >> 20} MiB; this is no model server"
            )
        yield piece


async def _read(url: str, response: aiohttp.ClientResponse) -> bytes:
    if response.content_length is not None and response.content_length <= MAX_BODY:
        return await response.read()
    return b"".join([piece async for piece in _pieces(url, response)])


async def lines_of(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Iterate over the lines of a body that arrives in pieces, without line ends."""
    rest: list[bytes] = []
    async for piece in pieces:
        first, *others = piece.split(b"\n")
        rest.append(first)
        for start in others:
            yield b"".join(rest).rstrip(b"\r")
            rest = [start]
    if last := b"".join(rest):
        yield last


def refusal(url: str, status: int, headers: Mapping[str, str], body: bytes) -> EngineError:
    """Return the error for an HTTP status other than 200."""
    detail = _detail(body)
    message = f"{url} answered HTTP {status}" + (f" ({detail})" if detail else "")
    if status in (429, 503):
        remedy = "the server is overloaded: lower the concurrency or try later"
        return EngineOverloaded(f"{message}; {remedy}", retry_after=retry_after(headers.get("Retry-After")))
    if status >= 500:
        return EngineFault(f"{message}; look at the server's log")
    if status == 408:
        return EngineTimeout(f"{message}; send less at once")
    if status == 413 or (status in (400, 422) and _TOO_LONG.search(detail)):
        return PromptTooLong(f"{message}; shorten the prompt or serve the model with a longer context")
    if status in (401, 403):
        refused = KeyRefused if status == 401 else RequestRefused
        return refused(f"{message}; give the API key that this server takes")
    if status == 404:
        return RequestRefused(f"{message}; check the base URL (it usually ends in /v1) and the model name")
    if 300 <= status < 400:
        return RequestRefused(f"{message}; redirects are not followed: give the final address")
    return RequestRefused(f"{message}; the request itself is wrong for this server")


def _detail(body: bytes) -> str:
    """Return the message of an error body on one line; '' if it has none."""
    text = body[:65_536].decode("utf-8", "replace")
    try:
        data: Any = json.loads(text)
    except (ValueError, RecursionError):
        return _one_line(text)
    for key in ("error", "message", "detail"):
        if isinstance(data, dict):
            inner = cast("dict[str, Any]", data)
            data = inner.get(key, inner)
    return _one_line(data if isinstance(data, str) else json.dumps(data))


def _one_line(text: str, limit: int = 300) -> str:
    """Shorten a server's text to one line of printable characters, safe for a terminal."""
    line = " ".join("".join(char if char.isprintable() else " " for char in text[: 4 * limit]).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
