"""Verification against annotations: are the judge's verdicts right on claims as they stand, and on claims made false?

Invariant: a pair of a claim and a page counts once, as answered, as failed, or as unread; what failed or could not be
read is in no share, neither as right nor as wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, get_args

from indexes.model import SourceStatus
from local_judge.claims.extract import is_numeric
from local_judge.claims.model import Claim, Label
from local_judge.documents.model import Span
from local_judge.judge.failures import FailureKind
from local_judge.lab.annotations.figures import Binary, binary
from local_judge.lab.annotations.model import AnnotatedReport, GoldLabel
from local_judge.lab.planting.model import AlterationKind
from local_judge.stats.rates import Rate, rate
from serving.types import Frozen

Version = Literal["original", "altered"]


class Question(NamedTuple):
    """One claim, as it stands or altered, and a page that it leans on."""

    report: str
    language: str
    url: str
    gold: GoldLabel
    version: Version
    kind: AlterationKind | None
    claim: Claim
    """Its id is `<report>/<claim>`, followed by `/altered` for that version."""


class JudgedPair(Frozen):
    """One question with its answer. Exactly one of `label`, `failure` and `unread` is set."""

    claim: str
    url: str
    language: str
    kind: AlterationKind | None
    """None for a claim as it stands."""
    gold: GoldLabel
    label: Label | None = None
    confidence: float | None = None
    failure: FailureKind | None = None
    unread: SourceStatus | None = None
    """Status of a page that the annotations label and the snapshot cannot show."""


class LanguageScores(Frozen):
    """Of one language."""

    original: Binary
    altered: Binary
    both: Binary


class VerificationScores(Frozen):
    """Positive is `supported`; every other label is not."""

    pairs: int
    failed: int
    unread: int
    original: Binary
    altered: Binary
    both: Binary
    by_kind: dict[str, Rate]
    """Kind of alteration -> share that is not called supported."""
    by_language: dict[str, LanguageScores]
    labels: dict[str, dict[str, int]]
    """Annotated label -> label given -> pairs."""


def questions(report: AnnotatedReport, version: Version) -> Iterator[Question]:
    """All pairs of a claim and a page that the annotations label, in the order of the file."""
    spans = {sentence.label: sentence.span for sentence in report.document.sentences}
    for gold in report.claims:
        given = gold if version == "original" else gold.altered
        for key, label in (given.citations if given is not None else {}).items():
            url = report.url(key)
            if given is None or label is None or url is None:
                continue
            claim = _claim(f"{report.id}/{gold.id}", given.claim, gold.sentence, spans[gold.sentence])
            kind = gold.altered.kind if version == "altered" and gold.altered is not None else None
            if kind is not None:
                claim = claim.model_copy(update={"id": claim.id + "/altered"})
            yield Question(report.id, report.document.language, url, label, version, kind, claim)


def _claim(identity: str, text: str, sentence: str, span: Span) -> Claim:
    return Claim(
        id=identity,
        text=text,
        sentence=sentence,
        span=span,
        type="A",
        type_judged="A",
        numeric=is_numeric(text),
    )


def verification_scores(pairs: Sequence[JudgedPair]) -> VerificationScores:
    """Shares over the pairs that were answered."""
    answered = [pair for pair in pairs if pair.label is not None]
    original = [pair for pair in answered if pair.kind is None]
    altered = [pair for pair in answered if pair.kind is not None]
    tallies: dict[str, Counter[str]] = {label: Counter() for label in get_args(GoldLabel)}
    for pair in answered:
        tallies[pair.gold][str(pair.label)] += 1
    return VerificationScores(
        pairs=len(pairs),
        failed=sum(pair.failure is not None for pair in pairs),
        unread=sum(pair.unread is not None for pair in pairs),
        original=_supported(original),
        altered=_supported(altered),
        both=_supported(answered),
        by_kind={
            kind: _caught([pair for pair in altered if pair.kind == kind])
            for kind in get_args(AlterationKind)
            if any(pair.kind == kind for pair in pairs)
        },
        by_language={
            language: LanguageScores(
                original=_supported([pair for pair in original if pair.language == language]),
                altered=_supported([pair for pair in altered if pair.language == language]),
                both=_supported([pair for pair in answered if pair.language == language]),
            )
            for language in sorted({pair.language for pair in pairs})
        },
        labels={label: dict(sorted(tally.items())) for label, tally in tallies.items()},
    )


def _supported(pairs: Sequence[JudgedPair]) -> Binary:
    return binary([(pair.gold == "supported", pair.label == "supported") for pair in pairs])


def _caught(pairs: Sequence[JudgedPair]) -> Rate:
    return rate(sum(pair.label != "supported" for pair in pairs), len(pairs))
