"""Address -> the domain that answers for it.

The registrable domain is the public suffix and one label before it (`bbc.co.uk`, `alice.github.io`), by the list of
publicsuffix.org that tldextract brings along, with its private section: whoever has a name below `github.io` is someone
else than GitHub.

Invariant: nothing is fetched, so that the same package gives the same domains; letter case, ports, a trailing dot,
Unicode and IDNA forms of a host make no difference; a host without registrable domain (an IP address, a single name, a
public suffix itself) stands for itself.


Ratings of domains that people have given.

    {"domain": "who.int", "score": 10, "note": "specialised agency of the United Nations"}

Invariant: a domain stands in a file once, and under the name by which reports are judged.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

import idna
from pydantic import Field
from tldextract import TLDExtract

from indexes.urls import UrlError, normalise_url
from local_judge.errors import InputError
from local_judge.rows import read_models
from serving.types import Frozen

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


class GivenRating(Frozen):
    """One row."""

    domain: str
    score: int = Field(strict=True, ge=1, le=10)
    note: str = ""
    """Why, for those who read the findings."""


def read_ratings(path: Path) -> dict[str, GivenRating]:
    """The ratings of a file by registrable domain.

    Raises:
        InputError: it cannot be read, or has a row that is no rating, or of no registrable domain, or a domain twice.
    """
    found: dict[str, GivenRating] = {}
    for place, row in read_models(path, GivenRating):
        written = row.domain.strip()
        try:
            domain = domain_of(f"https://{written}/")
        except UrlError:
            raise InputError(f"{place}: {row.domain!r} is no domain, such as who.int") from None
        if domain_name(written) != domain:
            raise InputError(f"{place}: {row.domain!r} is judged as {domain!r}; rate that")
        if domain in found:
            raise InputError(f"{place}: {row.domain!r} is rated twice")
        found[domain] = row
    return found


def domain_name(written: str) -> str:
    """A domain as it was written, in the form in which domains are compared."""
    ascii_form = written.encode("idna").decode() if not written.isascii() else written
    return ascii_form.lower().rstrip(".")


def ratings_digest(ratings: Mapping[str, GivenRating]) -> str:
    """SHA-256 over all ratings, whatever their order in the file."""
    lines = (f"{domain} {row.score} {row.note}\n" for domain, row in sorted(ratings.items()))
    return hashlib.sha256("".join(lines).encode()).hexdigest()
