"""Extraction against annotations: which claims are found, which are added, and whether their classes are right.

Annotated claims and extracted claims are matched one to one, sentence by sentence, by the similarity of their texts.

Invariants: a sentence whose claims could not be extracted is removed from both sides: its annotated claims are neither
found nor missed, and its failure is counted. Of all one-to-one matchings of pairs at or above the threshold, the
matching has the most pairs, then the greatest sum of similarities; ties are always broken in the same way. A similarity
is symmetric, in [0, 1] for `lexical` and in [-1, 1] for `dense`, and depends on the two texts alone.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, get_args

from indexes.search.encoder import Encoder
from indexes.search.local import LocalEncoder
from local_judge.base.failures import FailureKind
from local_judge.base.model import Frozen
from local_judge.claims.extract import Extraction
from local_judge.claims.model import VERIFIABLE, Claim, ClaimType
from local_judge.lab.annotations.model import AnnotatedReport, GoldClaim
from local_judge.stats.rates import Rate, mean, rate, share

Name = Literal["lexical", "dense"]
Similarity = Callable[[Sequence[str], Sequence[str]], list[list[float]]]
"""Function of two lists of texts that returns a row for each of the first, with a number for each of the second."""

THRESHOLDS: dict[Name, float] = {"lexical": 0.35, "dense": 0.5}
"""Default minimum similarity of two claims that count as the same. Both claims are on one sentence, so the threshold
only has to separate the claims of a sentence from each other."""
SIZES = (2, 3)
"""Lengths of the n-grams in characters: a Chinese word has about two, and single letters occur in all words of an
alphabetic language."""


def similarity_named(name: Name) -> Similarity:
    """Return a similarity by name. Raises MissingExtra if `dense` has no model."""
    return lexical if name == "lexical" else dense(LocalEncoder())


def lexical(left: Sequence[str], right: Sequence[str]) -> list[list[float]]:
    """Mean over n = 2, 3 of the F-score of character n-grams: 2 |A ∩ B| / (|A| + |B|), A and B multisets.

    Case, full-width forms, spaces and punctuation are ignored. A size for which neither text has an n-gram is left out;
    two texts without n-grams have similarity 1 if they are equal, else 0.
    """
    first, second = [_letters(text) for text in left], [_letters(text) for text in right]
    return [[_f_score(one, other) for other in second] for one in first]


def dense(encoder: Encoder) -> Similarity:
    """Return the cosine of the embeddings, rounded to six places so that equal texts have equal values."""

    def cosines(left: Sequence[str], right: Sequence[str]) -> list[list[float]]:
        if not left or not right:
            return [[] for _ in left]
        products = encoder.encode_documents(left) @ encoder.encode_documents(right).T
        return [[round(float(cosine), 6) for cosine in row] for row in products]

    return cosines


def _letters(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(character for character in folded if character.isalnum())


def _grams(letters: str, n: int) -> Counter[str]:
    return Counter(letters[i : i + n] for i in range(len(letters) - n + 1))


def _f_score(one: str, other: str) -> float:
    pairs = [(_grams(one, n), _grams(other, n)) for n in SIZES]
    scores = [2 * (a & b).total() / (a.total() + b.total()) for a, b in pairs if a or b]
    return sum(scores) / len(scores) if scores else float(one == other)


class Match(NamedTuple):
    """One pair, by position."""

    gold: int
    extracted: int
    similarity: float


class _Best(NamedTuple):
    pairs: int
    total: float
    matches: tuple[Match, ...]


def assign(similarities: Sequence[Sequence[float]], threshold: float) -> tuple[Match, ...]:
    """Return the best matching of rows (annotated claims) with columns (extracted claims).

    Exact, by the subsets of columns taken so far: 2^columns steps for a row. A sentence has at most eight extracted
    claims, which gives 256 steps.
    """
    states: dict[int, _Best] = {0: _Best(0, 0.0, ())}
    for row, figures in enumerate(similarities):
        reached = dict(states)  # a row may remain without a column
        for taken, best in states.items():
            for column, figure in enumerate(figures):
                if figure < threshold or taken >> column & 1:
                    continue
                matches = (*best.matches, Match(row, column, figure))
                found = _Best(best.pairs + 1, best.total + figure, matches)
                known = reached.get(taken | 1 << column)
                if known is None or found[:2] > known[:2]:
                    reached[taken | 1 << column] = found
        states = reached
    return max(states.values(), key=lambda best: best[:2]).matches


Classes = tuple[ClaimType, ClaimType]
"""Annotated and given class of one claim."""


class Matched(NamedTuple):
    """An annotated claim and the extracted claim that says the same, on the same sentence."""

    gold: GoldClaim
    extracted: Claim


class ReadReport(NamedTuple):
    """A report with its extracted claims, without the sentences that have no answer."""

    report: AnnotatedReport
    sentences: int
    """Number of sentences of the body with an answer."""
    failed: tuple[str, ...]
    """Labels of the sentences without an answer."""
    gold: tuple[GoldClaim, ...]
    extracted: tuple[Claim, ...]
    matched: tuple[Matched, ...]


class Recalled(Frozen):
    """A judge's answer whether the extracted claims state an annotated claim. One of `stated` and `failure` is None."""

    report: str
    claim: str
    """Id of the claim in the report."""
    stated: bool | None
    failure: FailureKind | None = None


class Binary(Frozen):
    """Quality of binary answers. Positive: A, B and C."""

    tp: int
    fp: int
    fn: int
    tn: int
    accuracy: Rate
    f1: float | None
    """2 TP / (2 TP + FP + FN); None if no claim is annotated as positive."""


def binary(pairs: Sequence[tuple[bool, bool]]) -> Binary:
    """Compute the figures of (annotated, given) pairs."""
    tp, fp = pairs.count((True, True)), pairs.count((False, True))
    fn, tn = pairs.count((True, False)), pairs.count((False, False))
    f1 = share(2 * tp, 2 * tp + fp + fn) if tp + fn else None
    return Binary(tp=tp, fp=fp, fn=fn, tn=tn, accuracy=rate(tp + tn, len(pairs)), f1=f1)


class ClassScores(Frozen):
    """Scores of one class, over matched claims."""

    gold: int
    given: int
    both: int
    precision: float | None
    recall: float | None
    f1: float | None
    """None for a class that neither side has."""


class ExtractionScores(Frozen):
    """Scores of all reports, or of those in one language."""

    sentences: int
    sentences_failed: int
    paragraphs: int
    """Number of blocks of the body in which every sentence has an answer."""
    gold: int
    extracted: int
    gold_density: float | None
    """Annotated claims of these paragraphs / paragraphs."""
    density: float | None
    """Extracted claims of these paragraphs / paragraphs."""
    recall: Rate
    """Matched claims / annotated claims."""
    recall_judged: Rate | None
    """Annotated claims that a judge finds stated by the claims extracted from their paragraph / annotated claims that
    it answered for; None if no judge was asked."""
    recall_failed: int
    """Number of annotated claims that it did not answer for."""
    precision: Rate
    """Matched claims / extracted claims."""
    f1: float | None
    similarity: float | None
    """Mean over matched pairs."""
    classes: dict[str, ClassScores]
    macro_f1: float | None
    micro_f1: float | None
    verifiable: Binary
    confusion: dict[str, dict[str, int]]
    """Number of matched claims by annotated class and given class."""


def read_report(
    report: AnnotatedReport, extraction: Extraction, similarity: Similarity, threshold: float
) -> ReadReport:
    """Match extracted claims with annotated claims, sentence by sentence."""
    failed = tuple(label for failure in extraction.failures for label in failure.sentences)
    matched: list[Matched] = []
    for sentence in report.body:
        gold = [claim for claim in report.claims if claim.sentence == sentence.label]
        extracted = [claim for claim in extraction.claims if claim.sentence == sentence.label]
        if gold and extracted:
            figures = similarity([claim.claim for claim in gold], [claim.text for claim in extracted])
            pairs = assign(figures, threshold)
            matched += [Matched(gold[pair.gold], extracted[pair.extracted]) for pair in pairs]
    return ReadReport(
        report=report,
        sentences=sum(sentence.label not in failed for sentence in report.body),
        failed=failed,
        gold=tuple(claim for claim in report.claims if claim.sentence not in failed),
        extracted=extraction.claims,
        matched=tuple(matched),
    )


def extraction_scores(
    reports: Sequence[ReadReport], similarity: Similarity, recalled: Sequence[Recalled] | None = None
) -> ExtractionScores:
    """Score all `reports` together: every claim has the same weight.

    Args:
        reports: annotated reports with the extracted claims.
        similarity: similarity of matched claims.
        recalled: a judge's answer for each annotated claim; None if no judge was asked.
    """
    matched = [pair for one in reports for pair in one.matched]
    n_gold, n_extracted = sum(len(one.gold) for one in reports), sum(len(one.extracted) for one in reports)
    classes: list[Classes] = [(pair.gold.type, pair.extracted.type) for pair in matched]
    by_class = class_scores(classes)
    n_paragraphs, gold_there, extracted_there = _densities(reports)
    answered = [one.stated for one in recalled or () if one.stated is not None]
    types: tuple[ClaimType, ...] = get_args(ClaimType)
    return ExtractionScores(
        sentences=sum(one.sentences for one in reports),
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
        micro_f1=micro_f1(classes),
        verifiable=binary([(gold in VERIFIABLE, given in VERIFIABLE) for gold, given in classes]),
        confusion={gold: {given: classes.count((gold, given)) for given in types} for gold in types},
    )


def _densities(reports: Sequence[ReadReport]) -> tuple[int, int, int]:
    """Count the paragraphs without failures, and the claims annotated and extracted there."""
    paragraphs = gold = extracted = 0
    for one in reports:
        broken = {sentence.block for sentence in one.report.body if sentence.label in one.failed}
        whole = {one.label: one.block for one in one.report.body if one.block not in broken}
        paragraphs += len(set(whole.values()))
        gold += sum(claim.sentence in whole for claim in one.gold)
        extracted += sum(claim.sentence in whole for claim in one.extracted)
    return paragraphs, gold, extracted


def class_scores(pairs: Sequence[Classes]) -> dict[str, ClassScores]:
    """Score each of the six classes. F1 = 2 both / (gold + given)."""
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
    """Return F1 over all classes: as each claim has one class, the share of claims whose class is right."""
    return share(sum(gold == given for gold, given in pairs), len(pairs))
