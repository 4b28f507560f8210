"""A judge asked about annotated reports, and what comes of it.

Invariants: originals and altered claims never stand in one prompt, so that neither gives the other away; figures are a
function of the annotations and the replies, whatever the order in which these arrive.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from indexes.model import SourceStatus
from indexes.snapshot import Snapshot
from local_judge.claims.build import verify_page
from local_judge.claims.config import ClaimsConfig
from local_judge.claims.extract import extract_claims
from local_judge.judge.judge import Judge
from local_judge.lab.annotations.backtracking import Classes, SetScores, backtracking_scores
from local_judge.lab.annotations.coverage import Coverage, coverage
from local_judge.lab.annotations.extraction import (
    ExtractionScores,
    ReadReport,
    Recalled,
    extraction_scores,
    read_report,
)
from local_judge.lab.annotations.model import AnnotatedReport
from local_judge.lab.annotations.recall import RecallJudge, judge_recall
from local_judge.lab.annotations.similarity import Name, Similarity
from local_judge.lab.annotations.verification import (
    JudgedPair,
    Question,
    VerificationScores,
    questions,
    verification_scores,
)
from serving.types import Frozen

Part = Literal["extraction", "backtracking", "verification", "coverage"]


class Measure(NamedTuple):
    """When two claims count as the same."""

    name: Name
    similarity: Similarity
    threshold: float


class VerifierScores(Frozen):
    """Everything that was measured; a part that was not asked for is None."""

    reports: tuple[str, ...]
    claims: ClaimsConfig
    """How the judge was asked."""
    similarity: Name
    threshold: float
    recall_judge: str | None
    """Name of the judge that decided which annotated claims the extracted ones state."""
    extraction: dict[str, ExtractionScores] | None
    """`all`, then each language."""
    backtracking: dict[Classes, tuple[SetScores, ...]] | None
    verification: VerificationScores | None
    coverage: tuple[Coverage, ...] | None
    pairs: tuple[JudgedPair, ...]
    """Every question of `verification` with its answer."""
    recalled: tuple[Recalled, ...] | None
    """What the recall judge says of each annotated claim; None where there is none."""

    sentences_failed: int
    """Sentences whose claims could not be had."""
    verdicts_failed: int
    """Questions of `verification` without an answer."""
    recalls_failed: int
    """Annotated claims that the recall judge did not answer for."""


def steps(reports: Sequence[AnnotatedReport], parts: Sequence[Part]) -> int:
    """How often `evaluate` says that a step is done."""
    pages = len(_by_page(_all_questions(reports))) if "verification" in parts else 0
    return pages + (len(reports) if set(parts) - {"verification"} else 0)


async def evaluate(
    reports: Sequence[AnnotatedReport],
    snapshot: Snapshot,
    judge: Judge,
    config: ClaimsConfig,
    measure: Measure,
    parts: Sequence[Part],
    step_done: Callable[[], None],
    recall_judge: RecallJudge | None = None,
) -> VerifierScores:
    """Ask what `parts` need, and count.

    Args:
        reports: annotated.
        snapshot: holds the pages that they cite.
        judge: who is measured.
        config: how it is asked; `reliability` is not.
        measure: when two claims count as the same.
        parts: what to measure.
        step_done: called after each report that was read, and for each page and version of the claims.
        recall_judge: decides which annotated claims the extracted ones state; asked for `extraction` only.
    """
    config = config.model_copy(update={"reliability": False})
    needs_claims = bool(set(parts) - {"verification"})
    read, pairs = await asyncio.gather(
        _read(reports if needs_claims else (), judge, config, measure, step_done),
        _verify(reports if "verification" in parts else (), snapshot, judge, config, step_done),
    )
    recalled = (
        await judge_recall(read, recall_judge.judge)
        if recall_judge is not None and "extraction" in parts
        else None
    )
    cited = {
        citation.url for one in read for citation in one.report.document.citations if citation.url is not None
    }
    statuses: dict[str, SourceStatus] = {url: snapshot.page(url).status for url in sorted(cited)}
    return VerifierScores(
        reports=tuple(report.id for report in reports),
        claims=config,
        similarity=measure.name,
        threshold=measure.threshold,
        recall_judge=None if recall_judge is None else recall_judge.name,
        extraction=_by_language(read, measure.similarity, recalled) if "extraction" in parts else None,
        backtracking=backtracking_scores(read) if "backtracking" in parts else None,
        verification=verification_scores(pairs) if "verification" in parts else None,
        coverage=coverage(read, statuses) if "coverage" in parts else None,
        pairs=tuple(pairs),
        recalled=recalled,
        sentences_failed=sum(len(one.failed) for one in read),
        verdicts_failed=sum(pair.failure is not None for pair in pairs),
        recalls_failed=sum(one.failure is not None for one in recalled or ()),
    )


async def _read(
    reports: Sequence[AnnotatedReport],
    judge: Judge,
    config: ClaimsConfig,
    measure: Measure,
    step_done: Callable[[], None],
) -> list[ReadReport]:
    async def one(report: AnnotatedReport) -> ReadReport:
        extraction = await extract_claims(report.document, judge, config)
        step_done()
        return read_report(report, extraction, measure.similarity, measure.threshold)

    return list(await asyncio.gather(*(one(report) for report in reports)))


def _by_language(
    read: Sequence[ReadReport], similarity: Similarity, recalled: Sequence[Recalled] | None
) -> dict[str, ExtractionScores]:
    scores = {"all": extraction_scores(read, similarity, recalled)}
    for language in sorted({one.report.document.language for one in read}):
        chosen = [one for one in read if one.report.document.language == language]
        names = {one.report.id for one in chosen}
        own = None if recalled is None else [one for one in recalled if one.report in names]
        scores[language] = extraction_scores(chosen, similarity, own)
    return scores


def _all_questions(reports: Sequence[AnnotatedReport]) -> list[Question]:
    originals = [question for report in reports for question in questions(report, "original")]
    return originals + [question for report in reports for question in questions(report, "altered")]


def _by_page(asked: Sequence[Question]) -> dict[tuple[str, str], list[Question]]:
    """Questions that go into one prompt: one page and one version."""
    pages: dict[tuple[str, str], list[Question]] = {}
    for question in asked:
        pages.setdefault((question.url, question.version), []).append(question)
    return pages


async def _verify(
    reports: Sequence[AnnotatedReport],
    snapshot: Snapshot,
    judge: Judge,
    config: ClaimsConfig,
    step_done: Callable[[], None],
) -> list[JudgedPair]:
    async def one(url: str, asked: Sequence[Question]) -> list[JudgedPair]:
        page = snapshot.page(url)
        if page.status != "ok":
            step_done()
            return [_unread(question, page.status) for question in asked]
        verdicts = await verify_page(page, [question.claim for question in asked], snapshot, judge, config)
        step_done()
        return [
            JudgedPair(
                claim=question.claim.id,
                url=url,
                language=question.language,
                kind=question.kind,
                gold=question.gold,
                label=verdict.label,
                confidence=verdict.confidence,
                failure=None if verdict.failure is None else verdict.failure.kind,
            )
            for question, verdict in zip(asked, verdicts, strict=True)
        ]

    pages = _by_page(_all_questions(reports))
    answered = await asyncio.gather(*(one(url, asked) for (url, _), asked in pages.items()))
    return [pair for page in answered for pair in page]


def _unread(question: Question, status: SourceStatus) -> JudgedPair:
    return JudgedPair(
        claim=question.claim.id,
        url=question.url,
        language=question.language,
        kind=question.kind,
        gold=question.gold,
        unread=status,
    )
