"""Annotated claims as claims, so that the rules of back-tracking run on them unchanged.

Invariant: what a rule gives an annotated claim is compared by citation keys, so that two marks of one reference are
one citation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from local_judge.annotations.model import AnnotatedReport, GoldClaim
from local_judge.claims.backtrack import Rule, citations_by_sentence, sections_by_sentence, trace
from local_judge.claims.model import Claim
from local_judge.claims.numbers import is_numeric
from local_judge.documents.model import Document


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
