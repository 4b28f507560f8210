"""Verification by probabilities: the page in front, then one answer token per claim.

The page's sentences nearest to the claim stand beside it. P(yes) is the softmax over the log-probabilities of
"Yes" and "No" after "is all of this claim in the text, unchanged?". Where the judge has a calibration of the question,
for the page's language or pooled, the confidence is what that makes of the log-odds, and its threshold counts; else it
is P(yes). A claim is `supported` if confidence >= threshold. Only for the others a second question tells
`contradicted` from `not_found`. `partial` and `off_topic` are never given by this method.

Invariant: a verdict's quotation is the nearest sentence, as the judge was shown it: of the passages that the
within-page ranker puts first for the claim, the one that shares most words with it. It shows where to look and is not
the judge's own choice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from indexes.snapshot import Snapshot
from local_judge.claims.belief import CONTRADICTED, OPTIONS, SUPPORTED, believe, question
from local_judge.claims.config import ClaimsConfig
from local_judge.claims.evidence import Exhibit
from local_judge.claims.model import Claim, Label, Quote, Verdict
from local_judge.claims.nearest import nearest_sentences
from local_judge.judge.failures import Failure
from local_judge.judge.judge import Judge


async def verify_scored(
    exhibit: Exhibit, claims: Sequence[Claim], judge: Judge, snapshot: Snapshot, config: ClaimsConfig
) -> tuple[Verdict, ...]:
    """One verdict per claim, in order."""
    nearest = nearest_sentences(exhibit.page, claims, snapshot, config)
    return tuple(
        await asyncio.gather(
            *(
                _verify(exhibit, claim, found, judge, config)
                for claim, found in zip(claims, nearest, strict=True)
            )
        )
    )


async def _verify(
    exhibit: Exhibit, claim: Claim, nearest: Sequence[Quote], judge: Judge, config: ClaimsConfig
) -> Verdict:
    supported = await judge.choose(question(exhibit, SUPPORTED, claim, nearest), OPTIONS)
    if isinstance(supported, Failure):
        return _failed(exhibit, claim, supported)
    belief = believe(supported, SUPPORTED, exhibit, judge, config)
    replies = (supported.reply,)
    label: Label = "supported"
    if not belief.yes:
        contradicted = await judge.choose(question(exhibit, CONTRADICTED, claim, nearest), OPTIONS)
        if isinstance(contradicted, Failure):
            return _failed(exhibit, claim, contradicted)
        replies = (*replies, contradicted.reply)
        against = believe(contradicted, CONTRADICTED, exhibit, judge, config)
        label = "contradicted" if against.yes else "not_found"
    return Verdict(
        claim=claim.id,
        url=exhibit.page.url,
        label=label,
        quote=nearest[0] if nearest else None,
        confidence=round(belief.confidence, 6),
        confidence_raw=None if belief.raw is None else round(belief.raw, 6),
        calibration=belief.calibration,
        threshold=belief.threshold,
        evidence=exhibit.evidence,
        method="scored",
        replies=replies,
    )


def _failed(exhibit: Exhibit, claim: Claim, failure: Failure) -> Verdict:
    return Verdict(
        claim=claim.id,
        url=exhibit.page.url,
        label=None,
        failure=failure,
        evidence=exhibit.evidence,
        method="scored",
    )
