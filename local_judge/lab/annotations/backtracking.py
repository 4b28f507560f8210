"""Back-tracking against annotations, beside windows of the sentences before a claim.

Invariant: every method answers for the same annotated claims of class B and C, those whose sentence the judge answered
for; only the rows on the judge's own claims are of fewer, those that were found and given their annotated class, and
say of how many.

For one claim, with R the citation keys that a method recovers and G the annotated ones (never empty):

    jaccard = |R ∩ G| / |R ∪ G|        precision = |R ∩ G| / |R|        recall = |R ∩ G| / |G|

An empty R has jaccard and recall 0 and no precision. Macro: the mean over claims (of precision: over those that have
one). Micro: sums of the sets' sizes first, then one division.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple, get_args

from local_judge.claims.backtrack import Rule
from local_judge.claims.model import ClaimType
from local_judge.lab.annotations.check import keys_on
from local_judge.lab.annotations.extraction import ReadReport
from local_judge.lab.annotations.figures import mean, share
from local_judge.lab.annotations.model import follow, recovered_keys, traced
from serving.types import Frozen

WINDOWS = (5, 10, 15)
"""Sentences of a window, with the claim's own in the middle (DEER, section 6.5 and appendix F.2)."""

Classes = Literal["B and C", "B", "C"]
CLASSES: dict[Classes, tuple[ClaimType, ...]] = {"B and C": ("B", "C"), "B": ("B",), "C": ("C",)}


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


def backtracking_scores(reports: Sequence[ReadReport]) -> dict[Classes, tuple[SetScores, ...]]:
    """All methods, in the order of the table, on the claims of both classes and of each."""
    return {name: _scores(reports, classes) for name, classes in CLASSES.items()}


def _scores(reports: Sequence[ReadReport], classes: Sequence[ClaimType]) -> tuple[SetScores, ...]:
    rows: list[tuple[str, Callable[[ReadReport], Iterator[SetPair]]]] = []
    for rule in get_args(Rule):
        rows.append((f"{rule}, judge's claims", lambda one, rule=rule: _judged(one, rule, classes)))
    for rule in get_args(Rule):
        rows.append(
            (
                f"{rule}, judge's positions",
                lambda one, rule=rule: _annotated(one, rule, classes, judged=True),
            )
        )
    for rule in get_args(Rule):
        rows.append(
            (
                f"{rule}, annotated positions",
                lambda one, rule=rule: _annotated(one, rule, classes, judged=False),
            )
        )
    for size in WINDOWS:
        rows.append((f"window of {size}", lambda one, size=size: _window(one, size, classes)))
    return tuple(set_scores(name, [pair for one in reports for pair in of(one)]) for name, of in rows)


def _judged(one: ReadReport, rule: Rule, classes: Sequence[ClaimType]) -> Iterator[SetPair]:
    """The judge's claims with their own positions, as a run has them: those whose class is the annotated one."""
    document = one.report.document
    found = {claim.id: claim for claim in follow(one.extracted, document, rule)}
    for gold, extracted in one.matched:
        if gold.type in classes and extracted.type == gold.type:
            yield SetPair(recovered_keys(found[extracted.id], document), frozenset(gold.citations))


def _annotated(one: ReadReport, rule: Rule, classes: Sequence[ClaimType], judged: bool) -> Iterator[SetPair]:
    """The annotated claims with their classes, and the positions of either side."""
    positions: dict[str, tuple[str, ...]] = {}
    for claim in one.extracted:
        named = (*positions.get(claim.sentence, ()), *claim.evidence_positions)
        positions[claim.sentence] = tuple(dict.fromkeys(named))
    found = traced(one.report, rule, positions if judged else None)
    for gold in one.gold:
        if gold.type in classes:
            yield SetPair(found[gold.id], frozenset(gold.citations))


def _window(one: ReadReport, size: int, classes: Sequence[ClaimType]) -> Iterator[SetPair]:
    """All citations on the `size` sentences around the claim's, its own in the middle.

    Of an even number, one more stands before it than after it. Windows end where the report's body begins and ends.
    """
    document = one.report.document
    labels = [one.label for one in document.sentences if document.blocks[one.block].role == "body"]
    for gold in one.gold:
        if gold.type in classes:
            first = labels.index(gold.sentence) - size // 2
            around = labels[max(first, 0) : first + size]
            keys = [key for label in around for key in keys_on(one.report, label)]
            yield SetPair(frozenset(keys), frozenset(gold.citations))
