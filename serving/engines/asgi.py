"""Requests to an ASGI application that runs in a thread of this process, without a socket.

Invariants: the application answers the same requests as over HTTP, and its answers are read by the same rules; a caller
that stops waiting is reported to the application as a closed connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, MutableMapping
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

from serving.errors import EngineError, EngineFault, EngineTimeout
from serving.http import GET_SECONDS, HEALTH_SECONDS, Answer, lines_of, refusal

BASE_URL = "http://in-process/v1"
"""Base URL under which messages name the application."""

Event = MutableMapping[str, Any]
Application = Callable[
    [Event, Callable[[], Awaitable[Event]], Callable[[Event], Awaitable[None]]], Awaitable[None]
]
"""ASGI application, version 3: called with the scope and with functions that receive and send events."""

Opened = Callable[[], AbstractAsyncContextManager[Application]]
"""Function that returns the context in which an application exists."""


_Started = tuple[Application, asyncio.AbstractEventLoop]


class AppThread:
    """Application in a thread with its own event loop, from the first use until `aclose`.

    Args:
        opened: Context of the application.
        interrupt: Function that makes an unfinished start fail; called in any thread.
    """

    def __init__(self, opened: Opened, interrupt: Callable[[], None] = lambda: None) -> None:
        self._opened = opened
        self._interrupt = interrupt
        self._ready: Future[_Started | BaseException] = Future()
        """The application, or the error that ended its start, as a value: after an interrupt nothing reads it."""
        self._thread = threading.Thread(target=self._run, name="application", daemon=True)
        self._stop: Callable[[], None] = lambda: None

    async def started(self) -> _Started:
        """Return the application and its event loop; the first call starts them.

        Raises:
            Exception: The one that ended the start.
        """
        if self._thread.ident is None:
            self._thread.start()
        found = await asyncio.shield(asyncio.wrap_future(self._ready))
        if isinstance(found, BaseException):
            raise found
        return found

    async def aclose(self) -> None:
        """Leave the context of the application and end the thread. Idempotent."""
        if self._thread.ident is None:
            return
        if not self._ready.done():
            await asyncio.to_thread(self._interrupt)
        self._stop()
        await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:
            # After the start, an error has no reader: every request was answered or given up.
            if not self._ready.done():
                self._ready.set_result(error)

    async def _serve(self) -> None:
        loop, stopped = asyncio.get_running_loop(), asyncio.Event()
        self._stop = lambda: _call_in(loop, stopped.set)
        async with self._opened() as application:
            self._ready.set_result((application, loop))
            await stopped.wait()


class AppClient:
    """Client with the methods of `serving.http.HttpClient` for an application in a thread.

    Args:
        thread: The application; it is ended by `aclose`.
        timeout: Seconds for one request, from sending to the last byte.
        check: Function that is called after a failed request, and raises if no other request can succeed.
    """

    def __init__(self, thread: AppThread, timeout: float, check: Callable[[], None] = lambda: None) -> None:
        self._thread = thread
        self._timeout = timeout
        self._check = check

    async def aclose(self) -> None:
        """End the application."""
        await self._thread.aclose()

    async def get(self, url: str) -> Answer:
        """Send a GET; raise EngineError for anything but a complete 200."""
        return await self._exchange("GET", url, b"", min(self._timeout, GET_SECONDS))

    async def get_soon(self, url: str) -> Answer:
        """Send a GET as `get` does, with the time limit `HEALTH_SECONDS`."""
        return await self._exchange("GET", url, b"", HEALTH_SECONDS)

    async def answers(self, url: str) -> bool:
        """Check whether a GET is answered within `HEALTH_SECONDS`, with any status that is not a server fault."""
        try:
            await self.get_soon(url)
        except EngineError as error:
            return not error.retryable
        return True

    async def post(self, url: str, body: bytes) -> Answer:
        """Post JSON; raise EngineError for anything but a complete 200."""
        return await self._exchange("POST", url, body, self._timeout)

    @asynccontextmanager
    async def stream(self, url: str, body: bytes) -> AsyncGenerator[AsyncIterator[bytes]]:
        """Post JSON and iterate over the lines of the answer as they arrive, without line ends."""
        async with self._asked("POST", url, body, self._timeout) as pieces:
            yield lines_of(pieces)

    async def _exchange(self, method: str, url: str, body: bytes, seconds: float) -> Answer:
        async with self._asked(method, url, body, seconds) as pieces:
            return Answer(url, b"".join([piece async for piece in pieces]))

    @asynccontextmanager
    async def _asked(
        self, method: str, url: str, body: bytes, seconds: float
    ) -> AsyncGenerator[AsyncIterator[bytes]]:
        """Send a request, and yield the pieces of its body if the status is 200."""
        application, loop = await self._thread.started()
        here, gone = asyncio.get_running_loop(), asyncio.Event()
        heard: asyncio.Queue[Event | None] = asyncio.Queue()

        def hear(event: Event | None) -> None:
            _call_in(here, lambda: heard.put_nowait(event))

        run = _run(application, _scope(method, url), body, hear, gone)
        asyncio.run_coroutine_threadsafe(run, loop)
        try:
            with _time_limit(url, seconds) as limit:
                async with limit:
                    start = await heard.get()
                    pieces = _pieces(url, start, heard)
                    if start is not None and start["status"] != 200:
                        said = b"".join([piece async for piece in pieces])
                        raise refusal(url, start["status"], _headers(start), said)
                    yield pieces
        except EngineError:
            self._check()
            raise
        finally:
            _call_in(loop, gone.set)


@contextlib.contextmanager
def _time_limit(url: str, seconds: float) -> Generator[asyncio.Timeout]:
    try:
        yield asyncio.timeout(seconds)
    except TimeoutError:
        raise EngineTimeout(
            f"{url} did not answer within {seconds:g} s; raise the time limit or send less at once"
        ) from None


async def _run(
    application: Application,
    scope: Event,
    body: bytes,
    hear: Callable[[Event | None], None],
    gone: asyncio.Event,
) -> None:
    """Run the application for one request; `hear` gets its events, then None."""
    received = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive() -> Event:
        for event in received:
            return event
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(event: Event) -> None:
        hear(event)

    try:
        await application(scope, receive, send)
    except Exception:  # an answer with the status 500 was sent, or is missing: the caller sees both
        pass
    finally:
        hear(None)


async def _pieces(url: str, start: Event | None, heard: asyncio.Queue[Event | None]) -> AsyncIterator[bytes]:
    while start is not None and (event := await heard.get()) is not None:
        yield event.get("body", b"")
        if not event.get("more_body", False):
            return
    raise EngineFault(f"{url} ended without a complete answer; look at its log")


def _headers(start: Event) -> dict[str, str]:
    """Return the headers of an answer, named as over HTTP: `Retry-After`."""
    return {
        name.decode("latin-1").title(): value.decode("latin-1") for name, value in start.get("headers", ())
    }


def _scope(method: str, url: str) -> Event:
    parts = urlsplit(url)
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": parts.scheme,
        "path": parts.path,
        "raw_path": parts.path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(b"host", parts.netloc.encode()), (b"content-type", b"application/json")],
        "client": None,
        "server": (parts.hostname, 80),
    }


def _call_in(loop: asyncio.AbstractEventLoop, function: Callable[[], object]) -> None:
    """Call a function in a loop of any thread, unless the loop is closed."""
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(function)
