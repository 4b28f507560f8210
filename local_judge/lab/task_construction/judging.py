"""Questions to a judge about each task: whether it needs research, its answer from memory, and how good that is.

Invariants: all three prompts open with the request, and with its persona if there is one, so that both are computed
once; the template of the assessment contains no value that a reply could copy; a reply without a value is a failure.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any

from pydantic import Field, create_model

from local_judge.base.failures import Failure
from local_judge.judge.judge import Judge
from local_judge.lab.task_construction.asking import laid_out, template
from local_judge.lab.task_construction.model import Assessment, Baseline, Candidate, Persona, Qualification
from local_judge.lab.task_construction.settings import BuildConfig, Quality, Share
from local_judge.prompts import Prompt, fence, fill, load_prompt
from local_judge.tasks.drafting import Reply
from local_judge.tasks.topics import NEED_TOKENS, NeedReply

CHARACTERS_PER_WORD = 8
TOKENS_PER_WORD = 2
ANSWER_TOKENS = 8192
"""Limit of an answer without a maximum of words, as published (`task_generation/config.py`)."""


class AnswerReply(Reply):
    """Answer without search."""

    answer: str


class AssessmentReply(Reply):
    """Assessment; the reason comes first, so that the values follow from it."""

    rationale: Annotated[str, Field(max_length=600)]
    overall_quality: Quality
    quality_score: Share
    requires_search: bool


async def qualify(candidate: Candidate, persona: Persona | None, judge: Judge) -> Qualification | Failure:
    """Return whether a task needs deep research, by the prompt of `tasks draft need`. Raises LedgerError."""
    answer = await judge.ask(qualify_prompt(candidate, persona), NeedReply, max_tokens=NEED_TOKENS)
    if isinstance(answer, Failure):
        return answer
    return Qualification(id=candidate.id, replies=answer.replies, **answer.value.model_dump())


async def answer_from_memory(
    candidate: Candidate, persona: Persona | None, config: BuildConfig, judge: Judge
) -> Baseline | Failure:
    """Return the answer without search. Raises LedgerError."""
    words = config.necessity.answer_words
    tokens = ANSWER_TOKENS if words is None else words * TOKENS_PER_WORD
    prompt = baseline_prompt(candidate, persona, config)
    answer = await judge.ask(prompt, _answer_type(words), max_tokens=tokens)
    if isinstance(answer, Failure):
        return answer
    return Baseline(id=candidate.id, answer=answer.value.answer, replies=answer.replies)


async def assess(
    candidate: Candidate, persona: Persona | None, baseline: Baseline, config: BuildConfig, judge: Judge
) -> Assessment | Failure:
    """Return how good the answer without search is. Raises LedgerError."""
    answer = await judge.ask(
        necessity_prompt(candidate, persona, baseline, config), AssessmentReply, max_tokens=NEED_TOKENS
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


def qualify_prompt(candidate: Candidate, persona: Persona | None) -> Prompt:
    """Return the prompt that asks whether a task needs deep research."""
    need = load_prompt("local_judge.tasks", "need")
    return _asked(candidate, persona, need if persona is None else f"{template('suits')}\n\n{need}")


def baseline_prompt(candidate: Candidate, persona: Persona | None, config: BuildConfig) -> Prompt:
    """Return the prompt that asks for an answer from memory."""
    words = config.necessity.answer_words
    length = "" if words is None else f" At most {words} words."
    values = {"date": config.today, "length": length}
    return _asked(candidate, persona, fill(template("baseline"), values))


def necessity_prompt(
    candidate: Candidate, persona: Persona | None, baseline: Baseline, config: BuildConfig
) -> Prompt:
    """Return the prompt that asks how good that answer is."""
    values = {"answer": fence(baseline.answer, "Answer without search:"), "date": config.today}
    return _asked(candidate, persona, fill(template("necessity"), values))


def _asked(candidate: Candidate, persona: Persona | None, own: str) -> Prompt:
    """Return a prompt about a request and its persona."""
    request = fence(candidate.prompt, "Request:")
    if persona is None:
        return laid_out(request, own)
    shared = [request, fence(persona.says, "Person who makes it:")]
    if candidate.challenges:
        shared.append(fence(candidate.challenges, "What is said to make it hard:"))
    return laid_out("\n\n".join([*shared, template("person")]), own)


@cache
def _answer_type(words: int | None) -> type[AnswerReply]:
    most = None if words is None else words * CHARACTERS_PER_WORD
    text: Any = Annotated[str, Field(min_length=1, max_length=most)]
    return create_model("AnswerReply", __base__=AnswerReply, answer=(text, ...))
