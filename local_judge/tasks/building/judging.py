"""What a judge is asked about each task: whether it needs research, an answer from memory, and how good that is.

Invariants: all three questions open with the request, so that it is read once; the template of the assessment holds no
value that a reply could copy; a reply that lacks a value is a failure.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any

from pydantic import Field, create_model

from local_judge.judge.failures import Failure
from local_judge.judge.judge import Judge
from local_judge.judge.layout import Prompt, fence, fill
from local_judge.tasks.building.gather import Reply
from local_judge.tasks.building.model import Assessment, Baseline, Candidate, Qualification
from local_judge.tasks.building.prompts import template
from local_judge.tasks.building.settings import BuildConfig, Quality, Share
from local_judge.tasks.model import Task
from local_judge.tasks.need import REPLY_TOKENS, NeedReply, need_prompt
from local_judge.tasks.topics import request_prompt

CHARACTERS_PER_WORD = 8
TOKENS_PER_WORD = 2


class AnswerReply(Reply):
    """What the judge knows."""

    answer: str


class AssessmentReply(Reply):
    """The reason comes first, so that the values follow from it."""

    rationale: Annotated[str, Field(max_length=600)]
    overall_quality: Quality
    quality_score: Share
    requires_search: bool


async def qualify(candidate: Candidate, judge: Judge) -> Qualification | Failure:
    """Whether a task needs deep research; the question of `tasks filter`. Raises LedgerError."""
    answer = await judge.ask(need_prompt(_task(candidate)), NeedReply, max_tokens=REPLY_TOKENS)
    if isinstance(answer, Failure):
        return answer
    return Qualification(
        id=candidate.id,
        needs_deep_research=answer.value.needs_deep_research,
        confidence=answer.value.confidence,
        rationale=answer.value.rationale,
        replies=answer.replies,
    )


async def answer_from_memory(candidate: Candidate, config: BuildConfig, judge: Judge) -> Baseline | Failure:
    """The answer without search. Raises LedgerError."""
    words = config.necessity.answer_words
    answer = await judge.ask(
        baseline_prompt(candidate, config), _answer_type(words), max_tokens=words * TOKENS_PER_WORD
    )
    if isinstance(answer, Failure):
        return answer
    return Baseline(id=candidate.id, answer=answer.value.answer, replies=answer.replies)


async def assess(
    candidate: Candidate, baseline: Baseline, config: BuildConfig, judge: Judge
) -> Assessment | Failure:
    """How good the answer without search is. Raises LedgerError."""
    answer = await judge.ask(
        necessity_prompt(candidate, baseline, config), AssessmentReply, max_tokens=REPLY_TOKENS
    )
    if isinstance(answer, Failure):
        return answer
    return Assessment(
        id=candidate.id,
        quality=answer.value.overall_quality,
        score=answer.value.quality_score,
        requires_search=answer.value.requires_search,
        rationale=answer.value.rationale,
        replies=answer.replies,
    )


def baseline_prompt(candidate: Candidate, config: BuildConfig) -> Prompt:
    """The prompt that asks for an answer from memory."""
    values = {"date": config.today, "words": str(config.necessity.answer_words)}
    return request_prompt(_task(candidate), fill(template("baseline"), values))


def necessity_prompt(candidate: Candidate, baseline: Baseline, config: BuildConfig) -> Prompt:
    """The prompt that asks how good that answer is."""
    values = {"answer": fence(baseline.answer, "Answer without search:"), "date": config.today}
    return request_prompt(_task(candidate), fill(template("necessity"), values))


def _task(candidate: Candidate) -> Task:
    return Task(id=candidate.id, prompt=candidate.prompt)


@cache
def _answer_type(words: int) -> type[AnswerReply]:
    text: Any = Annotated[str, Field(min_length=1, max_length=words * CHARACTERS_PER_WORD)]
    return create_model("AnswerReply", __base__=AnswerReply, answer=(text, ...))
