"""Verification of claims page by page with the prompt of DEER.

Invariants: the messages and the number of attempts are those of the published `info_verification`; replies are read as
they read them, all claims of a call or none. Passages of long pages are chosen by this package's ranker. A claim that a
reply leaves out, and a result that is not on the prompt's list, is a failure.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, Final, Literal

from pydantic import BaseModel

from indexes.model import Page
from indexes.snapshot import Snapshot
from local_judge.base.failures import Failure
from local_judge.claims.build import ClaimMethod, PageVerifier, cited_urls, further
from local_judge.claims.config import ClaimsConfig
from local_judge.claims.evidence import PageEvidence, evidence_groups
from local_judge.claims.model import Claim, ClaimSet, Label, Source, Traced, Verdict, on_page
from local_judge.documents.model import Document
from local_judge.judge.judge import Judge
from local_judge.protocols.deer.verification.original_prompts import (
    EFFORT,
    FLAG,
    TEXT,
    extract,
    list_schema,
    object_schema,
    validated,
)
from local_judge.protocols.deer.verification.upstream import clean_url
from local_judge.protocols.originals import Original, asked_as_published, message

BATCH = 20
"""Claims in one call."""
ATTEMPTS = 3
"""Number of times that the published code asks."""
TOKENS = 128_000
"""Limit of a reply for a model whose provider takes `max_completion_tokens`, with which it sets no temperature.
LiteLLM, through which the published code asks, says so of OpenAI and of vLLM."""
PASSAGES: Final[Mapping[str, Any]] = MappingProxyType(
    {"evidence_tokens": None, "passages_per_claim": 2, "passage_tokens": 1000}
)
"""Settings of the claim set by which each claim of a call adds two passages of a long page (DEER, appendix F)."""

LABELS: Mapping[str, Label] = {
    "supported": "supported",
    "not_supported": "not_found",
    "conflict": "contradicted",
    "error": "unusable",
}


def claim_method(prompts: Original) -> ClaimMethod:
    """Return the functions that extract and verify claims with the published prompts."""
    return ClaimMethod(partial(extract, prompts=prompts), partial(verify, prompts=prompts))


def page_verifier(prompts: Original) -> PageVerifier:
    """Return the function that verifies given claims with the published prompt."""

    async def verify(
        page: Page, claims: Sequence[Claim], snapshot: Snapshot, judge: Judge
    ) -> Sequence[Verdict]:
        return await verify_page(page, claims, page.url, snapshot, judge, ClaimsConfig().ranker, prompts)

    return verify


async def verify(
    unverified: ClaimSet,
    document: Document,
    snapshot: Snapshot,
    judge: Judge,
    config: ClaimsConfig,
    *,
    prompts: Original,
) -> ClaimSet:
    """Return the same claims with the verdicts of `judge`, which need not be the one that extracted them."""
    by_id = {claim.id: claim for claim in unverified.claims}

    async def on(source: Source) -> list[Verdict]:
        # First the calls of the published code, which follow its own back-tracking.
        upstream = source.upstream or ()
        parts = [[by_id[id] for id in ids] for ids in (upstream, further(source.claims, upstream)) if ids]
        first = parts[0][0]
        citations = (*first.citations, *first.recovered, *(first.upstream or Traced()).citations)
        address = cited_urls(citations, document)[source.url].original_url or source.url
        page = snapshot.page(source.url)
        found = await asyncio.gather(
            *(verify_page(page, part, address, snapshot, judge, config.ranker, prompts) for part in parts)
        )
        return [verdict.model_copy(update={"url": source.url}) for part in found for verdict in part]

    readable = [source for source in unverified.sources if source.status == "ok"]
    found = await asyncio.gather(*map(on, readable))
    return unverified.model_copy(update={"verdicts": tuple(one for some in found for one in some)})


async def verify_page(
    page: Page,
    claims: Sequence[Claim],
    address: str,
    snapshot: Snapshot,
    judge: Judge,
    ranker: Literal["bm25", "dense"],
    prompts: Original,
) -> list[Verdict]:
    """Return the verdicts on all claims that cite one page, in the order of the claims.

    Args:
        page: a page with status `ok`.
        claims: at least one.
        address: URL as the report cites it.
        snapshot: the snapshot of the page.
        judge: the judge that decides.
        ranker: chooses the passages of a long page.
        prompts: the published prompts.
    """
    asked = asked_as_published(judge, attempts=ATTEMPTS, max_tokens=TOKENS, reasoning_effort=EFFORT)
    settings = ClaimsConfig(claims_per_call=BATCH, ranker=ranker, **PASSAGES)

    async def on(shown: PageEvidence, group: Sequence[Claim]) -> list[Verdict]:
        text = prompts.template("verification").fill(
            url=clean_url(address),
            claims="\n".join(f"{number}. {claim.text}" for number, claim in enumerate(group, 1)),
            context=shown.body,
        )
        answer = await asked.ask_text(message(text), read_results, schema=_VERIFICATION)
        given = partial(Verdict, url=page.url, evidence=shown.evidence, method="grouped")
        if isinstance(answer, Failure):
            return [given(claim=claim.id, label=None, failure=answer) for claim in group]
        replies, (results, reliable) = answer.replies, answer.value
        verdicts: list[Verdict] = []
        for number, claim in enumerate(group, 1):
            result, why = results.get(number, (None, ""))
            label = LABELS.get(result or "")
            detail = "no result" if result is None else f"result {result[:20]!r}"
            failure = Failure(kind="incomplete", detail=f"reply {replies[-1][:12]}: {detail} for {claim.id}")
            verdicts.append(
                on_page(
                    given(
                        claim=claim.id,
                        label=label,
                        failure=failure if label is None else None,
                        rationale=why,
                        reliable=reliable,
                        replies=replies,
                    ),
                    page,
                )
            )
        return verdicts

    groups = evidence_groups(page, claims, snapshot, settings)
    found = await asyncio.gather(*(on(shown, group) for shown, group in groups))
    return [one for some in found for one in some]


class Result(BaseModel):
    """Result for one claim in a reply."""

    claim_index: int = 0
    explanation: str
    result: str


class Results(BaseModel):
    """Reply about one page; other keys are left out."""

    reliable_explanation: str
    reliable: bool
    results: list[Result] = []


def read_results(reply: str) -> tuple[dict[int, tuple[str, str]], bool]:
    """Return result and explanation by the number of the claim, and the page's reliability. Raises ValueError.

    Of several results for one claim the first counts.
    """
    found = validated(Results, reply)
    results: dict[int, tuple[str, str]] = {}
    for one in found.results:
        results.setdefault(one.claim_index, (one.result, one.explanation))
    return results, found.reliable


_VERIFICATION = json.dumps(
    object_schema(
        reliable_explanation=TEXT,
        reliable=FLAG,
        results=list_schema(
            object_schema(claim_index={"type": "integer", "minimum": 1}, explanation=TEXT, result=TEXT)
        ),
    )
)
