"""A question with one answer made into a report task with guidance (the tasks of DEER).

Invariants: the judge that writes the request is shown the question and not its answer, and the request does not have
the answer, as far as code can look, or the item is dropped; the judge that writes the guidance is shown both, and the
guidance is a draft until a person has accepted it.
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
from local_judge.lab.task_construction.gather import Reply
from local_judge.lab.task_construction.giveaway import look
from local_judge.lab.task_construction.model import Candidate, GivenAway, Missing, task_id
from local_judge.lab.task_construction.requesting import laid_out, request
from local_judge.lab.task_construction.settings import BuildConfig
from local_judge.lab.task_construction.sources import Item
from local_judge.tasks.alike import firsts
from local_judge.tasks.languages import language_name

template = partial(load_prompt, "local_judge.lab.task_construction")

TOKENS_PER_POINT = 120


class Points(Reply):
    """What the judge answers, of whatever length."""

    points: Sequence[str]


async def reformulate(item: Item, config: BuildConfig, judge: Judge) -> Candidate | GivenAway | Missing:
    """The report task of an item, with points of guidance.

    A request that gives the answer away is asked for again, with the words that do, up to the judge's `reasks`.

    Raises:
        LedgerError: a reply could not be stored.
    """
    written = await request(
        judge,
        lambda faulty: request_prompt(item, faulty),
        lambda text: _given_away(item, text),
    )
    if isinstance(written, Failure):
        return _missing(item, written)
    looked = look(written.request, item.question, item.answer)
    if looked.found == "given_away":
        return GivenAway(
            id=item.id,
            domain=_domain(item),
            request=written.request,
            words=looked.words,
            replies=written.replies,
        )
    limits = config.reformulate
    advised = await judge.ask(
        guidance_prompt(item, written.request, config),
        _answer_type(limits.least, limits.points),
        max_tokens=limits.points * TOKENS_PER_POINT,
    )
    if isinstance(advised, Failure):
        return _missing(item, advised)
    points = _different(advised.value.points)
    if len(points) < limits.least:
        detail = f"reply {advised.replies[-1][:12]}: {len(points)} different points, needs {limits.least}"
        return _missing(item, Failure(kind="incomplete", detail=detail))
    return Candidate(
        id=task_id(item.id, written.request),
        prompt=written.request,
        domain=_domain(item),
        generator="reformulate",
        source=item.id,
        guidance=points,
        answer_check=looked.found,
        replies=(*written.replies, *advised.replies),
    )


def request_prompt(item: Item, faulty: str) -> Prompt:
    """The prompt that asks for the report task, by what was wrong with the last one."""
    values = {"faulty": faulty, "language": _language(item)}
    return laid_out(fence(item.question, "Question:"), fill(template("reformulate"), values))


def guidance_prompt(item: Item, written: str, config: BuildConfig) -> Prompt:
    """The prompt that asks for points of guidance."""
    values = {
        "request": fence(written, "Request:"),
        "least": str(config.reformulate.least),
        "most": str(config.reformulate.points),
        "language": _language(item),
    }
    return laid_out(_answered(item), fill(template("guidance"), values))


def _answered(item: Item) -> str:
    parts = [fence(item.question, "Question:"), fence(item.answer, "Its answer:")]
    if item.rationale.strip():
        parts.append(fence(item.rationale.strip(), "Why it is right:"))
    return "\n\n".join(parts)


def _language(item: Item) -> str:
    return language_name(detect_language(item.question))


def _given_away(item: Item, text: str) -> str | None:
    looked = look(text, item.question, item.answer)
    return (
        f"It gives the answer away with these words: {looked.words}."
        if looked.found == "given_away"
        else None
    )


def _different(points: Sequence[str]) -> tuple[str, ...]:
    tidy = [line for line in (" ".join(point.split()) for point in points) if any(map(str.isalnum, line))]
    same = firsts(tidy)
    return tuple(line for position, line in enumerate(tidy) if same[position] == position)


def _missing(item: Item, failure: Failure) -> Missing:
    return Missing(stage="generate", about=item.id, domain=_domain(item), failure=failure)


def _domain(item: Item) -> str:
    return item.domain or item.category


@cache
def _answer_type(least: int, most: int) -> type[Points]:
    points: Any = Annotated[
        list[Annotated[str, Field(min_length=10, max_length=400)]], Field(min_length=least, max_length=most)
    ]
    return create_model("Points", __base__=Points, points=(points, ...))
