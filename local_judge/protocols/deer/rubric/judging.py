"""Document + task + rubric + judge -> a grade for each question.

Invariants: every item of the rubric gets exactly one grade; what could not be asked or answered is a failure; a
quotation is kept only if it occurs in the report; a score that guidance has capped keeps what the judge said.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import cast

from local_judge.claims.quotes import QuoteFinder, find_labelled
from local_judge.documents.model import Document
from local_judge.judge.failures import Failure, FailureKind
from local_judge.judge.judge import Answer as Told
from local_judge.judge.judge import Judge
from local_judge.judge.layout import Prompt
from local_judge.protocols.deer.rubric.asking import Answer, GuidedAnswer, answer_type, prompt
from local_judge.protocols.deer.rubric.findings import Grade, RubricFindings
from local_judge.protocols.deer.rubric.model import Path, Rubric
from local_judge.protocols.deer.rubric.questions import Call, Question, calls_for, dimensions_of
from local_judge.protocols.deer.settings import DeerSettings
from local_judge.tasks.model import Task
from serving.errors import EngineError

MIN_REPLY_TOKENS_PER_ITEM = 100
"""A prompt fits if it leaves at least this much room for each of its questions."""
REPLY_TOKENS_PER_ITEM = 260
"""Limit of a reply, for each of its questions: 700 characters and the JSON around them."""


async def judge_rubric(
    document: Document, task: Task, judge: Judge, rubric: Rubric, settings: DeerSettings
) -> RubricFindings:
    """All grades of one report, in the rubric's order."""
    guidance = task.guidance if settings.guidance != "none" else None
    calls = calls_for(rubric, settings, guidance is not None)
    finder = QuoteFinder(document.text)
    async with asyncio.TaskGroup() as group:  # a defect in one call stops the others
        asked = [
            group.create_task(_ask(call, document, task, judge, rubric, settings, finder)) for call in calls
        ]
    grades = {grade.path: grade for one in asked for grade in one.result()}
    order: Sequence[Path] = [path for path, _ in rubric.items()] if settings.mode == "items" else list(grades)
    return RubricFindings(
        mode=settings.mode,
        scale=settings.scale,
        guidance=guidance if any(call.guided for call in calls) else None,
        guided=tuple(dict.fromkeys(name for call in calls if call.guided for name in dimensions_of(call))),
        grades=tuple(grades[path] for path in order),
    )


async def _ask(
    call: Call,
    document: Document,
    task: Task,
    judge: Judge,
    rubric: Rubric,
    settings: DeerSettings,
    finder: QuoteFinder,
) -> list[Grade]:
    """The grades of a call's questions; a call that leaves too little room for its reply is halved."""
    questions = [question for group in call.groups for question in group.questions]

    def prompt_for(indices: Sequence[int]) -> Prompt:
        return prompt(document, task, rubric, call, settings, [questions[index] for index in indices])

    everything = range(len(questions))
    try:
        room = await judge.room(prompt_for(everything))
    except EngineError as error:
        failure = Failure(kind=cast("FailureKind", error.kind), detail=str(error))
        return [_failed(question, failure) for question in questions]
    if room < MIN_REPLY_TOKENS_PER_ITEM * len(questions):
        if len(call.groups) > 1:
            middle = len(call.groups) // 2
            halves = (call._replace(groups=call.groups[:middle]), call._replace(groups=call.groups[middle:]))
            parts = await asyncio.gather(
                *(_ask(half, document, task, judge, rubric, settings, finder) for half in halves)
            )
            return [grade for part in parts for grade in part]
        detail = f"the report leaves {room} tokens of the judge's context for {len(questions)} answers"
        return [_failed(question, Failure(kind="report_too_long", detail=detail)) for question in questions]
    answers = await judge.ask_items(
        prompt_for,
        [answer_type(question, call.guided, settings) for question in questions],
        len(questions),
        names=[question.name for question in questions],
        max_tokens=REPLY_TOKENS_PER_ITEM * len(questions),
    )
    return [
        _failed(question, answer)
        if isinstance(answer, Failure)
        else _grade(question, answer, settings, finder)
        for question, answer in zip(questions, answers, strict=True)
    ]


def _failed(question: Question, failure: Failure) -> Grade:
    return Grade(path=question.path, text=question.text, status="failed", failure=failure)


def _grade(question: Question, told: Told[Answer], settings: DeerSettings, finder: QuoteFinder) -> Grade:
    answer = told.value
    quote = find_labelled(finder, answer.quote)
    judged = None if answer.score == "N/A" else int(answer.score)
    score = judged
    if judged is not None and isinstance(answer, GuidedAnswer) and answer.unmet:
        score = min(judged, settings.cap)
    return Grade(
        path=question.path,
        text=question.text,
        status="not_applicable" if judged is None else "scored",
        score=score,
        judged=judged,
        rationale=answer.rationale,
        quote=quote,
        quote_rejected=answer.quote if answer.quote.strip() and quote is None else None,
        replies=told.replies,
    )
