"""Rules for the hosts that may be requested.

Invariant: an address is allowed only if every reading of it is: an IPv6 address that carries an IPv4 address is
judged by both, and whatever is not plainly a public unicast address is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

Address = IPv4Address | IPv6Address

# The IANA registries of special-purpose addresses (RFC 6890 and its updates), multicast, and what is set apart.
_REFUSED_4: tuple[tuple[IPv4Network, str], ...] = tuple(
    (IPv4Network(block), name)
    for block, name in (
        ("0.0.0.0/8", "this network"),
        ("10.0.0.0/8", "private"),
        ("100.64.0.0/10", "shared by carriers"),
        ("127.0.0.0/8", "loopback"),
        ("168.63.129.16/32", "cloud metadata"),  # public by number, answered by the hypervisor
        ("169.254.0.0/16", "link-local"),
        ("172.16.0.0/12", "private"),
        ("192.0.0.0/24", "protocol assignments"),
        ("192.0.2.0/24", "documentation"),
        ("192.31.196.0/24", "AS112"),
        ("192.52.193.0/24", "relay"),
        ("192.88.99.0/24", "6to4 relay"),
        ("192.168.0.0/16", "private"),
        ("192.175.48.0/24", "AS112"),
        ("198.18.0.0/15", "benchmarking"),
        ("198.51.100.0/24", "documentation"),
        ("203.0.113.0/24", "documentation"),
        ("224.0.0.0/4", "multicast"),
        ("240.0.0.0/4", "reserved"),
    )
)
_REFUSED_6: tuple[tuple[IPv6Network, str], ...] = tuple(
    (IPv6Network(block), name)
    for block, name in (
        ("2001::/23", "protocol assignments"),  # Teredo, ORCHID, benchmarking
        ("2001:db8::/32", "documentation"),
        ("2002::/16", "6to4"),
        ("2620:4f:8000::/48", "AS112"),
        ("3fff::/20", "documentation"),
    )
)
_NAMED_6: tuple[tuple[IPv6Network, str], ...] = tuple(
    (IPv6Network(block), name)
    for block, name in (
        ("::/128", "unspecified"),
        ("::1/128", "loopback"),
        ("fc00::/7", "private"),
        ("fe80::/10", "link-local"),
        ("fec0::/10", "site-local"),
        ("ff00::/8", "multicast"),
    )
)
_GLOBAL_6 = IPv6Network("2000::/3")
_MAPPED = IPv6Network("::ffff:0:0/96")
_NAT64 = IPv6Network("64:ff9b::/96")

_NUMBER = re.compile(r"0[xX][0-9a-fA-F]*|[0-9]+")


def why_refused(address: Address) -> str | None:
    """Return the reason for refusing an address, in words; None if it is allowed."""
    if isinstance(address, IPv4Address):
        return next((name for block, name in _REFUSED_4 if address in block), None)
    if address.scope_id is not None:
        return "bound to one interface"
    if address in _MAPPED or address in _NAT64:
        return why_refused(IPv4Address(int(address) & 0xFFFFFFFF))
    if address in _GLOBAL_6:
        return next((name for block, name in _REFUSED_6 if address in block), None)
    return next((name for block, name in _NAMED_6 if address in block), "not a public address")


def literal(host: str) -> Address | None:
    """The address that a host stands for without any look-up; None for a name.

    Reads what browsers and the C library read: `[…]` or a text with colons as IPv6; as IPv4 one to four numbers, each
    decimal, octal (`0177`) or hexadecimal (`0x7f`), the last one filling the bytes that are left.

    Raises:
        ValueError: a host that can only be meant as an address, and is none.
    """
    if host.startswith("[") or ":" in host:
        return IPv6Address(host.removeprefix("[").removesuffix("]"))
    parts = host.removesuffix(".").split(".")
    if not _NUMBER.fullmatch(parts[-1]):
        return None
    if len(parts) > 4 or not all(_NUMBER.fullmatch(part) for part in parts):
        raise ValueError(f"{host!r} ends in a number and is no IPv4 address")
    numbers = [_number(part) for part in parts]
    last = numbers.pop()
    if any(number > 255 for number in numbers) or last >= 256 ** (4 - len(numbers)):
        raise ValueError(f"{host!r} has numbers too large for an IPv4 address")
    for position, number in enumerate(numbers):
        last += number << (8 * (3 - position))
    return IPv4Address(last)


def _number(text: str) -> int:
    if len(text) > 40:  # more digits than any address, and int() of thousands takes long
        raise ValueError(f"a number of {len(text)} digits is no part of an IPv4 address")
    if text[:2] in ("0x", "0X"):
        return int(text[2:] or "0", 16)
    return int(text, 8) if len(text) > 1 and text[0] == "0" else int(text)


class HostPolicy:
    """Policy for the hosts, ports and addresses that may be requested.

    Args:
        allow_hosts: `host` or `host:port`, exempt from the rules at any port or at this one.
        ports: allowed for all others.
    """

    def __init__(self, allow_hosts: Iterable[str] = (), ports: Iterable[int] = (80, 443)) -> None:
        self._allowed = frozenset(host.strip().lower() for host in allow_hosts)
        self._ports = frozenset(ports)

    def exempt(self, host: str, port: int) -> bool:
        """Check whether a host is an allowed test host, whose port and addresses are not checked."""
        return host in self._allowed or f"{host}:{port}" in self._allowed

    def refuse_port(self, host: str, port: int) -> str | None:
        """Return the reason for refusing a port, in words."""
        if port in self._ports or self.exempt(host, port):
            return None
        return f"port {port} is not one that pages are asked for at"

    def refuse_addresses(self, host: str, port: int, addresses: Iterable[Address]) -> str | None:
        """Return the reason for refusing a host with these addresses, in words.

        One bad address among good ones refuses the host: a name that leads both ways is a trap.
        """
        if self.exempt(host, port):
            return None
        for address in addresses:
            if why := why_refused(address):
                named = f"{host} is {address}" if host != _format_address(address) else f"{address}"
                return f"address refused: {named} ({why})"
        return None


def _format_address(address: Address) -> str:
    return f"[{address}]" if isinstance(address, IPv6Address) else str(address)
