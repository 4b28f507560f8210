"""What was found of the domains that a report cites.

Invariant: each domain is there once, in the order of its first citation, with a score or with the failure in its place.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from local_judge.documents.model import Frozen
from local_judge.judge.failures import Failure


class CitedDomain(Frozen):
    """One domain."""

    domain: str
    """Registrable domain, or the host where it has none."""
    urls: tuple[str, ...]
    """The addresses on it that the report cites, in reading order."""
    score: int | None = Field(default=None, ge=1, le=10)
    """None where there is no answer: see `failure`."""
    by: Literal["judge", "file"] = "judge"
    """`file`: a person's rating."""
    rationale: str = ""
    failure: Failure | None = None
    replies: tuple[str, ...] = ()
    """Ledger keys."""


class AuthorityFindings(Frozen):
    """All domains that one report cites."""

    domains: tuple[CitedDomain, ...]
    n_unresolved: int = 0
    """Citations that lead to no address."""

    @property
    def n_failed(self) -> int:
        """Domains without a score."""
        return sum(domain.score is None for domain in self.domains)
