"""No socket but to the engine.

Invariant: while the guard is up, a connection or a datagram to any address and port that was not named, and a look-up
of any other host, is refused inside the interpreter, whichever library asks for it (an audit hook sees them all); and
what the process starts can make no socket at all.

What is let through: sockets between processes of this machine (AF_UNIX), and listening, which sends nothing by itself.
Processes are started in a thread that has given up its sockets (`indexes.confining`), which they inherit; ways to start
one that leave no room for that (`os.system`, `os.exec*`, `os.posix_spawn`) are refused.

Where it does not reach: compiled code in this process that calls the system by itself; a name given straight to
`socket.connect`, which is looked up before the connection is refused; processes that `multiprocessing` spawns and does
not fork; and, beyond Linux on x86_64 and aarch64, all processes that are started, of which a line on standard error
tells.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, cast
from urllib.parse import urlsplit

from indexes.confining import deny_sockets


class OfflineViolation(OSError):
    """Something tried to reach a place that the run was not told to use."""


class _Place(NamedTuple):
    host: str
    port: int
    scope: int = 0
    """Number of the network interface that an IPv6 address belongs to; 0 for all others."""


class _Allowed(NamedTuple):
    places: frozenset[_Place]
    hosts: frozenset[str]
    """Names and addresses that may be looked up."""


_ADDRESSED = ("socket.connect", "socket.sendto", "socket.sendmsg")
_LOOKED_UP = ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr", "socket.getnameinfo")
_STARTED = ("os.system", "os.exec", "os.posix_spawn")

_allowed: _Allowed | None = None
_installed = False
_told = False
_confined = threading.local()
_start: Any = subprocess.Popen.__init__


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _allowed is None:
        return
    if event in _ADDRESSED:
        family, address = arguments[0].family, arguments[1]
        if address is None or family == socket.AF_UNIX:  # None: where the socket is connected to
            return
        if family not in (socket.AF_INET, socket.AF_INET6) or _place(address) not in _allowed.places:
            raise _violation(f"a connection to {address!r}")
    elif event in _LOOKED_UP:
        host: object = arguments[0]
        if isinstance(host, tuple) and host:
            host = cast("tuple[object, ...]", host)[0]
        if isinstance(host, bytes | bytearray):
            host = host.decode("ascii", "replace")
        if isinstance(host, str) and host not in _allowed.hosts:
            raise _violation(f"a look-up of {host!r}")
    elif event in _STARTED and not getattr(_confined, "here", False):
        raise _violation(f"to start a program by {event}")


def _violation(what: str) -> OfflineViolation:
    return OfflineViolation(f"offline: {what} was refused; a run reaches only its engine")


def _place(address: tuple[Any, ...]) -> _Place | None:
    """What a socket's address means; None for an interface that is not there."""
    host, _, zone = str(address[0]).partition("%")
    try:
        named = 0 if not zone else int(zone) if zone.isdecimal() else socket.if_nametoindex(zone)
    except OSError:
        return None
    return _Place(host, address[1], named or (address[3] if len(address) > 3 else 0))


def _started(*arguments: Any, **named: Any) -> None:
    """`subprocess.Popen.__init__`, in a thread without sockets while the guard is up."""
    if _allowed is None:
        _start(*arguments, **named)
        return
    with ThreadPoolExecutor(1, thread_name_prefix="offline", initializer=_confine) as thread:
        thread.submit(_start, *arguments, **named).result()


def _confine() -> None:
    _confined.here = True
    _give_up_sockets()


def _confine_fork() -> None:
    if _allowed is not None:
        _give_up_sockets()


def _give_up_sockets() -> None:
    """`deny_sockets`, which says so once where it has no effect."""
    global _told
    if not deny_sockets() and not _told:
        _told = True
        sys.stderr.write(
            "offline: a program is started that cannot be kept from the network on this machine\n"
        )


def _install() -> None:
    """For good: an audit hook cannot be taken away. It does nothing while no guard is up."""
    global _installed
    if not _installed:
        sys.addaudithook(_hook)
        os.register_at_fork(after_in_child=_confine_fork)
        subprocess.Popen.__init__ = _started
        _installed = True


def _reached(base_urls: Sequence[str]) -> _Allowed:
    """What these URLs lead to. One that is none leads nowhere: the engine refuses it with the reason."""
    places: set[_Place] = set()
    for url in base_urls:
        with contextlib.suppress(ValueError):
            parts = urlsplit(url)
            port = parts.port or (443 if parts.scheme == "https" else 80)
            if parts.hostname:
                places.add(_Place(parts.hostname, port))
                with contextlib.suppress(OSError):
                    found = socket.getaddrinfo(parts.hostname, port, type=socket.SOCK_STREAM)
                    places |= {place for entry in found if (place := _place(entry[4]))}
    return _Allowed(frozenset(places), frozenset(place.host for place in places))


@contextlib.contextmanager
def only(base_urls: Sequence[str]) -> Generator[None]:
    """Let connections through to the hosts and ports of `base_urls` only.

    Not re-entrant across threads with other URLs.
    """
    global _allowed
    allowed = _reached(base_urls)
    _install()
    before, _allowed = _allowed, allowed
    try:
        yield
    finally:
        _allowed = before
