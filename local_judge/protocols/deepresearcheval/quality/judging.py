"""Report + dimensions of its task -> a mark for each criterion.

Invariants: the dimensions come with the task, or are drafted from its request alone, by questions that are the same
whatever report is judged: a judge that has drafted them once answers from its ledger, so that all systems on a task are
judged by the same. Every criterion gets exactly one mark; what could not be asked or answered is a failure.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import date

from indexes.text.language import detect_language
from local_judge.claims.quotes import QuoteFinder, find_labelled
from local_judge.documents.model import Document
from local_judge.errors import ConfigError
from local_judge.judge.failures import Failure
from local_judge.judge.judge import Answer, Judge
from local_judge.protocols.asking import Requirement, ask_each
from local_judge.protocols.deepresearcheval.quality.asking import Asked, Question, Scored, quality_wording
from local_judge.protocols.deepresearcheval.quality.findings import Mark, Origin, QualityFindings
from local_judge.protocols.deepresearcheval.quality.settings import Calls, QualitySettings
from local_judge.tasks.dimensions import settled
from local_judge.tasks.dimensions_draft import draft_dimensions
from local_judge.tasks.languages import language_name
from local_judge.tasks.model import QualityDimensions, Task

MIN_REPLY_TOKENS = 100
"""A prompt fits if it leaves at least this much room for each criterion asked."""
REPLY_TOKENS = 320
"""Limit of a reply, for each criterion asked: 900 characters and the JSON around them."""


def lacks_dimensions(task: Task, settings: QualitySettings) -> str | None:
    """What a report's task has not that quality needs, and where it may come from; None if nothing."""
    if settings.draft or task.dimensions is not None:
        return None
    return (
        f"its task {task.id!r} has no dimensions; give --dimensions (`local-judge tasks dimensions draft` makes them), "
        "or let each judge draft its own: --set deepresearcheval.quality.draft=true"
    )


async def judge_quality(
    document: Document, task: Task, judge: Judge, settings: QualitySettings, today: date | None = None
) -> QualityFindings:
    """The marks of all criteria.

    Raises:
        ConfigError: the task has no dimensions, and none may be drafted.
    """
    lacking = lacks_dimensions(task, settings)
    if lacking is not None:
        raise ConfigError(f"deepresearcheval: {lacking}")
    if task.dimensions is not None:
        return await _judged(document, task, task.dimensions, judge, settings.calls, today)
    draft = await draft_dimensions(task, judge)
    if isinstance(draft, Failure):
        return QualityFindings(dimensions=None, origin="judge", calls=settings.calls, failure=draft)
    drafted = settled(draft.dimensions).model_copy(update={"status": "drafted"})
    found = await _judged(document, task, drafted, judge, settings.calls, today, "judge")
    return found.model_copy(update={"drafted_by": draft.replies})


async def _judged(
    document: Document,
    task: Task,
    dimensions: QualityDimensions,
    judge: Judge,
    calls: Calls,
    today: date | None,
    origin: Origin = "task",
) -> QualityFindings:
    question = Question(task.prompt, language_name(detect_language(task.prompt)), today)
    asked = {
        criterion.id: Asked(dimension, criterion)
        for dimension in dimensions.dimensions
        for criterion in dimension.criteria
    }

    def wording(some: Sequence[Requirement]) -> str:
        return quality_wording(question, [asked[one.id] for one in some])

    batches = (
        [[one.id for one in dimension.criteria] for dimension in dimensions.dimensions]
        if calls == "dimension"
        else [list(asked)]
    )
    answered = await asyncio.gather(
        *(
            ask_each(
                document,
                judge,
                wording,
                [Requirement(id, asked[id].criterion.criterion) for id in batch],
                Scored,
                per_call=len(batch),
                reply_tokens=REPLY_TOKENS,
                min_reply_tokens=MIN_REPLY_TOKENS,
            )
            for batch in batches
        )
    )
    finder = QuoteFinder(document.text)
    told = [answer for answers in answered for answer in answers]
    marks = tuple(_mark(id, answer, finder) for id, answer in zip(asked, told, strict=True))
    return QualityFindings(dimensions=dimensions, origin=origin, calls=calls, marks=marks)


def _mark(criterion: str, told: Answer[Scored] | Failure, finder: QuoteFinder) -> Mark:
    if isinstance(told, Failure):
        return Mark(criterion=criterion, failure=told)
    answer = told.value
    quote = find_labelled(finder, answer.quote)
    return Mark(
        criterion=criterion,
        score=answer.score,
        analysis=answer.analysis,
        quote=quote,
        quote_rejected=answer.quote if answer.quote.strip() and quote is None else None,
        replies=told.replies,
    )
