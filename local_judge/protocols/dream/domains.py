"""Address -> the domain that answers for it.

The registrable domain is the public suffix and one label before it (`bbc.co.uk`, `alice.github.io`), by the list of
publicsuffix.org that tldextract brings along, with its private section: whoever has a name below `github.io` is someone
else than GitHub.

Invariant: nothing is fetched, so that the same package gives the same domains; letter case, ports, a trailing dot,
Unicode and IDNA forms of a host make no difference; a host without registrable domain (an IP address, a single name, a
public suffix itself) stands for itself.
"""

from __future__ import annotations

from functools import cache
from urllib.parse import urlsplit

import idna
from tldextract import TLDExtract

from indexes.urls import UrlError, normalise_url

_EXTRACT = TLDExtract(suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True)


def domain_of(url: str) -> str:
    """The domain of an http or https address: ASCII, lower case.

    Raises:
        UrlError: it is no such address.
    """
    host = urlsplit(normalise_url(url)).hostname
    if host is None:
        raise UrlError(f"{url!r} has no host")
    return _registrable(host)


@cache
def _registrable(host: str) -> str:
    found = _EXTRACT.extract_str(f"[{host}]" if ":" in host else host)
    if found.ipv4 or found.ipv6:
        return host
    if found.suffix:
        return f"{found.domain}.{found.suffix}" if found.domain else host
    return ".".join(host.split(".")[-2:])  # the list's own rule where none fits: the last label is the suffix


def shown(domain: str) -> str:
    """A domain for people: with its Unicode form before it, where it has one."""
    try:
        written = idna.decode(domain)
    except idna.IDNAError:
        return domain
    return domain if written == domain else f"{written} ({domain})"
