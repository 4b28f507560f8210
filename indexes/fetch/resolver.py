"""Names to addresses.

Invariant: what a name leads to is looked up in one place, which tests replace; nothing here decides whether an
address may be used.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_address
from typing import Protocol

from indexes.fetch.addresses import Address
from indexes.fetch.faults import NoSuchHost, Unreachable

_THREADS = 8
_LASTING = frozenset({socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)})


class Resolver(Protocol):
    """Looks names up."""

    async def resolve(self, host: str) -> Sequence[Address]:
        """All addresses of a name in ASCII, in the order in which they should be tried; at least one.

        Raises:
            Unreachable: there is none, or the look-up failed.
        """
        ...


class SystemResolver:
    """Asks the operating system, in threads of its own: a look-up that hangs holds up look-ups only."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_THREADS, "resolver")

    async def resolve(self, host: str) -> Sequence[Address]:
        """See `Resolver.resolve`."""
        loop = asyncio.get_running_loop()
        # The dot keeps this machine's search domains out: `example.com` must not become a name of its network.
        name = host + "." if "." in host else host
        try:
            found = await loop.run_in_executor(
                self._threads, lambda: socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
            )
        except socket.gaierror as error:
            if error.errno in _LASTING:
                raise NoSuchHost(f"{host}: no such host") from None
            raise Unreachable(f"{host}: the look-up of its name failed ({error.strerror})") from None
        except (OSError, UnicodeError) as error:
            raise Unreachable(f"{host}: the look-up of its name failed ({error})", passing=False) from None
        addresses = [ip_address(str(entry[4][0])) for entry in found]
        return list(dict.fromkeys(addresses))
