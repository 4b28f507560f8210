"""The only way out for a browser that runs a page's scripts.

Invariant: whatever the browser asks for, name or address, http or a tunnel, leads only to addresses that the policy
allows, looked up and connected to here; the browser never sees a look-up. Past its bytes the way is shut.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

from indexes.fetch.addresses import HostPolicy
from indexes.fetch.faults import FetchFault, Refused, Unreachable
from indexes.fetch.resolver import Resolver
from indexes.fetch.settings import FetchSettings
from indexes.fetch.target import Target, target
from local_judge.base.files import word_list

_MAX_HEAD = 65_536
_PIECE = 65_536
_HOP_BY_HOP = re.compile(rb"\r\n(?:proxy-[a-z-]+|connection|keep-alive):[^\r\n]*", re.IGNORECASE)
_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*([0-9]{1,12})[ \t]*\r\n", re.IGNORECASE)
_ENDINGS = (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError)
_BROWSER_SERVICES = word_list("indexes", "browser_services")
"""Hosts that the browser requests by itself, whatever its flags. They have no pages."""
_REFUSAL = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
_ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"


class _Proxy:
    def __init__(self, settings: FetchSettings, resolver: Resolver) -> None:
        self._settings, self._resolver = settings, resolver
        self._policy = HostPolicy(settings.allow_hosts, settings.ports)
        self._left = settings.render_bytes
        self._open: set[asyncio.Task[None]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection of the browser."""
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            # A browser that leaves, a server that stops: what was to come is simply not there. Nothing waits for
            # this task, so nothing reports how `aclose` ends it.
            with suppress(*_ENDINGS, asyncio.CancelledError):
                await self._serve(reader, writer)
        finally:
            self._open.discard(task)
            writer.close()

    async def aclose(self) -> None:
        """Cut all connections."""
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(self._settings.stall_seconds):
            head = await reader.readuntil(b"\r\n\r\n")
        try:
            asked, opening = _read_head(head)
            upstream, out = await self._connect(asked)
        except FetchFault:
            writer.write(_REFUSAL)
            await writer.drain()
            return
        try:
            if opening is None:
                writer.write(_ESTABLISHED)
                await _either(self._pump(reader, out), self._pump(upstream, writer))
            else:
                out.write(opening.head)
                await _either(self._upload(reader, out, opening.length), self._download(upstream, writer))
        finally:
            out.close()

    async def _connect(self, asked: Target) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if asked.host in _BROWSER_SERVICES:
            raise Refused("not asked for by a page")
        if why := self._policy.refuse_port(asked.host, asked.port):
            raise Refused(why)
        addresses = [asked.address] if asked.address else await self._resolver.resolve(asked.host)
        if why := self._policy.refuse_addresses(asked.host, asked.port, addresses):
            raise Refused(why)
        for address in addresses:
            with suppress(OSError, TimeoutError):
                async with asyncio.timeout(self._settings.connect_seconds):
                    return await asyncio.open_connection(str(address), asked.port)
        raise Unreachable(f"{asked.host}: no connection")

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        while self._left > 0 and (piece := await source.read(_PIECE)):
            self._left -= len(piece)
            sink.write(piece)
            await sink.drain()

    async def _upload(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, length: int) -> None:
        """The body of the one request that this connection is for; then only the browser's leaving counts."""
        while length > 0 and (piece := await source.read(min(length, _PIECE))):
            length -= len(piece)
            sink.write(piece)
            await sink.drain()
        while await source.read(_PIECE):
            pass

    async def _download(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        """One answer, marked as the last of its connection: the next request may be for another host."""
        head = await source.readuntil(b"\r\n\r\n")
        status, _, fields = head.partition(b"\r\n")
        sink.write(b"%s\r\nConnection: close%s" % (status, _HOP_BY_HOP.sub(b"", b"\r\n" + fields)))
        await self._pump(source, sink)


async def _either(*pumps: Coroutine[Any, Any, None]) -> None:
    """Run until the first ends, however it does."""
    tasks = [asyncio.ensure_future(pump) for pump in pumps]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@dataclass(frozen=True)
class _Opening:
    """The head of a request as a server reads it."""

    head: bytes
    length: int
    """Bytes of the body that follows."""


def _read_head(head: bytes) -> tuple[Target, _Opening | None]:
    """Return the target of a browser's request and the bytes to send; None for a tunnel.

    Raises:
        Refused: it is not a request to a proxy, or its address is none to be asked.
    """
    line, _, fields = head.partition(b"\r\n")
    method, _, rest = line.partition(b" ")
    where, _, version = rest.rpartition(b" ")
    if not where or not version.startswith(b"HTTP/1."):
        raise Refused("not HTTP")
    address = where.decode("latin-1")
    if method == b"CONNECT":
        return target(f"https://{address}"), None
    asked = target(address)
    if asked.scheme != "http":
        raise Refused("only http is asked for without a tunnel")
    path = asked.url.removeprefix(asked.origin).encode("ascii")
    kept = _HOP_BY_HOP.sub(b"", b"\r\n" + fields)
    length = _LENGTH.search(kept)
    opening = b"%s %s HTTP/1.1\r\nConnection: close%s" % (method, path, kept)
    return asked, _Opening(opening, int(length.group(1)) if length else 0)


@asynccontextmanager
async def open_proxy(settings: FetchSettings, resolver: Resolver) -> AsyncGenerator[int]:
    """Run a proxy on the loopback address for as long as the context lasts; gives its port."""
    proxy = _Proxy(settings, resolver)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0, limit=_MAX_HEAD)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        await proxy.aclose()
