"""One request and its whole answer.

Invariant: a connection is opened only to an address that the policy allowed for this host, and the check and the
connection use the same look-up. Redirects, cookies, proxies, `.netrc` and credentials play no part, and no answer
costs more than the settings say in bytes, headers or time. What goes wrong leaves as one `FetchFault`.
"""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from ipaddress import ip_address
from typing import TYPE_CHECKING

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from indexes.archive.model import Exchange, Headers, header
from indexes.fetch.addresses import HostPolicy
from indexes.fetch.encoding import Unpacker, content_coding
from indexes.fetch.faults import (
    Broken,
    FetchFault,
    NoSuchHost,
    Refused,
    TimedOut,
    TooMuch,
    Unreachable,
    one_line,
)
from indexes.fetch.resolver import Resolver
from indexes.fetch.settings import FetchSettings
from indexes.fetch.target import Target

if TYPE_CHECKING:
    from aiohttp.client_reqrep import ClientRequest
    from aiohttp.connector import Connection
    from aiohttp.tracing import Trace

ACCEPT = "text/html,application/xhtml+xml,application/pdf;q=0.9,text/plain;q=0.8,*/*;q=0.5"
HEAD_BYTES = 2_000_000
"""So much of the decoded body is kept to tell what a page is; all that is looked for stands before that."""
_NO_TEXT = ("image/", "video/", "audio/", "font/")
_LARGEST_FIELDS = 2
"""One header field may have this fraction of all of them: policies and tickets of 10 kB are common."""
_QUOTED = re.compile(r":?\s*b['\"].*", re.DOTALL)
"""The bytes that the parser quotes."""


@dataclass
class _Line:
    """The connection of one request."""

    peer: str | None = None


_line: ContextVar[_Line] = ContextVar("line")


@dataclass(frozen=True)
class Answer:
    """A complete exchange, with the decoded beginning of its body."""

    exchange: Exchange
    head: bytes

    def header(self, name: str) -> str | None:
        """The first header field of this name."""
        return header(self.exchange.headers, name)


def media_type(headers: Headers) -> str:
    """The declared type without its parameters, in lower case; empty where none is declared."""
    return (header(headers, "content-type") or "").partition(";")[0].strip().lower()


def utc_now() -> datetime:
    """The time, with its zone."""
    return datetime.now(UTC)


def stamp(moment: datetime) -> str:
    """Return the time as an exchange stores it."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


class _CheckedResolver(AbstractResolver):
    """Looks up, then refuses; what it returns is what the connector connects to."""

    def __init__(self, resolver: Resolver, policy: HostPolicy) -> None:
        self._resolver, self._policy = resolver, policy

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        addresses = await self._resolver.resolve(host)
        if not addresses:
            raise NoSuchHost(f"{host}: no address")
        if why := self._policy.refuse_addresses(host, port, addresses):
            raise Refused(why)
        return [
            ResolveResult(
                hostname=host,
                host=str(address),
                port=port,
                family=socket.AF_INET if address.version == 4 else socket.AF_INET6,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for address in addresses
        ]

    async def close(self) -> None:
        pass


class _CheckedConnector(aiohttp.TCPConnector):
    """Looks once more at whom a connection leads to before anything is sent on it."""

    policy: HostPolicy

    async def connect(
        self,
        req: ClientRequest,
        traces: list[Trace],
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109 the library's own signature
    ) -> Connection:
        line = _line.get()
        if line.peer is not None:
            # The library asks again by itself where a server hangs up; when to ask again is not for it to say.
            raise aiohttp.ServerDisconnectedError
        connection = await super().connect(req, traces, timeout)
        transport = connection.transport
        peer = transport.get_extra_info("peername") if transport is not None else None
        host = req.url.raw_host or ""
        shown = f"[{host}]" if ":" in host else host
        address = ip_address(str(peer[0])) if peer else None
        why = "the connection was lost" if address is None else None
        if address is not None:
            why = self.policy.refuse_addresses(shown, req.url.port or 0, [address])
        if why is not None:
            connection.close()
            raise Refused(why)
        line.peer = str(address)
        return connection


class Client:
    """One pool of connections. Must be made and used inside one event loop; close it.

    Args:
        settings: the bounds.
        resolver: looks names up.
        now: the clock of the exchanges' time stamps.
    """

    def __init__(
        self, settings: FetchSettings, resolver: Resolver, now: Callable[[], datetime] = utc_now
    ) -> None:
        self.policy = HostPolicy(settings.allow_hosts, settings.ports)
        self._settings, self._now = settings, now
        # The callers bound the requests under way. No cache of names: a connection is checked by its own look-up.
        connector = _CheckedConnector(
            limit=0, use_dns_cache=False, resolver=_CheckedResolver(resolver, self.policy)
        )
        connector.policy = self.policy
        largest = settings.max_header_bytes // _LARGEST_FIELDS
        self._session = aiohttp.ClientSession(
            connector=connector,
            headers={
                "User-Agent": settings.user_agent,
                "Accept": ACCEPT,
                "Accept-Encoding": "gzip, deflate",
            },
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trust_env=False,
            max_line_size=largest,
            max_field_size=largest,
            timeout=aiohttp.ClientTimeout(
                total=None,
                connect=settings.connect_seconds,
                sock_connect=settings.connect_seconds,
                sock_read=settings.stall_seconds,
            ),
        )

    async def aclose(self) -> None:
        """Close all connections."""
        await self._session.close()

    async def get(self, asked: Target, extra: Headers = ()) -> Answer:
        """GET, without following anything.

        Args:
            asked: what to ask for.
            extra: header fields beside the usual ones.

        Raises:
            FetchFault: there is no whole answer within the bounds.
        """
        if why := self.policy.refuse_port(asked.host, asked.port):
            raise Refused(why)
        if asked.address is not None and (
            why := self.policy.refuse_addresses(asked.host, asked.port, [asked.address])
        ):
            raise Refused(why)
        _line.set(_Line())
        try:
            async with asyncio.timeout(self._settings.total_seconds):
                return await self._exchange(asked, extra)
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            raise self._fault(asked, error) from error

    async def _exchange(self, asked: Target, extra: Headers) -> Answer:
        at = stamp(self._now())
        async with self._session.get(
            URL(asked.url, encoded=True), headers=list(extra), allow_redirects=False
        ) as response:
            headers = tuple((_text(name), _text(value)) for name, value in response.raw_headers)
            size = sum(len(name) + len(value) + 4 for name, value in response.raw_headers)
            if size > self._settings.max_header_bytes:
                raise TooMuch(f"too large: {size:,} bytes of header fields")
            ip = _line.get().peer
            body, head = await self._body(response, headers)
            exchange = Exchange(
                url=asked.url,
                at=at,
                status=response.status,
                reason=one_line(response.reason or ""),
                request_headers=tuple(response.request_info.headers.items()),
                headers=tuple(field for field in headers if field[0].lower() != "transfer-encoding"),
                body=body,
                ip=ip,
            )
        return Answer(exchange, head)

    async def _body(self, response: aiohttp.ClientResponse, headers: Headers) -> tuple[bytes, bytes]:
        """The body as sent, and its decoded beginning; given up as soon as a bound is passed."""
        settings = self._settings
        declared = media_type(headers)
        if response.status == 200 and declared.startswith(_NO_TEXT):
            raise TooMuch(f"wrong type: {declared}")
        if (length := response.content_length) is not None and length > settings.max_bytes:
            raise TooMuch(f"too large: {length:,} bytes, more than {settings.max_bytes:,}")
        unpacker = self._unpacker(response.status, headers)
        pieces: list[bytes] = []
        size = 0
        async for piece in response.content.iter_any():
            size += len(piece)
            if size > settings.max_bytes:
                raise TooMuch(f"too large: more than {settings.max_bytes:,} bytes")
            pieces.append(piece)
            if unpacker is not None:
                # Not on the loop: one piece may hold as much as a body may.
                await asyncio.to_thread(unpacker.feed, piece)
        if unpacker is None:
            return b"".join(pieces), b""
        unpacker.finish()
        return b"".join(pieces), unpacker.head

    def _unpacker(self, status: int, headers: Headers) -> Unpacker | None:
        """None for an answer that is no page and comes in a coding that was not offered: its status says enough."""
        try:
            coding = content_coding(headers)
        except TooMuch:
            if status == 200:
                raise
            return None
        settings = self._settings
        return Unpacker(coding, keep=HEAD_BYTES, limit=settings.max_decoded_bytes, ratio=settings.max_ratio)

    def _fault(self, asked: Target, error: Exception) -> FetchFault:
        """Return the fault for a failed exchange."""
        settings = self._settings
        if isinstance(error, aiohttp.ConnectionTimeoutError):
            return TimedOut(f"timed out: {asked.host} took no connection in {settings.connect_seconds:g} s")
        if isinstance(error, aiohttp.SocketTimeoutError):
            return TimedOut(f"timed out: nothing came from {asked.host} for {settings.stall_seconds:g} s")
        if isinstance(error, TimeoutError):
            return TimedOut(f"timed out: {asked.host} was not done after {settings.total_seconds:g} s")
        if isinstance(error, aiohttp.ClientConnectorCertificateError):
            return Unreachable(f"{asked.host}: its certificate is not valid", passing=False)
        if isinstance(error, aiohttp.ClientSSLError):
            return Unreachable(f"{asked.host}: no TLS connection ({error})")
        if isinstance(error, aiohttp.ClientConnectorError):
            return Unreachable(f"{asked.host}: no connection ({error.os_error.strerror or error.os_error})")
        if isinstance(error, aiohttp.ClientPayloadError):
            return Broken(f"{asked.host}: the answer is cut short or garbled")
        if isinstance(error, (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError)):
            return Broken(f"{asked.host} closed the connection before it answered")
        if isinstance(error, aiohttp.ClientResponseError):
            if "Got more than" in error.message or "Too many" in error.message:
                return TooMuch("too large: its header fields")
            why = _QUOTED.sub("", error.message)
            return Broken(f"{asked.host} does not answer in HTTP ({one_line(why)})")
        return Broken(f"{asked.host}: {error}")


def _text(raw: bytes) -> str:
    """A header field's characters, fit to be written: UTF-8 where it is, else Latin-1."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")
