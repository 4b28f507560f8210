"""Ratings of domains that people have given.

    {"domain": "who.int", "score": 10, "note": "specialised agency of the United Nations"}

Invariant: a domain stands in a file once, and under the name by which reports are judged.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from pydantic import Field

from indexes.urls import UrlError
from local_judge.errors import InputError
from local_judge.protocols.dream.domains import domain_of
from local_judge.rows import read_models
from serving.types import Frozen


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
