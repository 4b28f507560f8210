"""Annotated reports: a person's reading of what a report claims, and of what its sources say about it.

Invariants: an annotation refers to the report by labels and citation keys that a reader sees there. Each source that
can be read has a label; null marks a source that cannot be read, and never means "not supported". The rules of
back-tracking run unchanged on annotated claims, and are compared by citation keys, so that two marks of one reference
are one citation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Literal, get_args

from pydantic import Field

from local_judge.base.model import Frozen
from local_judge.claims.backtrack import Rule, citations_by_sentence, sections_by_sentence, trace
from local_judge.claims.build import further
from local_judge.claims.extract import is_numeric
from local_judge.claims.model import Claim, ClaimType
from local_judge.documents.model import Document, Sentence
from local_judge.lab.labelled.model import TRUE, TRUTH_LABELS, LabelledClaim
from local_judge.lab.planting.model import AlterationKind

GoldLabel = Literal["supported", "partial", "contradicted", "not_found"]
"""Label of one page for one claim. `partial`: the page states a part, and nothing against the rest."""

Labels = dict[str, GoldLabel | None]
"""Citation key in the report -> label of the page; None for a page that cannot be read."""


Version = Literal["original", "altered"]


class Altered(Frozen):
    """The claim with one false detail."""

    kind: AlterationKind
    """Kind of error: `direction` reverses a trend or comparison, `scope` is wider or narrower, `causal` names
    another cause."""
    claim: str = Field(min_length=1)
    """The false claim: plausible, and false according to the page."""
    citations: Labels
    """The same keys with their labels, none of which is `supported`."""


class GoldClaim(Frozen):
    """One annotated claim. One line of a file."""

    id: str = Field(min_length=1)
    """Id, unique in the file."""
    sentence: str
    """Label `Lx.Sy` of the sentence that makes the claim."""
    claim: str = Field(min_length=1)
    """The claim, understandable without context: pronouns resolved, no citation marks."""
    type: ClaimType
    """Type of the claim."""
    evidence: tuple[str, ...] = ()
    """Labels of the sentences that state the support of B and C: earlier ones, or later ones of the paragraph."""
    citations: Labels = Field(default_factory=dict)
    """Labels of the cited pages for A, B and C: citation key to `supported`, `partial`, `contradicted`,
    `not_found`, or null if the page cannot be read."""
    altered: Altered | None = None
    """The claim with one false detail."""


class AnnotatedReport(Frozen):
    """A report with its claims, in the order of the file."""

    id: str
    """Name of the file without suffixes."""
    document: Document
    claims: tuple[GoldClaim, ...]

    def url(self, key: str) -> str | None:
        """Return the normalised URL of a citation key, or None if it has none."""
        return self._urls.get(key)

    def keys_on(self, label: str) -> tuple[str, ...]:
        """Return the keys of the citations on a sentence, each once."""
        sentence = self.sentences.get(label)
        cited = sentence.citations if sentence is not None else ()
        return tuple(dict.fromkeys(self.document.citation(citation).key for citation in cited))

    @cached_property
    def sentences(self) -> dict[str, Sentence]:
        """Sentences by label, in reading order."""
        return {sentence.label: sentence for sentence in self.document.sentences}

    @cached_property
    def body(self) -> list[Sentence]:
        """Sentences of the body, in reading order."""
        blocks = self.document.blocks
        return [one for one in self.document.sentences if blocks[one.block].role == "body"]

    @cached_property
    def _urls(self) -> dict[str, str]:
        return {one.key: one.url for one in self.document.citations if one.url is not None}


def as_claims(report: AnnotatedReport, positions: Mapping[str, Sequence[str]] | None = None) -> list[Claim]:
    """Return the annotated claims in reading order, with their own ids (`GoldClaim.id`).

    Args:
        report: the annotated report.
        positions: evidence positions by sentence that replace the annotated ones.
    """
    order = {label: index for index, label in enumerate(report.sentences)}
    claims: list[Claim] = []
    for gold in sorted(report.claims, key=lambda claim: order.get(claim.sentence, -1)):
        sentence = report.sentences.get(gold.sentence)
        if sentence is None:
            continue
        evidence = gold.evidence if positions is None else tuple(positions.get(gold.sentence, ()))
        claims.append(
            Claim(
                id=gold.id,
                text=gold.claim,
                sentence=gold.sentence,
                span=sentence.span,
                type=gold.type,
                numeric=is_numeric(gold.claim),
                citations=sentence.citations,
                evidence_positions=evidence if gold.type in ("B", "C") else (),
            )
        )
    return claims


def recovered_keys(claim: Claim, document: Document) -> frozenset[str]:
    """Return the keys of the citations that back-tracking recovered for a claim."""
    return frozenset(document.citation(citation).key for citation in claim.recovered)


def follow(claims: Sequence[Claim], document: Document, rule: Rule) -> tuple[Claim, ...]:
    """Return the claims with the citations that back-tracking by `rule` recovers."""
    found = trace(claims, citations_by_sentence(document), sections_by_sentence(document)).claims
    if rule == "paper":
        return found
    return tuple(
        claim.model_copy(update={"recovered": further(claim.upstream.citations, claim.citations)})
        for claim in found
        if claim.upstream is not None
    )


def traced(
    report: AnnotatedReport, rule: Rule, positions: Mapping[str, Sequence[str]] | None = None
) -> dict[str, frozenset[str]]:
    """Return the keys of the citations that `rule` recovers for each annotated claim."""
    claims = follow(as_claims(report, positions), report.document, rule)
    return {claim.id: recovered_keys(claim, report.document) for claim in claims}


def annotated_claims(reports: Sequence[AnnotatedReport]) -> list[LabelledClaim]:
    """Return each labelled pair of a claim and a page, for original claims and then for altered ones."""
    claims: list[LabelledClaim] = []
    for version in get_args(Version):
        for report in reports:
            for gold in report.claims:
                stated = gold if version == "original" else gold.altered
                for key, label in (stated.citations if stated is not None else {}).items():
                    url = report.url(key)
                    if stated is None or label is None or url is None:
                        continue
                    name = f"{report.id}/{gold.id}" + ("/altered" if version == "altered" else "")
                    kind = gold.altered.kind if version == "altered" and gold.altered is not None else TRUE
                    claims.append(
                        LabelledClaim(
                            id=f"{name}@{url}",
                            claim=stated.claim,
                            url=url,
                            label=TRUTH_LABELS[label],
                            facets={"version": version, "kind": kind, "language": report.document.language},
                        )
                    )
    return claims


def annotated_set(reports: Sequence[AnnotatedReport]) -> list[LabelledClaim]:
    """Return the labelled pairs as one set, in which claims about one page are one document."""
    return [
        one.model_copy(update={"set": "annotated reports", "document": one.page})
        for one in annotated_claims(reports)
    ]
