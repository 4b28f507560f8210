"""Annotated reports: what a person says a report claims, and what its sources say of it.

Invariants: an annotation points into the report by labels and citation keys that a reader sees there; a label is given
for each source of a claim that can be read, and null stands for one that cannot, never for "not supported". The rules
of back-tracking run unchanged on annotated claims as claims, and are compared by citation keys, so that two marks of
one reference are one citation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Literal

from pydantic import Field

from local_judge.claims.backtrack import Rule, citations_by_sentence, sections_by_sentence, trace
from local_judge.claims.extract import is_numeric
from local_judge.claims.model import Claim, ClaimType
from local_judge.documents.model import Document
from local_judge.lab.planting.model import AlterationKind
from serving.types import Frozen

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


def as_claims(report: AnnotatedReport, positions: Mapping[str, Sequence[str]] | None = None) -> list[Claim]:
    """The annotated claims in reading order, with ids of their own (`GoldClaim.id`).

    Args:
        report: the annotated report.
        positions: sentence -> evidence positions to put in the place of the annotated ones.
    """
    order = {sentence.label: index for index, sentence in enumerate(report.document.sentences)}
    sentences = {sentence.label: sentence for sentence in report.document.sentences}
    ordered = sorted(report.claims, key=lambda claim: order.get(claim.sentence, -1))
    return [
        Claim(
            id=gold.id,
            text=gold.claim,
            sentence=gold.sentence,
            span=sentences[gold.sentence].span,
            type=gold.type,
            type_judged=gold.type,
            numeric=is_numeric(gold.claim),
            citations=sentences[gold.sentence].citations,
            evidence_positions=_positions(gold, positions),
        )
        for gold in ordered
        if gold.sentence in sentences
    ]


def _positions(gold: GoldClaim, positions: Mapping[str, Sequence[str]] | None) -> tuple[str, ...]:
    if gold.type not in ("B", "C"):
        return ()
    return gold.evidence if positions is None else tuple(positions.get(gold.sentence, ()))


def recovered_keys(claim: Claim, document: Document) -> frozenset[str]:
    """Keys of the citations that back-tracking gave a claim."""
    return frozenset(document.citation(citation).key for citation in claim.recovered)


def follow(claims: Sequence[Claim], document: Document, rule: Rule) -> tuple[Claim, ...]:
    """`claims` after back-tracking by `rule`."""
    return trace(claims, citations_by_sentence(document), rule, sections_by_sentence(document)).claims


def traced(
    report: AnnotatedReport, rule: Rule, positions: Mapping[str, Sequence[str]] | None = None
) -> dict[str, frozenset[str]]:
    """Annotated claim -> keys of the citations that `rule` recovers for it."""
    claims = follow(as_claims(report, positions), report.document, rule)
    return {claim.id: recovered_keys(claim, report.document) for claim in claims}
