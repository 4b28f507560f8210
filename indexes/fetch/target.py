"""An address as it is sent.

Invariant: a `Target` is http or https without credentials and without fragment, in ASCII, and its host is either a
name in DNS form or an IP address in its one usual form, however it was written: what is checked is what is sent.
Path and query stay as cited but for characters that may not stand in a request.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv6Address
from urllib.parse import urljoin, urlsplit

import idna

from indexes.fetch.addresses import Address, literal
from indexes.fetch.faults import Refused
from indexes.urls import shown_url

_UNSENDABLE = re.compile(rb"[^!$-;=?-\[\]_a-z~]")
"""Refused in path and query: controls, blanks, `"`, `#`, `<`, `>`, `\\`, `^`, backtick, braces, `|`, and non-ASCII."""
_BARE_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
_NAME = re.compile(r"(?=.{1,253}$)[a-z0-9_](?:[a-z0-9_-]{0,62})?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,62})?)*")
_STRAY = re.compile(r"[\t\r\n\u200b\u2060\ufeff]")
DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class Target:
    """One resource to ask for."""

    url: str
    scheme: str
    host: str
    """Lower case; IPv6 in brackets."""
    port: int
    address: Address | None
    """Address, if the host is an address itself."""

    @property
    def origin(self) -> str:
        """Scheme, host and port: what one robots.txt speaks for."""
        shown = self.host if self.port == DEFAULT_PORTS[self.scheme] else f"{self.host}:{self.port}"
        return f"{self.scheme}://{shown}"


def target(url: str, base: str | None = None, *, longest: int = 8_000) -> Target:
    """Read an address as it was cited, or as a redirect or a link of the page at `base` names it.

    Raises:
        Refused: it is not one to be asked; the reason names it.
    """
    written = _STRAY.sub("", url.strip())
    if len(written) > 4 * longest:
        raise Refused(f"an address of {len(written):,} characters, more than {longest:,}")
    shown = shown_url(written)
    if written[:4].lower() == "www." and base is None:
        written = "https://" + written
    try:
        parts = urlsplit(urljoin(base, written) if base else written)
        port, host = parts.port, (parts.hostname or "").lower()
    except ValueError as error:
        raise Refused(f"not a web address: {shown!r} ({str(error)[:120]})") from None
    scheme = parts.scheme.lower()
    if scheme not in DEFAULT_PORTS:
        raise Refused(f"neither http nor https: {shown!r}")
    if "@" in parts.netloc:
        raise Refused(f"an address with credentials in it: {shown!r}")
    host, address = _host(host, shown)
    port = DEFAULT_PORTS[scheme] if port is None else port
    place = _sendable(parts.path or "/") + (f"?{_sendable(parts.query)}" if parts.query else "")
    found = Target("", scheme, host, port, address)
    whole = f"{found.origin}{place if place.startswith('/') else '/' + place}"
    if len(whole) > longest:
        raise Refused(f"an address of {len(whole):,} characters, more than {longest:,}")
    return Target(whole, scheme, host, port, address)


def _host(host: str, shown: str) -> tuple[str, Address | None]:
    host = host.removesuffix(".")
    try:
        if not host.isascii():
            host = idna.encode(host, uts46=True, transitional=False).decode("ascii").removesuffix(".")
        address = literal(host)
    except ValueError as error:  # idna's errors among them
        raise Refused(f"no valid host in {shown!r} ({str(error)[:120]})") from None
    if address is not None:
        return (f"[{address}]" if isinstance(address, IPv6Address) else str(address)), address
    if not _NAME.fullmatch(host):
        raise Refused(f"no valid host in {shown!r}")
    return host, None


def _sendable(text: str) -> str:
    raw = text.encode("utf-8", "surrogatepass")
    quoted = _UNSENDABLE.sub(lambda match: b"%%%02X" % match.group()[0], raw).decode("ascii")
    return _BARE_PERCENT.sub("%25", quoted)
