"""Verification by probabilities: one answer token per claim.

A prompt opens with the page, or (`view: near`) with the surroundings of the sentences nearest to the claim. It repeats
these sentences beside the claim. P(yes) is the softmax over the log-probabilities of "Yes" and "No" after "is all of
this claim in the text, unchanged?". The view `contrast` asks whether the text supports the claim and subtracts half of
the log-odds without a text. If the judge has a calibration of the question, for the page's language or pooled,
the confidence is the calibrated log-odds, and the calibration's threshold counts; else the confidence is P(yes).

A claim is `supported` if confidence >= threshold. Only for the others, a second question separates `contradicted` from
`not_found`, and with `partial`, of the view `contrast`, a third one separates `partial` from `not_found`. This method
never returns `off_topic`.

Invariant: a verdict's quotation is the nearest sentence, as the judge was shown it: of the passages that the
within-page ranker puts first for the claim, the one that shares most words with it. It shows where to look and is not
the judge's own choice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from indexes.model import Page
from indexes.snapshot import Snapshot
from indexes.text.language import UNDETERMINED, detect_language
from local_judge.base.failures import Failure
from local_judge.claims.config import ClaimsConfig, View
from local_judge.claims.evidence import PageEvidence
from local_judge.claims.model import Claim, Label, Quote, Verdict
from local_judge.claims.nearest import nearest_sentences
from local_judge.claims.yes_no import (
    QUESTIONS,
    SUPPORTS_PART,
    YesNoProbability,
    answer,
    ask_about,
    yes_no_probability,
)
from local_judge.judge.judge import ChoiceResult, Judge


async def verify_scored(
    page_evidence: PageEvidence,
    claims: Sequence[Claim],
    judge: Judge,
    snapshot: Snapshot,
    config: ClaimsConfig,
    contexts: Mapping[str, str] = MappingProxyType({}),
) -> tuple[Verdict, ...]:
    """Return one verdict per claim, in order; `contexts` has the text before a claim by its id."""
    nearest = nearest_sentences(page_evidence.page, claims, snapshot, config)
    return tuple(
        await asyncio.gather(
            *(
                _verify(page_evidence, claim, found, judge, config, contexts.get(claim.id, ""))
                for claim, found in zip(claims, nearest, strict=True)
            )
        )
    )


async def _verify(
    page_evidence: PageEvidence,
    claim: Claim,
    nearest: Sequence[Quote],
    judge: Judge,
    config: ClaimsConfig,
    context: str,
) -> Verdict:
    view = view_of(claim, page_evidence.page, nearest, config)
    evidence = page_evidence.near(nearest)[0] if view == "near" else page_evidence.evidence

    async def ask(name: str) -> tuple[YesNoProbability, tuple[str, ...]] | Failure:
        found = await answer(judge, ask_about(page_evidence, name, claim, nearest, context))
        if isinstance(found, Failure):
            return found
        probability = yes_no_probability(found.choice, name, page_evidence, judge, config)
        if probability.undecided:
            return _undecided(found.choice, probability.threshold)
        return probability, found.replies

    def failed(failure: Failure) -> Verdict:
        return Verdict(
            claim=claim.id, url=evidence.url, label=None, failure=failure, evidence=evidence, method="scored"
        )

    supported = await ask(QUESTIONS[view].supported)
    if isinstance(supported, Failure):
        return failed(supported)
    probability, replies = supported
    label: Label = "supported"
    if not probability.yes:
        contradicted = await ask(QUESTIONS[view].contradicted)
        if isinstance(contradicted, Failure):
            return failed(contradicted)
        against, more = contradicted
        replies = (*replies, *more)
        label = "contradicted" if against.yes else "not_found"
        if config.partial and not against.yes:
            part = await ask(SUPPORTS_PART)
            if isinstance(part, Failure):
                return failed(part)
            some, more = part
            replies = (*replies, *more)
            label = "partial" if some.yes else label
    return Verdict(
        claim=claim.id,
        url=page_evidence.page.url,
        label=label,
        quote=nearest[0] if nearest else None,
        confidence=round(probability.confidence, 6),
        confidence_raw=None if probability.raw is None else round(probability.raw, 6),
        calibration=probability.calibration,
        threshold=probability.threshold,
        evidence=evidence,
        method="scored",
        replies=replies,
    )


def view_of(claim: Claim, page: Page, nearest: Sequence[Quote], config: ClaimsConfig) -> View:
    """Return the configured view; of `near`, `page` for a claim without a near sentence or in another language."""
    if config.view != "near":
        return config.view
    if not nearest:
        return "page"
    if page.language == UNDETERMINED:
        return config.view
    return config.view if detect_language(claim.text) in {page.language, UNDETERMINED} else "page"


def _undecided(choice: ChoiceResult, threshold: float) -> Failure:
    return Failure(
        kind="unreported",
        detail=f"reply {choice.reply[:12]}: the server does not report both options, and what it leaves open "
        f"({choice.unreported:.3g}) is on both sides of the threshold {threshold:g}",
    )
