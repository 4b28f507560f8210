"""Evaluates a judge's extraction, back-tracking and coverage on annotated reports.

Invariant: figures are a function of the annotations and the replies, whatever the order in which replies arrive.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from indexes.model import SourceStatus
from indexes.snapshot import Snapshot
from local_judge.base.model import Frozen
from local_judge.claims.config import ClaimsConfig
from local_judge.claims.extract import extract_claims
from local_judge.judge.judge import Judge
from local_judge.lab.annotations.backtracking import (
    Classes,
    Coverage,
    SetScores,
    backtracking_scores,
    coverage,
)
from local_judge.lab.annotations.extraction import (
    ExtractionScores,
    Name,
    ReadReport,
    Recalled,
    Similarity,
    extraction_scores,
    read_report,
)
from local_judge.lab.annotations.model import AnnotatedReport
from local_judge.lab.annotations.recall import RecallJudge, judge_recall

Part = Literal["extraction", "backtracking", "coverage"]


class Measure(NamedTuple):
    """Condition under which two claims count as the same."""

    name: Name
    similarity: Similarity
    threshold: float


class ReportScores(Frozen):
    """All scores; a part that was not measured is None."""

    reports: tuple[str, ...]
    claims: ClaimsConfig
    """Settings of the questions."""
    similarity: Name
    threshold: float
    recall_judge: str | None
    """Name of the judge that decided which annotated claims the extracted ones state."""
    extraction: dict[str, ExtractionScores] | None
    """Scores for `all`, then for each language."""
    backtracking: dict[Classes, tuple[SetScores, ...]] | None
    coverage: tuple[Coverage, ...] | None
    recalled: tuple[Recalled, ...] | None
    """Answers of the recall judge for each annotated claim; None without a recall judge."""

    sentences_failed: int
    """Number of sentences whose claims could not be extracted."""
    recalls_failed: int
    """Number of annotated claims that the recall judge did not answer for."""


async def evaluate(
    reports: Sequence[AnnotatedReport],
    snapshot: Snapshot,
    judge: Judge,
    config: ClaimsConfig,
    measure: Measure,
    parts: Sequence[Part],
    report_done: Callable[[], None],
    recall_judge: RecallJudge | None = None,
) -> ReportScores:
    """Ask the judge what `parts` need, and score the answers.

    Args:
        reports: annotated reports.
        snapshot: pages that they cite.
        judge: the judge to evaluate.
        config: settings of the questions; `reliability` is ignored.
        measure: condition under which two claims count as the same.
        parts: parts to measure.
        report_done: called after each report.
        recall_judge: decides which annotated claims the extracted ones state, for `extraction`.
    """
    config = config.model_copy(update={"reliability": False})

    async def read(report: AnnotatedReport) -> ReadReport:
        extraction = await extract_claims(report.document, judge, config)
        report_done()
        return read_report(report, extraction, measure.similarity, measure.threshold)

    found = await asyncio.gather(*map(read, reports))
    recalled = None
    if recall_judge is not None and "extraction" in parts:
        recalled = await judge_recall(found, recall_judge.judge)
    cited = {one.url for row in found for one in row.report.document.citations if one.url is not None}
    statuses: dict[str, SourceStatus] = {url: snapshot.page(url).status for url in sorted(cited)}
    return ReportScores(
        reports=tuple(report.id for report in reports),
        claims=config,
        similarity=measure.name,
        threshold=measure.threshold,
        recall_judge=None if recall_judge is None else recall_judge.name,
        extraction=_by_language(found, measure.similarity, recalled) if "extraction" in parts else None,
        backtracking=backtracking_scores(found) if "backtracking" in parts else None,
        coverage=coverage(found, statuses) if "coverage" in parts else None,
        recalled=recalled,
        sentences_failed=sum(len(one.failed) for one in found),
        recalls_failed=sum(one.failure is not None for one in recalled or ()),
    )


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
