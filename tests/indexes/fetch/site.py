"""A web of test hosts on one loopback port, whose servers do as they are told, well or badly."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any, cast

from indexes.archive.model import Capture
from indexes.fetch.addresses import Address
from indexes.fetch.crawl import FetchReport, fetch_pages
from indexes.fetch.faults import NoSuchHost
from indexes.fetch.settings import FetchSettings

PROSE = "The lake froze late that year, and the ferries ran until the second week of January. "


def article(text: str = PROSE * 10, head: str = "") -> bytes:
    """A page of HTML with enough text to be one."""
    return f"<html><head><title>A page</title>{head}</head><body><p>{text}</p></body></html>".encode()


@dataclass(frozen=True)
class Request:
    """What a server was sent."""

    at: float
    host: str
    path: str
    headers: dict[str, str]
    """Names in lower case."""


def reply(
    body: bytes = b"",
    status: str = "200 OK",
    *headers: str,
    length: int | None = None,
    kind: str = "text/html",
) -> bytes:
    """An answer of HTTP/1.1. `headers` are whole lines; `length` is what Content-Length claims."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body) if length is None else length}"]
    if kind:
        lines.append(f"Content-Type: {kind}")
    return ("\r\n".join([*lines, *headers]) + "\r\n\r\n").encode("utf-8", "surrogateescape") + body


def entries(folder: Path) -> list[str]:
    """The names in a folder; none where it is not there."""
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def redirect(to: str, status: str = "302 Found") -> bytes:
    return reply(b"", status, f"Location: {to}")


Answering = Callable[[Request], bytes]
Streaming = Callable[[Request, asyncio.StreamWriter], Awaitable[None]]
Route = bytes | Answering | Streaming
"""What a server sends; a coroutine function writes as it likes, and the connection ends with it."""


class Site:
    """Every host of the test web. Routes are `host/path`; what has none answers 404."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.routes: dict[str, Route] = {}
        self.port = 0
        self.most_at_once = 0
        self.open = 0
        """Requests that are being answered."""
        self._connections: set[asyncio.StreamWriter] = set()

    async def start(self) -> asyncio.Server:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=1 << 20)
        self.port = server.sockets[0].getsockname()[1]
        return server

    def url(self, place: str, scheme: str = "http") -> str:
        """`host/path` as an address with the port."""
        host, _, path = place.partition("/")
        return f"{scheme}://{host}:{self.port}/{path}"

    def asked(self, host: str | None = None) -> list[str]:
        """The paths that were asked for, robots.txt left out."""
        return [
            request.path
            for request in self.requests
            if request.path != "/robots.txt" and host in (None, request.host)
        ]

    def disconnect(self) -> None:
        for writer in self._connections:
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections.add(writer)
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                line, *fields = head.rstrip("\r\n").split("\r\n")
                headers = {name.lower(): text.strip() for name, _, text in (f.partition(":") for f in fields)}
                host = headers["host"].removesuffix(f":{self.port}")
                request = Request(time.monotonic(), host, line.split(" ")[1], headers)
                self.requests.append(request)
                self.open += 1
                self.most_at_once = max(self.most_at_once, self.open)
                try:
                    if await self._answer(request, writer):
                        return
                finally:
                    self.open -= 1
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            self._connections.discard(writer)
            writer.close()

    async def _answer(self, request: Request, writer: asyncio.StreamWriter) -> bool:
        """Answer; whether the connection ends with that."""
        route = self.routes.get(f"{request.host}{request.path}", reply(b"not here", "404 Not Found"))
        if isinstance(route, bytes):
            writer.write(route)
        elif inspect.iscoroutinefunction(route):
            await cast("Streaming", route)(request, writer)
            return True
        else:
            writer.write(cast("Answering", route)(request))
        await writer.drain()
        return False


class Names:
    """A resolver: every `*.test` is the loopback address unless it was given others; no other name exists."""

    def __init__(self, **known: Sequence[str]) -> None:
        self.known: dict[str, Sequence[str]] = dict(known)
        self.looked_up: list[str] = []

    async def resolve(self, host: str) -> Sequence[Address]:
        self.looked_up.append(host)
        if host in self.known:
            return [ip_address(address) for address in self.known[host]]
        if host.endswith(".test"):
            return [ip_address("127.0.0.1")]
        raise NoSuchHost(f"{host}: no such host")


HOSTS = ("a.test", "b.test", "c.test", "d.test", "slow.test", "hostile.test", "doi.org", "arxiv.org")


def settings(site: Site, **changes: Any) -> FetchSettings:
    """Without delays, with the patience that a busy machine needs, allowed to ask the hosts of the test web."""
    quick: dict[str, Any] = {
        "allow_hosts": tuple(f"{host}:{site.port}" for host in HOSTS),
        "delay": 0.0,
        "backoff": 0.001,
        "max_backoff": 0.01,
        "connect_seconds": 60.0,
        "stall_seconds": 60.0,
        "total_seconds": 120.0,
    }
    return FetchSettings.model_validate({**quick, **changes})


@dataclass
class Web:
    """The test web with a fetcher before it."""

    site: Site
    names: Names

    async def fetch(self, *urls: str, **changes: Any) -> tuple[dict[str, Capture], FetchReport]:
        """Captures by cited address, and the report."""
        found: dict[str, Capture] = {}

        def store(capture: Capture) -> None:
            assert capture.url not in found
            found[capture.url] = capture

        more = {key: changes.pop(key) for key in ("done", "previous", "progress") if key in changes}
        report = await fetch_pages(
            urls, settings(self.site, **changes), store=store, resolver=self.names, **more
        )
        return found, report

    async def capture(self, place: str, **changes: Any) -> Capture:
        """The capture of one address of the test web, or of one whole address."""
        url = place if "://" in place else self.site.url(place)
        found, _ = await self.fetch(url, **changes)
        return found[url]
