"""Verification against annotations: are the judge's verdicts right on original and on altered claims?

Invariants: a pair of a claim and a page counts once, as answered, as failed, or as unread; what failed or could not be
read is in no share. Original and altered claims are never in one prompt, so that neither reveals the other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple, get_args

from indexes.model import SourceStatus
from indexes.snapshot import Snapshot
from local_judge.base.failures import FailureKind
from local_judge.base.model import Frozen
from local_judge.claims.build import verify_page
from local_judge.claims.config import ClaimsConfig
from local_judge.claims.extract import is_numeric
from local_judge.claims.model import Claim, Label
from local_judge.judge.judge import Judge
from local_judge.lab.annotations.figures import Binary, binary
from local_judge.lab.annotations.model import AnnotatedReport, GoldLabel
from local_judge.lab.planting.model import AlterationKind
from local_judge.stats.rates import Rate, rate

Version = Literal["original", "altered"]


class Question(NamedTuple):
    """One original or altered claim, and a page that it cites."""

    report: str
    language: str
    url: str
    gold: GoldLabel
    version: Version
    kind: AlterationKind | None
    claim: Claim
    """The claim; its id is `<report>/<claim>`, followed by `/altered` for that version."""


class JudgedPair(Frozen):
    """One question with its answer. Exactly one of `label`, `failure` and `unread` is set."""

    claim: str
    url: str
    language: str
    kind: AlterationKind | None
    """None for an original claim."""
    gold: GoldLabel
    label: Label | None = None
    confidence: float | None = None
    failure: FailureKind | None = None
    unread: SourceStatus | None = None
    """Status of a page that the annotations label and the snapshot cannot show."""


class LanguageScores(Frozen):
    """Scores of one language."""

    original: Binary
    altered: Binary
    both: Binary


class VerificationScores(Frozen):
    """Scores of all pairs. `supported` is positive; every other label is negative."""

    pairs: int
    failed: int
    unread: int
    original: Binary
    altered: Binary
    both: Binary
    by_kind: dict[str, Rate]
    """Share that is not called supported, by kind of alteration."""
    by_language: dict[str, LanguageScores]
    labels: dict[str, dict[str, int]]
    """Number of pairs by annotated label and given label."""


def questions(report: AnnotatedReport, version: Version) -> Iterator[Question]:
    """Yield all labelled pairs of a claim and a page, in the order of the file."""
    for gold in report.claims:
        altered = gold.altered if version == "altered" else None
        given = gold if version == "original" else altered
        for key, label in (given.citations if given is not None else {}).items():
            url = report.url(key)
            if given is None or label is None or url is None:
                continue
            claim = Claim(
                id=f"{report.id}/{gold.id}" + ("/altered" if altered else ""),
                text=given.claim,
                sentence=gold.sentence,
                span=report.sentences[gold.sentence].span,
                type="A",
                numeric=is_numeric(given.claim),
            )
            kind = altered.kind if altered else None
            yield Question(report.id, report.document.language, url, label, version, kind, claim)


def by_page(reports: Sequence[AnnotatedReport]) -> dict[tuple[str, Version], list[Question]]:
    """Return all questions, grouped by page and version, which is one prompt; originals first."""
    versions: tuple[Version, ...] = get_args(Version)
    pages: dict[tuple[str, Version], list[Question]] = {}
    for version in versions:
        for report in reports:
            for question in questions(report, version):
                pages.setdefault((question.url, version), []).append(question)
    return pages


async def ask_questions(
    reports: Sequence[AnnotatedReport],
    snapshot: Snapshot,
    judge: Judge,
    config: ClaimsConfig,
    step_done: Callable[[], None],
) -> list[JudgedPair]:
    """Ask all questions about the annotated claims; call `step_done` after each page and version."""

    async def one(url: str, asked: Sequence[Question]) -> list[JudgedPair]:
        page = snapshot.page(url)
        answers: list[dict[str, object]] = [{"unread": page.status}] * len(asked)
        if page.status == "ok":
            claims = [question.claim for question in asked]
            answers = [
                {
                    "label": verdict.label,
                    "confidence": verdict.confidence,
                    "failure": verdict.failure and verdict.failure.kind,
                }
                for verdict in await verify_page(page, claims, snapshot, judge, config)
            ]
        step_done()
        pairs: list[JudgedPair] = []
        for question, answer in zip(asked, answers, strict=True):
            about = {name: getattr(question, name) for name in ("url", "language", "kind", "gold")}
            pairs.append(JudgedPair.model_validate({"claim": question.claim.id, **about, **answer}))
        return pairs

    answered = await asyncio.gather(*(one(url, asked) for (url, _), asked in by_page(reports).items()))
    return [pair for page in answered for pair in page]


def verification_scores(pairs: Sequence[JudgedPair]) -> VerificationScores:
    """Score the pairs that were answered."""
    answered = [pair for pair in pairs if pair.label is not None]
    labels: dict[str, dict[str, int]] = {label: {} for label in get_args(GoldLabel)}
    for pair in sorted(answered, key=lambda pair: str(pair.label)):
        tally = labels[pair.gold]
        tally[str(pair.label)] = tally.get(str(pair.label), 0) + 1
    return VerificationScores(
        pairs=len(pairs),
        failed=sum(pair.failure is not None for pair in pairs),
        unread=sum(pair.unread is not None for pair in pairs),
        **_scores(answered),
        by_kind={
            kind: rate(sum(pair.label != "supported" for pair in own), len(own))
            for kind in get_args(AlterationKind)
            if any(pair.kind == kind for pair in pairs)
            for own in [[pair for pair in answered if pair.kind == kind]]
        },
        by_language={
            language: LanguageScores(**_scores([pair for pair in answered if pair.language == language]))
            for language in sorted({pair.language for pair in pairs})
        },
        labels=labels,
    )


def _scores(pairs: Sequence[JudgedPair]) -> dict[str, Binary]:
    """Score original claims, altered claims, and both."""
    versions = {
        "original": [pair for pair in pairs if pair.kind is None],
        "altered": [pair for pair in pairs if pair.kind is not None],
        "both": pairs,
    }
    return {
        version: binary([(pair.gold == "supported", pair.label == "supported") for pair in own])
        for version, own in versions.items()
    }
