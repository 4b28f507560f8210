"""Annotated reports: what a person says a report claims, and what its sources say of it.

Invariant: an annotation points into the report by labels and citation keys that a reader sees there; a label is given
for each source of a claim that can be read, and null stands for one that cannot, never for "not supported".
"""

from __future__ import annotations

from functools import cached_property
from typing import Literal

from pydantic import Field

from local_judge.claims.model import ClaimType
from local_judge.documents.model import Document, Frozen
from local_judge.planting.kinds import AlterationKind

GoldLabel = Literal["supported", "partial", "contradicted", "not_found"]
"""What one page says of one claim. `partial`: a part of it, and nothing against the rest."""

VERIFIABLE: tuple[ClaimType, ...] = ("A", "B", "C")
"""Classes of claims that the report gives a source for, so that they are verified (DEER, section 3.2)."""

Labels = dict[str, GoldLabel | None]
"""Citation key, as the report has it, -> what the page behind it says; None for a page that cannot be read."""


class Altered(Frozen):
    """The claim made false in one place."""

    kind: AlterationKind
    claim: str = Field(min_length=1)
    citations: Labels


class GoldClaim(Frozen):
    """One claim as a person reads the report. One line of a file."""

    id: str = Field(min_length=1)
    sentence: str
    """Label `Lx.Sy` of the sentence that makes the claim."""
    claim: str = Field(min_length=1)
    type: ClaimType
    evidence: tuple[str, ...] = ()
    """Of B and C: labels of the sentences that state the support: earlier ones, or later ones of the paragraph."""
    citations: Labels = Field(default_factory=dict)
    """Of A, B and C."""
    altered: Altered | None = None


class AnnotatedReport(Frozen):
    """A report with its claims, in the order of the file."""

    id: str
    """Name of the file without suffixes."""
    document: Document
    claims: tuple[GoldClaim, ...]

    def url(self, key: str) -> str | None:
        """Normalised URL behind a citation key, None where it has none."""
        return self._urls.get(key)

    @cached_property
    def _urls(self) -> dict[str, str]:
        return {
            citation.key: citation.url for citation in self.document.citations if citation.url is not None
        }
