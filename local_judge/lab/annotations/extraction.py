"""Extraction against annotations: how many claims are found, how many are added, and whether their classes are right.

Annotated claims and extracted claims are matched one to one.

Invariants: a sentence whose claims could not be had leaves both sides: its annotated claims are neither found nor
missed, and its failure is counted. The matching is the best there is, not the first found: of all one-to-one matchings
of pairs at or above the threshold it has the most pairs, of these the greatest sum of similarities, and of equal ones
the same every time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, get_args

from local_judge.claims.extract import Extraction
from local_judge.claims.model import Claim, ClaimType
from local_judge.judge.failures import FailureKind
from local_judge.lab.annotations.figures import Binary, binary, mean, share
from local_judge.lab.annotations.model import VERIFIABLE, AnnotatedReport, GoldClaim
from local_judge.lab.annotations.similarity import Similarity
from local_judge.stats.rates import Rate, rate
from serving.types import Frozen


class Match(NamedTuple):
    """One pair, by place."""

    gold: int
    extracted: int
    similarity: float


class _Best(NamedTuple):
    pairs: int
    total: float
    matches: tuple[Match, ...]


def assign(similarities: Sequence[Sequence[float]], threshold: float) -> tuple[Match, ...]:
    """The best matching of rows (annotated claims) with columns (extracted claims).

    Exact, by the subsets of columns taken so far: 2^columns steps for a row. An extraction gives a sentence at most
    eight claims, so that this is 256 steps.
    """
    states: dict[int, _Best] = {0: _Best(0, 0.0, ())}
    for row, figures in enumerate(similarities):
        # Kept as it was: a row may stay without a column.
        reached = dict(states)
        for taken, best in states.items():
            for column, figure in enumerate(figures):
                if figure < threshold or taken >> column & 1:
                    continue
                found = _Best(
                    best.pairs + 1, best.total + figure, (*best.matches, Match(row, column, figure))
                )
                known = reached.get(taken | 1 << column)
                if known is None or found[:2] > known[:2]:
                    reached[taken | 1 << column] = found
        states = reached
    return max(states.values(), key=lambda best: best[:2]).matches


Classes = tuple[ClaimType, ClaimType]
"""Of one claim: as annotated, as given."""


class Matched(NamedTuple):
    """An annotated claim and the extracted claim that says the same, on the same sentence."""

    gold: GoldClaim
    extracted: Claim


class ReadReport(NamedTuple):
    """A report with what was extracted from it, sentences without an answer left out on both sides."""

    report: AnnotatedReport
    sentences: int
    """Of the body, with an answer."""
    failed: tuple[str, ...]
    """Labels of the sentences without one."""
    gold: tuple[GoldClaim, ...]
    extracted: tuple[Claim, ...]
    matched: tuple[Matched, ...]


class Recalled(Frozen):
    """Whether a judge finds an annotated claim among the extracted ones. One of `stated` and `failure` is None."""

    report: str
    claim: str
    """Its id in the report."""
    stated: bool | None
    failure: FailureKind | None = None


class ClassScores(Frozen):
    """Of one class, over matched claims."""

    gold: int
    given: int
    both: int
    precision: float | None
    recall: float | None
    f1: float | None
    """None for a class that neither side has."""


class ExtractionScores(Frozen):
    """Of all reports, or of those in one language."""

    sentences: int
    sentences_failed: int
    paragraphs: int
    """Blocks of the body that have sentences, each of them with an answer."""
    gold: int
    extracted: int
    gold_density: float | None
    """Annotated claims of these paragraphs / paragraphs."""
    density: float | None
    """Extracted claims of these paragraphs / paragraphs."""
    recall: Rate
    """Matched of annotated claims."""
    recall_judged: Rate | None
    """Annotated claims that a judge finds stated by the claims extracted from their paragraph, of those it answered
    for; None where no judge was asked."""
    recall_failed: int
    """Annotated claims that it did not answer for."""
    precision: Rate
    """Matched of extracted claims."""
    f1: float | None
    similarity: float | None
    """Mean over matched pairs."""
    classes: dict[str, ClassScores]
    macro_f1: float | None
    micro_f1: float | None
    macro_f1_judged: float | None
    """Of the classes as the judge named them, before code settled them."""
    micro_f1_judged: float | None
    verifiable: Binary
    """Positive: A, B and C."""
    confusion: dict[str, dict[str, int]]
    """Annotated class -> class given -> matched claims."""


def read_report(
    report: AnnotatedReport, extraction: Extraction, similarity: Similarity, threshold: float
) -> ReadReport:
    """Match what was extracted with what was annotated, sentence by sentence."""
    failed = tuple(label for failure in extraction.failures for label in failure.sentences)
    lost = frozenset(failed)
    blocks = report.document.blocks
    body = [one.label for one in report.document.sentences if blocks[one.block].role == "body"]
    matched: list[Matched] = []
    for label in body:
        gold = [claim for claim in report.claims if claim.sentence == label]
        extracted = [claim for claim in extraction.claims if claim.sentence == label]
        matched += [
            Matched(gold[match.gold], extracted[match.extracted])
            for match in _matches(gold, extracted, similarity, threshold)
        ]
    return ReadReport(
        report=report,
        sentences=sum(label not in lost for label in body),
        failed=failed,
        gold=tuple(claim for claim in report.claims if claim.sentence not in lost),
        extracted=extraction.claims,
        matched=tuple(matched),
    )


def _matches(
    gold: Sequence[GoldClaim], extracted: Sequence[Claim], similarity: Similarity, threshold: float
) -> tuple[Match, ...]:
    if not gold or not extracted:
        return ()
    figures = similarity([claim.claim for claim in gold], [claim.text for claim in extracted])
    return assign(figures, threshold)


def extraction_scores(
    reports: Sequence[ReadReport], similarity: Similarity, recalled: Sequence[Recalled] | None = None
) -> ExtractionScores:
    """Over all `reports` together: every claim weighs the same.

    Args:
        reports: with what was extracted.
        similarity: of matched claims.
        recalled: what a judge says of each annotated claim; None where none was asked.
    """
    matched = [pair for one in reports for pair in one.matched]
    n_gold, n_extracted = sum(len(one.gold) for one in reports), sum(len(one.extracted) for one in reports)
    sentences = sum(one.sentences for one in reports)
    settled: list[Classes] = [(pair.gold.type, pair.extracted.type) for pair in matched]
    judged: list[Classes] = [(pair.gold.type, pair.extracted.type_judged) for pair in matched]
    by_class = class_scores(settled)
    n_paragraphs, gold_there, extracted_there = _densities(reports)
    answered = [one.stated for one in recalled or () if one.stated is not None]
    return ExtractionScores(
        sentences=sentences,
        sentences_failed=sum(len(one.failed) for one in reports),
        paragraphs=n_paragraphs,
        gold=n_gold,
        extracted=n_extracted,
        gold_density=share(gold_there, n_paragraphs),
        density=share(extracted_there, n_paragraphs),
        recall=rate(len(matched), n_gold),
        recall_judged=None if recalled is None else rate(sum(answered), len(answered)),
        recall_failed=len(recalled or ()) - len(answered),
        precision=rate(len(matched), n_extracted),
        f1=share(2 * len(matched), n_gold + n_extracted),
        similarity=mean([similarity([pair.gold.claim], [pair.extracted.text])[0][0] for pair in matched]),
        classes=by_class,
        macro_f1=mean([scores.f1 for scores in by_class.values()]),
        micro_f1=micro_f1(settled),
        macro_f1_judged=mean([scores.f1 for scores in class_scores(judged).values()]),
        micro_f1_judged=micro_f1(judged),
        verifiable=binary([(gold in VERIFIABLE, given in VERIFIABLE) for gold, given in settled]),
        confusion={
            gold: {given: settled.count((gold, given)) for given in get_args(ClaimType)}
            for gold in get_args(ClaimType)
        },
    )


def _densities(reports: Sequence[ReadReport]) -> tuple[int, int, int]:
    """Paragraphs that were read whole, and the claims annotated and extracted there."""
    paragraphs = gold = extracted = 0
    for one in reports:
        document, lost = one.report.document, frozenset(one.failed)
        body = [sentence for sentence in document.sentences if document.blocks[sentence.block].role == "body"]
        broken = {sentence.block for sentence in body if sentence.label in lost}
        whole = {sentence.label: sentence.block for sentence in body if sentence.block not in broken}
        paragraphs += len(set(whole.values()))
        gold += sum(claim.sentence in whole for claim in one.gold)
        extracted += sum(claim.sentence in whole for claim in one.extracted)
    return paragraphs, gold, extracted


def class_scores(pairs: Sequence[Classes]) -> dict[str, ClassScores]:
    """Each of the six classes. F1 = 2 both / (gold + given)."""
    scores: dict[str, ClassScores] = {}
    for one in get_args(ClaimType):
        gold, given = sum(pair[0] == one for pair in pairs), sum(pair[1] == one for pair in pairs)
        both = pairs.count((one, one))
        scores[one] = ClassScores(
            gold=gold,
            given=given,
            both=both,
            precision=share(both, given),
            recall=share(both, gold),
            f1=share(2 * both, gold + given),
        )
    return scores


def micro_f1(pairs: Sequence[Classes]) -> float | None:
    """Over all classes together; as each claim has one class, the share of claims whose class is right."""
    return share(sum(gold == given for gold, given in pairs), len(pairs))
