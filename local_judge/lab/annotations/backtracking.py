"""Back-tracking and coverage against annotations.

Invariants: every method of back-tracking answers for the same annotated claims of class B and C, those whose sentence
the judge answered for. Only the rows on the judge's own claims cover fewer, those that were found and given their
annotated class, and give their number. Rows of coverage on the same kind of claims have the same denominator: classes
are the judge's. A claim of class F has no source by definition and is
in no denominator.

For one claim, with R the citation keys that a method recovers and G the annotated ones (never empty):

    jaccard = |R ∩ G| / |R ∪ G|        precision = |R ∩ G| / |R|        recall = |R ∩ G| / |G|

An empty R has jaccard and recall 0 and no precision. Macro: the mean over claims (for precision: over those that have
one). Micro: sums of the sets' sizes first, then one division.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, get_args

from indexes.model import SourceStatus
from local_judge.base.model import Frozen
from local_judge.claims.backtrack import Rule
from local_judge.claims.build import urls_of
from local_judge.claims.model import VERIFIABLE, ClaimType
from local_judge.lab.annotations.extraction import ReadReport
from local_judge.lab.annotations.model import follow, recovered_keys, traced
from local_judge.stats.rates import Rate, mean, rate, share

WINDOWS = (5, 10, 15)
"""Numbers of sentences of a window, with the claim's own in the middle (DEER, section 6.5 and appendix F.2)."""

Classes = Literal["B and C", "B", "C"]
CLASSES: dict[Classes, tuple[ClaimType, ...]] = {"B and C": ("B", "C"), "B": ("B",), "C": ("C",)}


class SetPair(NamedTuple):
    """Citation keys that a method recovers for one claim, and the annotated ones."""

    recovered: frozenset[str]
    gold: frozenset[str]


class SetScores(Frozen):
    """Scores of one method."""

    method: str
    claims: int
    empty: int
    """Number of claims for which nothing is recovered."""
    jaccard: float | None
    precision: float | None
    recall: float | None
    micro_jaccard: float | None
    micro_precision: float | None
    micro_recall: float | None


def set_scores(method: str, pairs: Sequence[SetPair]) -> SetScores:
    """Compute the formulas of the module's docstring."""
    shared = [len(pair.recovered & pair.gold) for pair in pairs]
    wholes = {
        "jaccard": [len(pair.recovered | pair.gold) for pair in pairs],
        "precision": [len(pair.recovered) for pair in pairs],
        "recall": [len(pair.gold) for pair in pairs],
    }
    macro = {name: mean(list(map(share, shared, whole))) for name, whole in wholes.items()}
    micro = {f"micro_{name}": share(sum(shared), sum(whole)) for name, whole in wholes.items()}
    empty = wholes["precision"].count(0)
    return SetScores(method=method, claims=len(pairs), empty=empty, **macro, **micro)


def backtracking_scores(reports: Sequence[ReadReport]) -> dict[Classes, tuple[SetScores, ...]]:
    """Score all methods, in the order of the table, on the claims of both classes and of each."""
    return {name: _scores(reports, classes) for name, classes in CLASSES.items()}


_Pairs = Callable[[ReadReport, Sequence[ClaimType]], Iterator[SetPair]]


def _methods() -> Iterator[tuple[str, _Pairs]]:
    """Yield the methods with their names, in the order of the table."""
    rules: tuple[Rule, ...] = get_args(Rule)
    for rule in rules:
        yield f"{rule}, judge's claims", lambda one, classes, rule=rule: _judged(one, rule, classes)
    for judged, whose in ((True, "judge's"), (False, "annotated")):
        for rule in rules:
            yield (
                f"{rule}, {whose} positions",
                lambda one, classes, rule=rule, judged=judged: _annotated(one, rule, classes, judged),
            )
    for size in WINDOWS:
        yield f"window of {size}", lambda one, classes, size=size: _window(one, size, classes)


def _scores(reports: Sequence[ReadReport], classes: Sequence[ClaimType]) -> tuple[SetScores, ...]:
    return tuple(
        set_scores(name, [pair for one in reports for pair in pairs(one, classes)])
        for name, pairs in _methods()
    )


def _judged(one: ReadReport, rule: Rule, classes: Sequence[ClaimType]) -> Iterator[SetPair]:
    """Yield the judge's claims with their own positions, as in a run, if their class is the annotated one."""
    document = one.report.document
    found = {claim.id: claim for claim in follow(one.extracted, document, rule)}
    for gold, extracted in one.matched:
        if gold.type in classes and extracted.type == gold.type:
            yield SetPair(recovered_keys(found[extracted.id], document), frozenset(gold.citations))


def _annotated(one: ReadReport, rule: Rule, classes: Sequence[ClaimType], judged: bool) -> Iterator[SetPair]:
    """Yield the annotated claims with their classes, and the judge's or the annotated positions."""
    positions: dict[str, tuple[str, ...]] = {}
    for claim in one.extracted:
        named = (*positions.get(claim.sentence, ()), *claim.evidence_positions)
        positions[claim.sentence] = tuple(dict.fromkeys(named))
    found = traced(one.report, rule, positions if judged else None)
    for gold in one.gold:
        if gold.type in classes:
            yield SetPair(found[gold.id], frozenset(gold.citations))


def _window(one: ReadReport, size: int, classes: Sequence[ClaimType]) -> Iterator[SetPair]:
    """Yield all citations on the `size` sentences around the claim's, its own in the middle.

    An even window has one more sentence before the claim than after it. Windows end where the report's body begins and
    ends.
    """
    labels = [sentence.label for sentence in one.report.body]
    for gold in one.gold:
        if gold.type in classes:
            first = labels.index(gold.sentence) - size // 2
            around = labels[max(first, 0) : first + size]
            keys = [key for label in around for key in one.report.keys_on(label)]
            yield SetPair(frozenset(keys), frozenset(gold.citations))


class Coverage(Frozen):
    """Share of claims with a source, by one way to find the sources."""

    method: str
    cited: Rate
    """Claims of class A, B or C with at least one URL."""
    readable: Rate
    """Claims with at least one page that can be read."""


def coverage(reports: Sequence[ReadReport], statuses: Mapping[str, SourceStatus]) -> tuple[Coverage, ...]:
    """Return the coverage of annotated claims, then of extracted ones.

    Args:
        reports: annotated reports with the extracted claims.
        statuses: status of each URL that the reports cite; other URLs cannot be read.
    """
    rules: tuple[Rule, ...] = get_args(Rule)
    urls = {
        "annotated, own citations": _annotated_urls(reports, ("A",)),
        "annotated, back-tracked": _annotated_urls(reports, VERIFIABLE),
        "extracted, own citations": _extracted_urls(reports, None),
        **{f"extracted, back-tracked ({rule})": _extracted_urls(reports, rule) for rule in rules},
    }
    return tuple(
        Coverage(
            method=method,
            cited=rate(sum(bool(one) for one in claims), len(claims)),
            readable=rate(sum(any(statuses.get(url) == "ok" for url in one) for one in claims), len(claims)),
        )
        for method, claims in urls.items()
    )


def _annotated_urls(reports: Sequence[ReadReport], cited: Collection[str]) -> list[tuple[str, ...]]:
    """Return the URLs of each verifiable claim, none for classes that are not in `cited`."""
    return [
        tuple(url for key in claim.citations if (url := one.report.url(key)) is not None)
        if claim.type in cited
        else ()
        for one in reports
        for claim in one.gold
        if claim.type in VERIFIABLE
    ]


def _extracted_urls(reports: Sequence[ReadReport], rule: Rule | None) -> list[tuple[str, ...]]:
    urls: list[tuple[str, ...]] = []
    for one in reports:
        document = one.report.document
        after = one.extracted if rule is None else follow(one.extracted, document, rule)
        urls += [
            urls_of(claim, document)
            for claim, before in zip(after, one.extracted, strict=True)
            if before.type in VERIFIABLE
        ]
    return urls
