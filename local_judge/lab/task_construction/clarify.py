"""Tasks from users' questions, by clarifying questions (the clarification of LiveResearchBench).

Invariants: an answer of a person is `given` and never replaced; an answer that the judge assumes is marked `drafted`;
a request keeps every number of the question.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from indexes.text.language import detect_language
from local_judge.base.failures import Failure
from local_judge.judge.judge import Judge
from local_judge.lab.task_construction.asking import folded, laid_out, request, template
from local_judge.lab.task_construction.model import Candidate, Clarification, Missing, not_made, task_id
from local_judge.lab.task_construction.reformulate import words
from local_judge.lab.task_construction.settings import BuildConfig
from local_judge.lab.task_construction.sources import RawQuestion
from local_judge.prompts import Prompt, fence, fill
from local_judge.tasks.drafting import Reply, language_name, limited

TOKENS_PER_QUESTION = 160


class AskedBack(Reply):
    """A clarifying question, and its assumed answer."""

    question: Annotated[str, Field(min_length=6, max_length=300)]
    answer: Annotated[str, Field(min_length=1, max_length=300)]


class Clarifications(Reply):
    """Reply of the judge; the length of the list is set for each request."""

    clarifications: Sequence[AskedBack]


async def clarify(raw: RawQuestion, config: BuildConfig, judge: Judge) -> Candidate | Missing:
    """Return the task that a user means, with the clarifications.

    A request that loses a number of the question is asked for again; if that does not help, it is a failure.

    Raises:
        LedgerError: A reply could not be stored.
    """
    settled, before = raw.clarifications, ()
    if not settled:
        most = config.clarify.questions
        asked = await judge.ask(
            clarify_prompt(raw, config),
            limited(Clarifications, AskedBack, most, 1),
            max_tokens=most * TOKENS_PER_QUESTION,
        )
        if isinstance(asked, Failure):
            return not_made(asked, raw.id, raw.domain)
        settled, before = _drafted(asked.value.clarifications), asked.replies
    written = await request(
        judge,
        lambda faulty: clarified_prompt(raw, settled, config, faulty),
        lambda text: _lost(raw.question, text),
    )
    if isinstance(written, Failure):
        return not_made(written, raw.id, raw.domain)
    if written.fault is not None:
        detail = f"reply {written.replies[-1][:12]}: {written.fault}"
        failure = Failure(kind="invalid_reply", detail=detail, attempts=len(written.replies))
        return not_made(failure, raw.id, raw.domain)
    return Candidate(
        id=task_id(raw.id, written.request),
        prompt=written.request,
        domain=raw.domain,
        generator="clarify",
        source=raw.id,
        clarifications=settled,
        replies=(*before, *written.replies),
    )


def clarify_prompt(raw: RawQuestion, config: BuildConfig) -> Prompt:
    """Return the prompt that asks for clarifying questions."""
    return _prompt(raw, "clarify", most=str(config.clarify.questions))


def clarified_prompt(
    raw: RawQuestion, settled: Sequence[Clarification], config: BuildConfig, faulty: str
) -> Prompt:
    """Return the prompt that asks for the request, given the clarifications and the fault of the last request."""
    listed = "\n".join(f"{one.question}\n   {one.answer}" for one in settled)
    clarifications = fence(listed, "The user was asked back, and answered:")
    return _prompt(raw, "clarified", clarifications=clarifications, date=config.today, faulty=faulty)


def _prompt(raw: RawQuestion, name: str, **values: str) -> Prompt:
    language = language_name(detect_language(raw.question))
    own = fill(template(name), {**values, "language": language})
    return laid_out(fence(raw.question, "Question of a user:"), own)


def _drafted(given: Sequence[AskedBack]) -> tuple[Clarification, ...]:
    """Return the clarifications without repeated questions."""
    different = {folded(one.question): one for one in reversed(given)}
    return tuple(
        Clarification(question=one.question.strip(), answer=one.answer.strip(), status="drafted")
        for one in reversed(different.values())
    )


def _lost(question: str, text: str) -> str | None:
    """Return which numbers of the question are missing from a request."""
    there = set(words(text))
    lost = [word for word in dict.fromkeys(words(question)) if word[0].isdigit() and word not in there]
    return f"It lacks what the question says: {', '.join(lost)}." if lost else None
