"""The claim set of a document: its claims, the pages that they cite, and the verdicts of a judge.

Invariants: data goes one way, document -> claims -> recovered citations -> sources -> verdicts, and the claim set is
the same whatever the order in which replies arrive. A claim and a URL form a pair exactly if one of the claim's
citations, written or recovered, resolves to that URL; pairs and sources are in reading order; a URL's status comes from
the snapshot alone. Several judges give verdicts on the claims that one of them extracted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

from indexes.model import Page
from indexes.snapshot import Snapshot
from indexes.text.walls import WALL_TEXT
from local_judge.base.failures import Failure
from local_judge.claims.backtrack import citations_by_sentence, sections_by_sentence, trace
from local_judge.claims.config import ClaimsConfig
from local_judge.claims.evidence import PageEvidence, evidence_groups
from local_judge.claims.extract import extract_claims
from local_judge.claims.grouped import verify_grouped
from local_judge.claims.model import Claim, ClaimSet, Source, Verdict, on_page
from local_judge.claims.scored import verify_scored
from local_judge.claims.yes_no import NEUTRAL, OPTIONS, question
from local_judge.documents.model import Citation, Document
from local_judge.judge.judge import Judge


def cited_urls(citations: Iterable[str], document: Document) -> dict[str, Citation]:
    """Return the normalised URLs that citations, given by id, lead to: each with the first that does, in order."""
    urls: dict[str, Citation] = {}
    for citation in map(document.citation, citations):
        if citation.url is not None:
            urls.setdefault(citation.url, citation)
    return urls


def urls_of(claim: Claim, document: Document) -> tuple[str, ...]:
    """Normalised URLs that `claim` cites, each once, written ones before recovered ones."""
    return tuple(cited_urls((*claim.citations, *claim.recovered), document))


def gather_sources(
    claims: Sequence[Claim], document: Document, snapshot: Snapshot, upstream: bool = False
) -> tuple[Source, ...]:
    """Return the sources of `claims`, in the order in which the report first cites them.

    `upstream`: also those that claims have by the published code's back-tracking.
    """
    leaning: dict[str, list[str]] = {}
    published: dict[str, list[str]] = {}
    for claim in claims:
        for url in urls_of(claim, document):
            leaning.setdefault(url, []).append(claim.id)
        for url in cited_urls(claim.upstream.citations, document) if upstream and claim.upstream else ():
            published.setdefault(url, []).append(claim.id)
    sources: list[Source] = []
    for url in dict.fromkeys((*leaning, *published)):
        page = snapshot.page(url)
        sources.append(
            Source(
                url=url,
                status=page.status,
                reason=page.reason,
                text_digest=page.text_digest,
                claims=tuple(leaning.get(url, ())),
                upstream=tuple(published.get(url, ())) if upstream else None,
            )
        )
    return tuple(sources)


async def build_claim_set(
    document: Document, snapshot: Snapshot, judge: Judge, config: ClaimsConfig
) -> ClaimSet:
    """Extract, back-track, group by source, verify."""
    unverified = await extract_claim_set(document, snapshot, judge, config)
    return await verify_claim_set(unverified, document, snapshot, judge, config)


async def extract_claim_set(
    document: Document, snapshot: Snapshot, judge: Judge, config: ClaimsConfig, *, upstream: bool = False
) -> ClaimSet:
    """Return the claims of a document with their sources, and no verdict yet. `upstream`: see `gather_sources`."""
    extraction = await extract_claims(document, judge, config)
    recovery = trace(
        extraction.claims,
        citations_by_sentence(document),
        sections_by_sentence(document),
        [label for failure in extraction.failures for label in failure.sentences],
    )
    return ClaimSet(
        document=document.id,
        n_sentences=len(document.sentences),
        claims=recovery.claims,
        sources=gather_sources(recovery.claims, document, snapshot, upstream),
        verdicts=(),
        extraction_failures=extraction.failures,
        violations=recovery.violations,
    )


def preceding(claims: Sequence[Claim], document: Document, count: int) -> dict[str, str]:
    """Return the `count` sentences before each claim's own in the same section, as one text by the claim's id."""
    if not count:
        return {}
    sections = sections_by_sentence(document)
    position = {sentence.label: index for index, sentence in enumerate(document.sentences)}
    found: dict[str, str] = {}
    for claim in claims:
        index = position[claim.sentence]
        before = document.sentences[max(index - count, 0) : index]
        same = [one.text for one in before if sections[one.label] == sections[claim.sentence]]
        found[claim.id] = " ".join(same)
    return found


async def verify_claim_set(
    unverified: ClaimSet, document: Document, snapshot: Snapshot, judge: Judge, config: ClaimsConfig
) -> ClaimSet:
    """Return the same claims with the verdicts of `judge`, which need not be the one that extracted them.

    Claims that cite a page by the published code's back-tracking alone are asked about in calls of their own, so that
    the questions about the others do not depend on them.
    """
    contexts = preceding(unverified.claims, document, config.context_sentences)
    by_id = {claim.id: claim for claim in unverified.claims}
    readable = [source for source in unverified.sources if source.status == "ok"]
    verdicts = await asyncio.gather(
        *(
            _verify_usable(
                snapshot.page(source.url),
                [by_id[claim] for claim in source.claims],
                [by_id[claim] for claim in further(source.upstream or (), source.claims)],
                snapshot,
                judge,
                config,
                contexts,
            )
            for source in readable
        )
    )
    # A page that was fetched under another address, as of a redirect, has that address.
    found = tuple(
        verdict.model_copy(update={"url": source.url})
        for source, page in zip(readable, verdicts, strict=True)
        for verdict in page
    )
    return unverified.model_copy(update={"verdicts": found})


def further(ids: Sequence[str], known: Collection[str]) -> tuple[str, ...]:
    """Return the ids that are not known yet, in their order."""
    return tuple(id for id in ids if id not in known)


Claiming = Coroutine[Any, Any, ClaimSet]


class ClaimMethod(NamedTuple):
    """Functions that extract and verify the claims of a document."""

    extract: Callable[[Document, Snapshot, Judge, ClaimsConfig], Claiming] = extract_claim_set
    verify: Callable[[ClaimSet, Document, Snapshot, Judge, ClaimsConfig], Claiming] = verify_claim_set


PageVerifier = Callable[[Page, Sequence[Claim], Snapshot, Judge], Coroutine[Any, Any, Sequence[Verdict]]]
"""Function that returns the verdicts on claims about a page with status `ok`, in the order of the claims."""


async def verify_page(
    page: Page,
    claims: Sequence[Claim],
    snapshot: Snapshot,
    judge: Judge,
    config: ClaimsConfig,
    contexts: Mapping[str, str] = MappingProxyType({}),
    others: Sequence[Claim] = (),
) -> tuple[Verdict, ...]:
    """Return the verdicts on all claims that cite one page, in the order of the claims, then of the others.

    Args:
        page: a page with status `ok`.
        claims: at least one, or one of `others`.
        snapshot: the snapshot of the page.
        judge: the judge that decides.
        config: the method and its limits.
        contexts: text before a claim by its id, which the view `contrast` shows.
        others: claims that share no call with `claims`.
    """
    groups = [
        group for part in (claims, others) if part for group in evidence_groups(page, part, snapshot, config)
    ]
    if config.method == "grouped":
        work = [verify_grouped(page_evidence, group, judge, config) for page_evidence, group in groups]
    else:
        work = [
            verify_scored(page_evidence, group, judge, snapshot, config, contexts)
            for page_evidence, group in groups
        ]
    results, reliable = await asyncio.gather(asyncio.gather(*work), _reliability(groups[0][0], judge, config))
    verdicts = (verdict for group in results for verdict in group)
    return tuple(on_page(verdict.model_copy(update=reliable), page) for verdict in verdicts)


SURE = 0.9
"""Minimum probability that a page is unusable. Code has recognised the common walls before, and a small judge, in doubt
about every page, would leave nothing to score."""


async def _verify_usable(
    page: Page,
    claims: Sequence[Claim],
    others: Sequence[Claim],
    snapshot: Snapshot,
    judge: Judge,
    config: ClaimsConfig,
    contexts: Mapping[str, str],
) -> tuple[Verdict, ...]:
    """Return the verdicts of `verify_page`, or that the page is unusable.

    The method `grouped` has a label for it; `scored` asks once for all claims about a short page.
    """
    if config.method == "grouped" or len(page.text) > WALL_TEXT:
        return await verify_page(page, claims, snapshot, judge, config, contexts, others)
    page_evidence = evidence_groups(page, claims or others, snapshot, config)[0][0]
    choice = await judge.choose(question(page_evidence, "readable"), OPTIONS)
    verdict = partial(Verdict, url=page.url, evidence=page_evidence.evidence, method="scored")
    if isinstance(choice, Failure):
        return tuple(verdict(claim=claim.id, label=None, failure=choice) for claim in (*claims, *others))
    if choice.probabilities["No"] < SURE:
        return await verify_page(page, claims, snapshot, judge, config, contexts, others)
    return tuple(
        verdict(claim=claim.id, label="unusable", confidence=0.0, replies=(choice.reply,))
        for claim in (*claims, *others)
    )


async def _reliability(
    page_evidence: PageEvidence, judge: Judge, config: ClaimsConfig
) -> dict[str, bool | str]:
    """Ask whether the page is a reliable source, if configured: the answer and its reply; empty without an answer."""
    if not config.reliability:
        return {}
    choice = await judge.choose(question(page_evidence, "reliable"), OPTIONS)
    if isinstance(choice, Failure):
        return {}
    return {"reliable": choice.probabilities["Yes"] >= NEUTRAL, "reliable_reply": choice.reply}
