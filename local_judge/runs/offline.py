"""No socket but to the engine.

Invariant: while the guard is up, a connection or a look-up to any host that was not named is refused inside the
interpreter, whichever library asks for it (an audit hook sees them all).
"""

from __future__ import annotations

import contextlib
import ipaddress
import socket
import sys
from collections.abc import Generator, Sequence
from typing import cast
from urllib.parse import urlsplit


class OfflineViolation(OSError):
    """Something tried to reach a host that the run was not told to use."""


_ADDRESSED = ("socket.connect", "socket.sendto", "socket.sendmsg")
_EVENTS = dict.fromkeys(_ADDRESSED, 1) | {
    "socket.getaddrinfo": 0,
    "socket.gethostbyname": 0,
    "socket.gethostbyaddr": 0,
    "socket.getnameinfo": 0,
}
"""Audit events, and which argument says where they lead."""

_allowed: frozenset[str] | None = None
_installed = False


def _hook(event: str, arguments: tuple[object, ...]) -> None:
    if _allowed is None or event not in _EVENTS:
        return
    address = arguments[_EVENTS[event]]
    if event in _ADDRESSED and getattr(arguments[0], "family", None) == socket.AF_UNIX:
        return
    host = address
    if isinstance(address, tuple) and address:
        host = cast("tuple[object, ...]", address)[0]
    if isinstance(host, bytes):
        host = host.decode("ascii", "replace")
    if isinstance(host, str) and host not in _allowed:
        raise OfflineViolation(
            f"offline: a connection to {host!r} was refused; a run reaches only its engine"
        )


def _host(url: str) -> str | None:
    """The host of a URL; None for what is no URL, which the engine refuses with the reason."""
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


@contextlib.contextmanager
def only(base_urls: Sequence[str]) -> Generator[None]:
    """Let connections through to the hosts of `base_urls` only. Not re-entrant across threads with other hosts."""
    global _allowed, _installed
    addresses = {host for url in base_urls if (host := _host(url))}
    for host in sorted(addresses):
        with contextlib.suppress(ValueError):
            ipaddress.ip_address(host)
            continue
        with contextlib.suppress(OSError):
            addresses |= {str(entry[4][0]) for entry in socket.getaddrinfo(host, None)}
    if not _installed:
        sys.addaudithook(_hook)
        _installed = True
    before, _allowed = _allowed, frozenset(addresses)
    try:
        yield
    finally:
        _allowed = before
