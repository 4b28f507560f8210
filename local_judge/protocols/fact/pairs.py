"""FACT's pairs from the claim set.

Invariants: a pair is a statement and a URL that a citation on it resolves to, each pair once, in reading order; a
citation on a sentence whose claims are unknown still makes a pair, and one of unknown outcome.

FACT's prompt calls a statement supported if the page has it "entirely or partially", so `partial` counts as
supported; `contradicted`, `not_found` and `off_topic` as unsupported; `unusable` is the judge's "unknown".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from indexes.model import Page
from local_judge.claims.build import cited_urls
from local_judge.claims.model import Claim, ClaimSet, Label, Source, Verdict, beyond_page
from local_judge.documents.model import Document, Sentence
from local_judge.judge.failures import Failure
from local_judge.protocols.fact.findings import Outcome, Pair, Repeat, repeat

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


def pairs_of(claims: ClaimSet, document: Document, recovered: bool = False) -> Pairs:
    """Return the pairs of a verified claim set.

    Claims of the same words (letter case and white space aside) on one URL are one pair. Its outcome is that of the
    first of them that has a known one.

    Args:
        claims: of the report.
        document: the report.
        recovered: also citations that back-tracking recovered.
    """
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
    return distinct([pair for _, pair in sorted(found, key=lambda entry: entry[0])])


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


def distinct(pairs: Sequence[Pair]) -> Pairs:
    """Return each statement and URL once: in the place of the first, with the first known outcome."""
    kept: dict[tuple[str, str], Pair] = {}
    repeats: list[Repeat] = []
    for pair in pairs:
        first = kept.setdefault((folded(pair.statement), pair.url), pair)
        if first is pair:
            continue
        if first.failed and not pair.failed:
            kept[folded(pair.statement), pair.url] = pair
            first, pair = pair, first
        repeats.append(repeat(pair, first))
    return Pairs(tuple(kept.values()), tuple(repeats))


def folded(statement: str) -> str:
    """Return a statement without what makes no difference: letter case and white space."""
    return " ".join(statement.split()).casefold()


def unresolved(document: Document) -> int:
    """Return the number of citations on sentences of the body that lead to no URL."""
    return sum(
        document.citation(citation).url is None
        for sentence in document.sentences
        if document.blocks[sentence.block].role == "body"
        for citation in sentence.citations
    )
