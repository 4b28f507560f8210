"""FACT's pairs from the claim set.

Invariants: a pair is a statement and a URL that a citation on it resolves to, in reading order, and once: what repeats
another is kept apart. A citation on a sentence whose claims are unknown still makes a pair, and one of unknown outcome.

FACT's prompt calls a statement supported if the page has it "entirely or partially", so `partial` counts as
supported; `contradicted`, `not_found` and `off_topic` as unsupported; `unusable` is the judge's "unknown".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from indexes.model import Page
from local_judge.base.failures import Failure
from local_judge.claims.build import cited_urls
from local_judge.claims.model import Claim, ClaimSet, Label, Source, Verdict, beyond_page
from local_judge.claims.unread import Unread, unread_of
from local_judge.documents.model import Document, Sentence
from local_judge.judge.judge import Judge
from local_judge.protocols.fact.findings import Cited, Outcome, Pair, Repeat
from local_judge.protocols.fact.repeats import (
    Key,
    Same,
    failures_in,
    find_repeats,
    group_repeats,
    repeats_in,
)

OUTCOMES: Mapping[Label, Outcome] = {
    "supported": "supported",
    "partial": "supported",
    "contradicted": "unsupported",
    "not_found": "unsupported",
    "off_topic": "unsupported",
    "unusable": "unknown",
}


class Pairs(NamedTuple):
    """The pairs of a report, and the statements that repeat one of them."""

    pairs: tuple[Pair, ...]
    repeats: tuple[Repeat, ...]


def on_page(pair: Pair, page: Page) -> Pair:
    """Return a pair as far as the page allows it: what the beginning of a page does not support is unknown."""
    failure = beyond_page(page)
    if failure is None or pair.outcome != "unsupported":
        return pair
    unknown = {"outcome": "unknown", "reason": "judge_failed", "failure": failure, "judged": None}
    return pair.model_copy(update=unknown)


class Examined(NamedTuple):
    """The pairs of a report, and what is not known about them."""

    pairs: Pairs
    unread: Unread
    undecided: tuple[Failure, ...]
    """Failures to say whether a statement repeats another."""


async def examine_claims(
    claims: ClaimSet, document: Document, judge: Judge, recovered: bool = False
) -> Examined:
    """Return the pairs of a verified claim set, without repeats.

    Args:
        claims: of the report.
        document: the report.
        judge: the judge that says which statements repeat another.
        recovered: also citations that back-tracking recovered.
    """
    pairs = pairs_of(claims, document, recovered)
    same = await find_repeats([pair for pair in pairs if pair.reason != "not_extracted"], judge)
    return Examined(distinct(pairs, same), unread_of(claims, document), failures_in(same))


def pairs_of(claims: ClaimSet, document: Document, recovered: bool = False) -> list[Pair]:
    """Return the pairs of a verified claim set in reading order, repeats included."""
    verdicts = {(verdict.claim, verdict.url): verdict for verdict in claims.verdicts}
    sources = {source.url: source for source in claims.sources}
    order = {sentence.label: position for position, sentence in enumerate(document.sentences)}
    found = [
        (order.get(claim.sentence, len(order)), pair)
        for claim in claims.claims
        for pair in _of_claim(claim, document, sources, verdicts, recovered)
    ]
    for lost in claims.extraction_failures:
        found += [
            (order[label], pair)
            for label in lost.sentences
            for pair in unread(document.sentences[order[label]], document, lost.failure)
        ]
    return [pair for _, pair in sorted(found, key=lambda entry: entry[0])]


def _of_claim(
    claim: Claim,
    document: Document,
    sources: Mapping[str, Source],
    verdicts: Mapping[tuple[str, str], Verdict],
    recovered: bool,
) -> Iterable[Pair]:
    ids = (*claim.citations, *claim.recovered) if recovered else claim.citations
    for url, citation in cited_urls(ids, document).items():
        pair = partial(
            Pair, statement=claim.text, url=url, claim=claim.id, sentence=claim.sentence, key=citation.key
        )
        verdict, source = verdicts.get((claim.id, url)), sources.get(url)
        if source is not None and source.status != "ok":
            yield pair(outcome="unknown", reason=source.status)
        elif verdict is None or verdict.label is None:
            failure = verdict.failure if verdict else None
            yield pair(outcome="unknown", reason="judge_failed", failure=failure)
        else:
            outcome = OUTCOMES[verdict.label]
            yield pair(
                outcome=outcome,
                reason="judged_unknown" if outcome == "unknown" else None,
                confidence=verdict.confidence,
                threshold=verdict.threshold,
            )


def unread(sentence: Sentence, document: Document, failure: Failure) -> list[Pair]:
    """Return the pairs of a sentence whose statements are unknown: one for each URL that it cites."""
    return [
        Pair(
            statement=sentence.text,
            url=url,
            outcome="unknown",
            reason="not_extracted",
            sentence=sentence.label,
            key=citation.key,
            failure=failure,
        )
        for url, citation in cited_urls(sentence.citations, document).items()
    ]


def distinct(pairs: Sequence[Pair], same: Mapping[Key, Same] | None = None) -> Pairs:
    """Return one pair for the statements that say the same on a URL: the first of them.

    Its outcome is its own; that of an unread sentence with the words of a statement is the statement's.

    Args:
        pairs: in reading order.
        same: what repeats what; equal words do so without it.
    """
    same = same or {}
    groups = group_repeats(pairs, same)
    kept: list[Pair] = []
    for key, group in groups.items():
        first = group[0]
        extracted = next((pair for pair in group if pair.reason != "not_extracted"), first)
        place = {name: getattr(first, name) for name in Cited.model_fields}
        may_repeat = key in same and same[key].failure is not None
        kept.append(extracted.model_copy(update={**place, "may_repeat": may_repeat}))
    return Pairs(tuple(kept), tuple(repeats_in(pairs, groups, same)))


def count_unresolved(document: Document) -> int:
    """Return the number of citations on sentences of the body that lead to no URL."""
    return sum(
        document.citation(citation).url is None
        for sentence in document.sentences
        if document.blocks[sentence.block].role == "body"
        for citation in sentence.citations
    )
