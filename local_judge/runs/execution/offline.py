"""Guard that allows network connections only to the engine.

Invariant: while the guard is active, connections and datagrams to any other address and port, and look-ups of any other
host, are refused inside the interpreter, for every library (an audit hook sees them all); child processes can make no
socket at all.

Allowed: sockets between processes of this machine (AF_UNIX), and listening, which sends nothing. Child processes are
started in a thread that has given up its sockets (`indexes.confining`), which they inherit; ways to start one that do
not allow this (`os.system`, `os.exec*`, `os.posix_spawn`) are refused.

Limits: the guard does not cover compiled code in this process that makes system calls itself; a host name given
directly to `socket.connect`, which is looked up before the connection is refused; processes that `multiprocessing`
spawns and does not fork; and, except on Linux on x86_64 and aarch64, child processes, which a line on standard error
reports.
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


class OfflineViolation(PermissionError):
    """Attempt to reach an address that the run may not use."""


class _Place(NamedTuple):
    host: str
    port: int
    scope: int = 0
    """Number of the network interface of an IPv6 address; 0 for others."""


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
        if address is None or family == socket.AF_UNIX:  # None: the socket is already connected
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
    """Return the place of a socket's address; None for an unknown network interface."""
    host, _, zone = str(address[0]).partition("%")
    try:
        named = 0 if not zone else int(zone) if zone.isdecimal() else socket.if_nametoindex(zone)
    except OSError:
        return None
    return _Place(host, address[1], named or (address[3] if len(address) > 3 else 0))


def _started(*arguments: Any, **named: Any) -> None:
    """Call `subprocess.Popen.__init__`, in a thread without sockets while the guard is active."""
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
    """Call `deny_sockets`, and report once if it has no effect."""
    global _told
    if not deny_sockets() and not _told:
        _told = True
        sys.stderr.write("offline: a program is started that this machine cannot keep from the network\n")


def _install() -> None:
    """Install the hooks permanently: an audit hook cannot be removed. They do nothing while no guard is active."""
    global _installed
    if not _installed:
        sys.addaudithook(_hook)
        os.register_at_fork(after_in_child=_confine_fork)
        subprocess.Popen.__init__ = _started
        _installed = True


def _reached(base_urls: Sequence[str]) -> _Allowed:
    """Return the addresses that URLs lead to. An invalid URL is ignored here and refused by the engine."""
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
    """Allow connections only to the hosts and ports of `base_urls`.

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
