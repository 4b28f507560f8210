"""Chosen evidence and quotations against the sentences that people say prove a claim.

Invariant: only claims with such sentences count, and of alternative sets of sentences the one that is met best. Texts
are compared with white space unified. No model is asked.

    sentence recall    mean over claims of the largest share of a set's sentences that is in the evidence
    whole sets         share of claims with a whole set in the evidence
    nearest            share of the sentences nearest to a claim that overlap a sentence of some set
    quotations         the same share of a judge's quotations
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from indexes.snapshot import Snapshot
from local_judge.base.model import Frozen
from local_judge.claims.config import ClaimsConfig
from local_judge.claims.evidence import estimate_tokens, evidence_groups
from local_judge.claims.model import Quote
from local_judge.claims.nearest import nearest_sentences
from local_judge.claims.scored import view_of
from local_judge.lab.labelled.model import LabelledClaim
from local_judge.stats.rates import Rate, rate


class EvidenceFigures(Frozen):
    """Recall of the evidence that a verifier shows to a judge."""

    set: str
    verifier: str
    n: int
    """Number of claims with supporting sentences."""
    absent: int
    """Number of these with a sentence that does not occur on the page, so that no evidence contains it."""
    sentence_recall: float
    whole_sets: Rate
    tokens: float
    """Mean length of the evidence, in estimated tokens."""
    first: Rate
    """Share of claims whose nearest sentence, the quotation of `scored`, overlaps a supporting sentence."""
    nearest: Rate
    """The same share of all nearest sentences, which prompts repeat beside the claim."""


def evidence_figures(
    rows: Sequence[LabelledClaim], snapshot: Snapshot, verifier: str, config: ClaimsConfig
) -> list[EvidenceFigures]:
    """Return the figures of each set that has supporting sentences, each claim alone."""
    figures: list[EvidenceFigures] = []
    for name in dict.fromkeys(row.set for row in rows):
        own = [row for row in rows if row.set == name and any(row.supporting)]
        own = [row for row in own if snapshot.page(row.page).status == "ok"]
        if not own:
            continue
        shown = [_shown(row, snapshot, config) for row in own]
        recalls = [_recall(row, text) for row, text in zip(own, shown, strict=True)]
        nearest = [(row, _nearest(row, snapshot, config)) for row in own]
        figures.append(
            EvidenceFigures(
                set=name,
                verifier=verifier,
                n=len(own),
                absent=sum(_is_absent(row, snapshot.page(row.page).text) for row in own),
                sentence_recall=math.fsum(recalls) / len(own),
                whole_sets=rate(sum(recall == 1 for recall in recalls), len(own)),
                tokens=math.fsum(map(estimate_tokens, shown)) / len(own),
                first=_overlapping([(row, quote.text) for row, found in nearest for quote in found[:1]]),
                nearest=_overlapping([(row, quote.text) for row, found in nearest for quote in found]),
            )
        )
    return figures


def quotation_rate(quotations: Sequence[tuple[LabelledClaim, str]]) -> Rate | None:
    """Return how many quotations overlap a supporting sentence; None without such a claim."""
    known = [(row, quote) for row, quote in quotations if any(row.supporting)]
    return _overlapping(known) if known else None


def _overlapping(quotations: Sequence[tuple[LabelledClaim, str]]) -> Rate:
    right = 0
    for row, quote in quotations:
        quoted, proofs = _plain(quote), [_plain(text) for chosen in row.supporting for text in chosen]
        right += any(quoted in text or text in quoted for text in proofs)
    return rate(right, len(quotations))


def _nearest(row: LabelledClaim, snapshot: Snapshot, config: ClaimsConfig) -> tuple[Quote, ...]:
    return nearest_sentences(snapshot.page(row.page), [row.as_claim()], snapshot, config)[0]


def _shown(row: LabelledClaim, snapshot: Snapshot, config: ClaimsConfig) -> str:
    """Return the evidence for one claim, as a judge reads it."""
    page, claim = snapshot.page(row.page), row.as_claim()
    ((evidence, _),) = evidence_groups(page, [claim], snapshot, config)
    if config.view == "near":
        nearest = _nearest(row, snapshot, config)
        if view_of(claim, page, nearest, config) == "near":
            return evidence.near(nearest)[1]
    return evidence.shared


def _recall(row: LabelledClaim, shown: str) -> float:
    text = _plain(shown)
    return max(
        sum(_plain(sentence) in text for sentence in chosen) / len(chosen)
        for chosen in row.supporting
        if chosen
    )


def _is_absent(row: LabelledClaim, page: str) -> bool:
    text = _plain(page)
    return any(_plain(sentence) not in text for chosen in row.supporting for sentence in chosen)


def _plain(text: str) -> str:
    return " ".join(text.split())
