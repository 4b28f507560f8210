"""Verification by probabilities: the page in front, then one answer token per claim.

P(yes) is the softmax over the log-probabilities of "Yes" and "No" after "does the text state everything that this
claim states?"; a claim is `supported` if P(yes) >= threshold. Only for the others a second question tells
`contradicted` from `not_found`. `partial` and `off_topic` are never given by this method.

Invariant: a verdict's quotation is a sentence of the passage that the within-page ranker puts first for the claim, the
one that shares most words with it; it shows where to look and is not the judge's own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from sentencex import get_sentence_boundaries

from indexes.model import Chunk
from indexes.snapshot import Snapshot
from indexes.text.tokens import tokenise
from local_judge.claims.config import ClaimsConfig
from local_judge.claims.evidence import Exhibit
from local_judge.claims.model import Claim, Label, Quote, Verdict
from local_judge.claims.prompts import template
from local_judge.judge.failures import Failure
from local_judge.judge.judge import Judge
from local_judge.judge.layout import Prompt, fence, fill

OPTIONS = ("Yes", "No")
NEUTRAL = 0.5
"""The threshold where neither the config nor the judge has one, and that of all other questions."""


def question(exhibit: Exhibit, name: str, claim: Claim | None = None) -> Prompt:
    """A yes-or-no question about a page, and about one claim if the question has a place for it."""
    values = {} if claim is None else {"claim": fence(claim.text, "Claim:")}
    return Prompt(shared=exhibit.shared, own=fill(template(name), values), prefix_key=exhibit.prefix_key)


async def verify_scored(
    exhibit: Exhibit, claims: Sequence[Claim], judge: Judge, snapshot: Snapshot, config: ClaimsConfig
) -> tuple[Verdict, ...]:
    """One verdict per claim, in order."""
    ranked = snapshot.passages(exhibit.page, [claim.text for claim in claims], 1, config.ranker)
    quotes = [
        best_sentence(passages[0].chunk, claim.text) if passages else None
        for claim, passages in zip(claims, ranked, strict=True)
    ]
    return tuple(
        await asyncio.gather(
            *(
                _verify(exhibit, claim, quote, judge, config)
                for claim, quote in zip(claims, quotes, strict=True)
            )
        )
    )


async def _verify(
    exhibit: Exhibit, claim: Claim, quote: Quote | None, judge: Judge, config: ClaimsConfig
) -> Verdict:
    supported = await judge.choose(question(exhibit, "supported", claim), OPTIONS)
    if isinstance(supported, Failure):
        return _failed(exhibit, claim, supported)
    confidence = supported.probabilities["Yes"]
    replies = (supported.reply,)
    threshold = config.threshold or judge.settings.threshold or NEUTRAL
    label: Label = "supported"
    if confidence < threshold:
        contradicted = await judge.choose(question(exhibit, "contradicted", claim), OPTIONS)
        if isinstance(contradicted, Failure):
            return _failed(exhibit, claim, contradicted)
        replies = (*replies, contradicted.reply)
        label = "contradicted" if contradicted.probabilities["Yes"] >= NEUTRAL else "not_found"
    return Verdict(
        claim=claim.id,
        url=exhibit.page.url,
        label=label,
        quote=quote,
        confidence=round(confidence, 6),
        threshold=threshold,
        evidence=exhibit.evidence,
        method="scored",
        replies=replies,
    )


def best_sentence(chunk: Chunk, claim: str) -> Quote:
    """The sentence of `chunk` that shares most words with `claim`; of equals, the first."""
    wanted = set(tokenise(claim))
    best = Quote(text=chunk.text, start=chunk.start, end=chunk.end)
    most = 0
    for found in get_sentence_boundaries("en", chunk.text):
        sentence = chunk.text[found["start_index"] : found["end_index"]]
        shared = len(wanted & set(tokenise(sentence)))
        if shared > most:
            most = shared
            text = sentence.strip()
            start = chunk.start + found["start_index"] + sentence.index(text)
            best = Quote(text=text, start=start, end=start + len(text))
    return best


def _failed(exhibit: Exhibit, claim: Claim, failure: Failure) -> Verdict:
    return Verdict(
        claim=claim.id,
        url=exhibit.page.url,
        label=None,
        failure=failure,
        evidence=exhibit.evidence,
        method="scored",
    )
