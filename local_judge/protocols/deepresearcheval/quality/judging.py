"""Report + dimensions of its task -> a mark for each criterion.

Invariants: the dimensions come with the task, or are drafted from its request alone, by questions that are the same
whatever report is judged: a judge that has drafted them once answers from its ledger, so that all systems on a task are
judged by the same. Every criterion gets exactly one mark; what could not be asked or answered is a failure.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import date
from typing import cast

from indexes.text.language import detect_language
from local_judge.claims.quotes import QuoteFinder, find_labelled
from local_judge.documents.model import Document
from local_judge.errors import ConfigError
from local_judge.judge.failures import Failure, FailureKind
from local_judge.judge.judge import Answer, Judge
from local_judge.judge.layout import Prompt
from local_judge.protocols.deepresearcheval.quality.asking import Asked, Question, Scored, quality_prompt
from local_judge.protocols.deepresearcheval.quality.findings import Mark, Origin, QualityFindings
from local_judge.protocols.deepresearcheval.quality.settings import Calls, QualitySettings
from local_judge.tasks.dimensions import settled
from local_judge.tasks.dimensions_draft import draft_dimensions
from local_judge.tasks.languages import language_name
from local_judge.tasks.model import QualityDimensions, Task
from serving.errors import EngineError

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
    drafted = settled(draft.entries).model_copy(update={"status": "drafted"})
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
    question = Question(document, task.prompt, language_name(detect_language(task.prompt)), today)
    by_dimension = [
        [Asked(dimension, criterion) for criterion in dimension.criteria]
        for dimension in dimensions.dimensions
    ]
    batches = by_dimension if calls == "dimension" else [[one for some in by_dimension for one in some]]
    answered = await asyncio.gather(*(_answers(question, batch, judge) for batch in batches))
    finder = QuoteFinder(document.text)
    marks = [
        _mark(one, told, finder)
        for batch, answers in zip(batches, answered, strict=True)
        for one, told in zip(batch, answers, strict=True)
    ]
    return QualityFindings(dimensions=dimensions, origin=origin, calls=calls, marks=tuple(marks))


async def _answers(
    question: Question, asked: Sequence[Asked], judge: Judge
) -> list[Answer[Scored] | Failure]:
    """One answer for each criterion; a call that leaves too little room for its reply is halved."""

    def prompt_for(indices: Sequence[int]) -> Prompt:
        return quality_prompt(question, [asked[index] for index in indices])

    try:
        room = await judge.room(prompt_for(range(len(asked))))
    except EngineError as error:
        return [Failure(kind=cast("FailureKind", error.kind), detail=str(error))] * len(asked)
    if room < MIN_REPLY_TOKENS * len(asked):
        if len(asked) == 1:
            detail = f"the report leaves {room} tokens of the judge's context for one answer"
            return [Failure(kind="report_too_long", detail=detail)]
        middle = len(asked) // 2
        halves = await asyncio.gather(
            *(_answers(question, half, judge) for half in (asked[:middle], asked[middle:]))
        )
        return [answer for half in halves for answer in half]
    return await judge.ask_items(
        prompt_for,
        Scored,
        len(asked),
        names=[one.criterion.id for one in asked],
        max_tokens=REPLY_TOKENS * len(asked),
    )


def _mark(asked: Asked, told: Answer[Scored] | Failure, finder: QuoteFinder) -> Mark:
    if isinstance(told, Failure):
        return Mark(criterion=asked.criterion.id, failure=told)
    answer = told.value
    quote = find_labelled(finder, answer.quote)
    return Mark(
        criterion=asked.criterion.id,
        score=answer.score,
        analysis=answer.analysis,
        quote=quote,
        quote_rejected=answer.quote if answer.quote.strip() and quote is None else None,
        replies=told.replies,
    )
