"""Registrable domains of URLs, and ratings of domains by people.

The registrable domain is the public suffix and one label before it (`bbc.co.uk`, `alice.github.io`), by the list of
publicsuffix.org that tldextract includes, with its private section: the owner of a name below `github.io` is not
GitHub.

    {"domain": "who.int", "score": 10, "note": "specialised agency of the United Nations"}

Invariants: nothing is fetched, so that the same package gives the same domains. Letter case, ports, a trailing dot,
Unicode and IDNA forms of a host make no difference. A host without a registrable domain (an IP address, a single name,
a public suffix itself) is its own domain. A file rates a domain once, under the name by which reports are judged.
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
from local_judge.base.errors import InputError
from local_judge.base.model import Frozen
from local_judge.base.rows import read_models

_EXTRACT = TLDExtract(suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True)


def domain_of(url: str) -> str:
    """Return the domain of an http or https URL: ASCII, lower case.

    Raises:
        UrlError: it is not an http or https URL.
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
    return ".".join(host.split(".")[-2:])  # the list's default rule: the last label is the suffix


def shown(domain: str) -> str:
    """Return a domain for people: with its Unicode form first, if it has one."""
    try:
        written = idna.decode(domain)
    except idna.IDNAError:
        return domain
    return domain if written == domain else f"{written} ({domain})"


class GivenRating(Frozen):
    """One row of a file of ratings."""

    domain: str
    score: int = Field(strict=True, ge=1, le=10)
    note: str = ""
    """Reason, for readers of the findings."""


def read_ratings(path: Path) -> dict[str, GivenRating]:
    """Read the ratings of a file by registrable domain.

    Raises:
        InputError: it cannot be read, a row is not a rating of a registrable domain, or a domain occurs twice.
    """
    found: dict[str, GivenRating] = {}
    for place, row in read_models(path, GivenRating):
        written = row.domain.strip()
        try:
            domain = domain_of(f"https://{written}/")
        except UrlError:
            raise InputError(f"{place}: {row.domain!r} is not a domain; write one such as who.int") from None
        if domain_name(written) != domain:
            raise InputError(f"{place}: {row.domain!r} belongs to {domain!r}; rate that domain")
        if domain in found:
            raise InputError(f"{place}: {row.domain!r} is rated twice")
        found[domain] = row
    return found


def domain_name(written: str) -> str:
    """Return a written domain in the form in which domains are compared."""
    ascii_form = written.encode("idna").decode() if not written.isascii() else written
    return ascii_form.lower().rstrip(".")


def ratings_digest(ratings: Mapping[str, GivenRating]) -> str:
    """Return the SHA-256 of all ratings, independent of their order in the file."""
    lines = (f"{domain} {row.score} {row.note}\n" for domain, row in sorted(ratings.items()))
    return hashlib.sha256("".join(lines).encode()).hexdigest()
