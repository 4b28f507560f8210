"""Report + claim set -> what its claims cite.

    verifiable claims   see `dream.verifiable`; equal ones once
    cited               those with a citation, wherever that leads

Invariant: nothing is asked here; labels are those of the claim set's verdicts, mapped one to one.
"""

from __future__ import annotations

from collections.abc import Iterator

from local_judge.claims.model import OURS, Claim, ClaimSet, Label, Source, Verdict
from local_judge.documents.model import Document
from local_judge.protocols.base import Bench, Case
from local_judge.protocols.dream.citation.findings import (
    CheckedClaim,
    CheckedSource,
    CitationFindings,
    Outcome,
)
from local_judge.protocols.dream.citation.settings import CitationSettings
from local_judge.protocols.dream.verifiable import left_out, same_words

OUTCOMES: dict[Label, Outcome] = {
    "supported": "supported",
    "partial": "partial",
    "contradicted": "contradicted",
    "not_found": "neutral",
    "off_topic": "neutral",
}


async def judge_citation(case: Case, bench: Bench, settings: CitationSettings) -> CitationFindings:
    """The claims of one report and their sources."""
    return cited_claims(case.report, await bench.claims(), settings)


def cited_claims(document: Document, claims: ClaimSet, settings: CitationSettings) -> CitationFindings:
    """The same from a claim set."""
    reasons = [left_out(claim) for claim in claims.claims]
    kept = [claim for claim, reason in zip(claims.claims, reasons, strict=True) if reason is None]
    lost = {label for failure in claims.extraction_failures for label in failure.sentences}
    cited = {sentence.label for sentence in document.sentences if sentence.citations}
    verdicts = {(verdict.claim, verdict.url): verdict for verdict in claims.verdicts}
    sources = {source.url: source for source in claims.sources}
    alike: dict[str, list[Claim]] = {}
    for claim in kept:
        alike.setdefault(same_words(claim.text), []).append(claim)
    return CitationFindings(
        unit=settings.unit,
        unsettled=settings.unsettled,
        recovered=settings.recovered,
        claims=tuple(
            CheckedClaim(
                id=group[0].id,
                text=group[0].text,
                repeats=tuple(claim.id for claim in group[1:]),
                sources=_sources(group, document, sources, verdicts, settings.recovered),
            )
            for group in alike.values()
        ),
        n_recaps=reasons.count("recap"),
        n_own=reasons.count("own"),
        n_uncheckable=reasons.count("uncheckable"),
        lost_cited=len(lost & cited),
        lost_uncited=len(lost - cited),
    )


def _sources(
    group: list[Claim],
    document: Document,
    sources: dict[str, Source],
    verdicts: dict[tuple[str, str], Verdict],
    recovered: bool,
) -> tuple[CheckedSource, ...]:
    """The sources of equal claims, each once: of several verdicts on one, the first that has a label."""
    found: dict[str | None, CheckedSource] = {}
    for claim in group:
        for url in _urls(claim, document, recovered):
            source = _source(url, sources, verdicts.get((claim.id, url or "")))
            if url not in found or (found[url].outcome == "failed" and source.outcome != "failed"):
                found[url] = source
    return tuple(found.values())


def _urls(claim: Claim, document: Document, recovered: bool) -> Iterator[str | None]:
    """The addresses that a claim cites, each once; None once for all citations without one."""
    citations = (*claim.citations, *(claim.recovered if recovered else ()))
    yield from dict.fromkeys(document.citation(one).url for one in citations)


def _source(url: str | None, sources: dict[str, Source], verdict: Verdict | None) -> CheckedSource:
    status = sources[url].status if url is not None else None
    if status != "ok" or verdict is None:
        unknown = status == "ok" or status in OURS
        return CheckedSource(url=url, status=status, outcome="failed" if unknown else "unverifiable")
    return CheckedSource(
        url=url,
        status=status,
        outcome="failed" if verdict.label is None else OUTCOMES[verdict.label],
        label=verdict.label,
        quote=verdict.quote,
        quote_rejected=verdict.quote_rejected,
        rationale=verdict.rationale,
        failure=verdict.failure,
        replies=verdict.replies,
    )
