"""Back-tracking against annotations, beside windows of the sentences before a claim.

Invariant: every method answers for the same annotated claims of class B and C, those whose sentence the judge answered
for; only the rows on the judge's own claims are of fewer, those that were found, and say of how many.

For one claim, with R the citation keys that a method recovers and G the annotated ones (never empty):

    jaccard = |R ∩ G| / |R ∪ G|        precision = |R ∩ G| / |R|        recall = |R ∩ G| / |G|

An empty R has jaccard and recall 0 and no precision. Macro: the mean over claims (of precision: over those that have
one). Micro: sums of the sets' sizes first, then one division.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, get_args

from local_judge.annotations.check import keys_on
from local_judge.annotations.extraction import ReadReport
from local_judge.annotations.figures import mean, share
from local_judge.annotations.gold import follow, recovered_keys, traced
from local_judge.annotations.model import GoldClaim
from local_judge.claims.backtrack import Rule
from local_judge.documents.model import Frozen

WINDOWS = (5, 10, 15)
"""Sentences before the claim, as in the paper's section 6.5."""


class SetPair(NamedTuple):
    """What a method recovers for one claim, and what is annotated."""

    recovered: frozenset[str]
    gold: frozenset[str]


class SetScores(Frozen):
    """One method."""

    method: str
    claims: int
    empty: int
    """Claims for which nothing is recovered."""
    jaccard: float | None
    precision: float | None
    recall: float | None
    micro_jaccard: float | None
    micro_precision: float | None
    micro_recall: float | None


def set_scores(method: str, pairs: Sequence[SetPair]) -> SetScores:
    """The formulas of the module's docstring."""
    shared = [len(pair.recovered & pair.gold) for pair in pairs]
    joined = [len(pair.recovered | pair.gold) for pair in pairs]
    recovered, gold = [len(pair.recovered) for pair in pairs], [len(pair.gold) for pair in pairs]
    return SetScores(
        method=method,
        claims=len(pairs),
        empty=recovered.count(0),
        jaccard=mean([share(a, b) for a, b in zip(shared, joined, strict=True)]),
        precision=mean([share(a, b) for a, b in zip(shared, recovered, strict=True)]),
        recall=mean([share(a, b) for a, b in zip(shared, gold, strict=True)]),
        micro_jaccard=share(sum(shared), sum(joined)),
        micro_precision=share(sum(shared), sum(recovered)),
        micro_recall=share(sum(shared), sum(gold)),
    )


def backtracking_scores(reports: Sequence[ReadReport]) -> tuple[SetScores, ...]:
    """All methods, in the order of the table."""
    rows: list[tuple[str, Callable[[ReadReport], Iterator[SetPair]]]] = []
    for rule in get_args(Rule):
        rows.append((f"{rule}, judge's claims", lambda one, rule=rule: _judged(one, rule)))
    for rule in get_args(Rule):
        rows.append((f"{rule}, judge's positions", lambda one, rule=rule: _annotated(one, rule, judged=True)))
    for rule in get_args(Rule):
        rows.append(
            (f"{rule}, annotated positions", lambda one, rule=rule: _annotated(one, rule, judged=False))
        )
    for size in WINDOWS:
        rows.append((f"window of {size}", lambda one, size=size: _window(one, size)))
    return tuple(set_scores(name, [pair for one in reports for pair in of(one)]) for name, of in rows)


def _leaning(one: ReadReport) -> list[GoldClaim]:
    return [claim for claim in one.gold if claim.type in ("B", "C")]


def _judged(one: ReadReport, rule: Rule) -> Iterator[SetPair]:
    """The judge's claims with their own classes and positions, as a run has them."""
    document = one.report.document
    found = {claim.id: claim for claim in follow(one.extracted, document, rule)}
    for gold, extracted in one.matched:
        if gold.type in ("B", "C"):
            yield SetPair(recovered_keys(found[extracted.id], document), frozenset(gold.citations))


def _annotated(one: ReadReport, rule: Rule, judged: bool) -> Iterator[SetPair]:
    """The annotated claims with their classes, and the positions of either side."""
    positions: dict[str, tuple[str, ...]] = {}
    for claim in one.extracted:
        named = (*positions.get(claim.sentence, ()), *claim.evidence_positions)
        positions[claim.sentence] = tuple(dict.fromkeys(named))
    found = traced(one.report, rule, positions if judged else None)
    for gold in _leaning(one):
        yield SetPair(found[gold.id], frozenset(gold.citations))


def _window(one: ReadReport, size: int) -> Iterator[SetPair]:
    """All citations on the `size` sentences before the claim's."""
    labels = [sentence.label for sentence in one.report.document.sentences]
    for gold in _leaning(one):
        here = labels.index(gold.sentence)
        keys = [key for label in labels[max(here - size, 0) : here] for key in keys_on(one.report, label)]
        yield SetPair(frozenset(keys), frozenset(gold.citations))
