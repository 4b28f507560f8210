"""A user's question made into a task by asking back (the clarification of LiveResearchBench).

Invariants: what a person has answered is `given` and never replaced; what the judge assumes is `drafted` and says so;
no figure of the question is lost on the way.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from typing import Annotated, Any

from pydantic import Field, create_model

from indexes.text.language import detect_language
from local_judge.judge.failures import Failure
from local_judge.judge.judge import Judge
from local_judge.judge.layout import Prompt, fence, fill, load_prompt
from local_judge.lab.task_construction.gather import Reply, folded
from local_judge.lab.task_construction.giveaway import words
from local_judge.lab.task_construction.model import Candidate, Clarification, Missing, task_id
from local_judge.lab.task_construction.requesting import laid_out, request
from local_judge.lab.task_construction.settings import BuildConfig
from local_judge.lab.task_construction.sources import RawQuestion
from local_judge.tasks.languages import language_name

template = partial(load_prompt, "local_judge.lab.task_construction")

TOKENS_PER_QUESTION = 160


class AskedBack(Reply):
    """A question to the user, and the answer that is assumed."""

    question: Annotated[str, Field(min_length=6, max_length=300)]
    answer: Annotated[str, Field(min_length=1, max_length=300)]


class Clarifications(Reply):
    """What the judge answers, of whatever length."""

    clarifications: Sequence[AskedBack]


async def clarify(raw: RawQuestion, config: BuildConfig, judge: Judge) -> Candidate | Missing:
    """The task that a user means, with what it was taken to mean.

    A request that loses a figure of the question is asked for again; if that does not help, it is a failure.

    Raises:
        LedgerError: a reply could not be stored.
    """
    settled, before = raw.clarifications, ()
    if not settled:
        most = config.clarify.questions
        asked = await judge.ask(
            clarify_prompt(raw, config), _answer_type(most), max_tokens=most * TOKENS_PER_QUESTION
        )
        if isinstance(asked, Failure):
            return _missing(raw, asked)
        settled, before = _drafted(asked.value.clarifications), asked.replies
    written = await request(
        judge,
        lambda faulty: clarified_prompt(raw, settled, config, faulty),
        lambda text: _lost(raw.question, text),
    )
    if isinstance(written, Failure):
        return _missing(raw, written)
    if written.fault is not None:
        detail = f"reply {written.replies[-1][:12]}: {written.fault}"
        failure = Failure(kind="invalid_reply", detail=detail, attempts=len(written.replies))
        return _missing(raw, failure)
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
    """The prompt that asks for questions to the user."""
    values = {"most": str(config.clarify.questions), "language": _language(raw)}
    return laid_out(_shared(raw), fill(template("clarify"), values))


def clarified_prompt(
    raw: RawQuestion, settled: Sequence[Clarification], config: BuildConfig, faulty: str
) -> Prompt:
    """The prompt that asks for the request, by what is settled and what was wrong with the last one."""
    listed = "\n".join(f"{one.question}\n   {one.answer}" for one in settled)
    values = {
        "clarifications": fence(listed, "The user was asked back, and answered:"),
        "date": config.today,
        "faulty": faulty,
        "language": _language(raw),
    }
    return laid_out(_shared(raw), fill(template("clarified"), values))


def _shared(raw: RawQuestion) -> str:
    return fence(raw.question, "Question of a user:")


def _language(raw: RawQuestion) -> str:
    return language_name(detect_language(raw.question))


def _drafted(given: Sequence[AskedBack]) -> tuple[Clarification, ...]:
    """Without questions that say what an earlier one says."""
    different = {folded(one.question): one for one in reversed(given)}
    return tuple(
        Clarification(question=one.question.strip(), answer=one.answer.strip(), status="drafted")
        for one in reversed(different.values())
    )


def _lost(question: str, text: str) -> str | None:
    """Which figures of the question a request does not have."""
    there = set(words(text))
    lost = [word for word in dict.fromkeys(words(question)) if word[0].isdigit() and word not in there]
    return f"It lacks what the question says: {', '.join(lost)}." if lost else None


def _missing(raw: RawQuestion, failure: Failure) -> Missing:
    return Missing(stage="generate", about=raw.id, domain=raw.domain, failure=failure)


@cache
def _answer_type(most: int) -> type[Clarifications]:
    items: Any = Annotated[list[AskedBack], Field(min_length=1, max_length=most)]
    return create_model("Clarifications", __base__=Clarifications, clarifications=(items, ...))
