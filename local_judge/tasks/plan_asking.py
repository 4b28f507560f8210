"""What is asked of a judge for a plan, and what it must answer.

Invariants: requests and pages stand inside fences; the page or the request that questions share opens their prompts; a
reply holds no more than was asked for.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import date
from functools import cache, partial
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from indexes.text.language import detect_language
from local_judge.agents.observations import Shown
from local_judge.judge.layout import Prompt, fence, fill, load_prompt
from local_judge.tasks.languages import language_name
from local_judge.tasks.model import Task
from local_judge.tasks.plan_settings import PlanSettings
from local_judge.tasks.plans import KeyRow

template = partial(load_prompt, "local_judge.tasks")

PER_PAGE = 3
"""Items that are asked for where one page is shown by itself."""
PAGE_CHARACTERS = 6000
"""Of what the agent was shown of that page; what is more is left out."""


class _Reply(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class GivenItem(_Reply):
    """An item as the agent gives it. Page and quotation come first: evidence before what follows from it."""

    url: Annotated[str, Field(min_length=1, max_length=500)]
    quote: Annotated[str, Field(max_length=300)]
    question: Annotated[str, Field(min_length=8, max_length=300)]


class Gathered(_Reply):
    """What the agent answers, of whatever length."""

    items: Sequence[GivenItem]


class AskedItem(_Reply):
    """An item as the judge gives it without a page."""

    question: Annotated[str, Field(min_length=8, max_length=300)]


class AskedItems(_Reply):
    """What the judge answers to the request alone, of whatever length."""

    items: Sequence[AskedItem]


class PageItem(_Reply):
    """An item as the judge gives it of the page that it is shown."""

    quote: Annotated[str, Field(max_length=300)]
    question: Annotated[str, Field(min_length=8, max_length=300)]


class PageItems(_Reply):
    """What the judge answers on one page, of whatever length."""

    items: Sequence[PageItem]


_Step = Annotated[str, Field(min_length=8, max_length=250)]


class GivenQuestion(_Reply):
    """A reasoning question with its plan as the judge gives it."""

    question: Annotated[str, Field(min_length=8, max_length=300)]
    extract: _Step
    verify: _Step
    compare: _Step


class GivenQuestions(_Reply):
    """What the judge answers, of whatever number."""

    questions: Sequence[GivenQuestion]


@cache
def items_type(most: int) -> type[Gathered]:
    """`Gathered` of so many items at most."""
    items: Any = Annotated[list[GivenItem], Field(max_length=most)]
    return create_model("Gathered", __base__=Gathered, items=(items, ...))


class GivenRating(_Reply):
    """What the judge thinks of one item of a plan."""

    reason: Annotated[str, Field(max_length=300)]
    rating: Literal[1, 2, 3]


@cache
def asked_type(most: int) -> type[AskedItems]:
    """`AskedItems` of so many items at most."""
    items: Any = Annotated[list[AskedItem], Field(max_length=most)]
    return create_model("AskedItems", __base__=AskedItems, items=(items, ...))


@cache
def page_type() -> type[PageItems]:
    """`PageItems` of `PER_PAGE` items at most."""
    items: Any = Annotated[list[PageItem], Field(max_length=PER_PAGE)]
    return create_model("PageItems", __base__=PageItems, items=(items, ...))


@cache
def questions_type(most: int) -> type[GivenQuestions]:
    """`GivenQuestions` of so many questions at most, and one at least."""
    questions: Any = Annotated[list[GivenQuestion], Field(min_length=1, max_length=most)]
    return create_model("GivenQuestions", __base__=GivenQuestions, questions=(questions, ...))


def agent_task(settings: PlanSettings) -> str:
    """What the agent is told, the same for all tasks."""
    values = {"number": _number(settings.items, "item"), "today": _today(settings)}
    return fill(template("plan_key_information"), values)


def request_prompt(task: Task, settings: PlanSettings) -> Prompt:
    """The prompt that asks for key information by the request alone."""
    return _prompt(fence(task.prompt, "Request:"), fill(template("plan_request"), _values(task, settings)))


def passages_prompt(task: Task, shown: Sequence[Shown], settings: PlanSettings) -> Prompt:
    """The prompt that asks for key information behind the passages that a search has found."""
    exhibits = [
        fence(one.text, f"Passage {number}, {one.url}, {one.published or 'no date'}:")
        for number, one in enumerate(shown, 1)
    ]
    shared = "\n\n".join([fence(task.prompt, "Request:"), *exhibits])
    return _prompt(shared, fill(template("plan_passages"), _values(task, settings)))


def rating_prompt(task: Task, pages: Sequence[str], day: date, items: Sequence[tuple[str, str]]) -> Prompt:
    """The prompt that asks for ratings of a plan's items, which are `(id, text)`, behind the request and pages."""
    exhibits = [fence(page, f"Page {number}:") for number, page in enumerate(pages, 1)]
    shared = "\n\n".join([fence(task.prompt, "Request:"), *exhibits])
    listed = "\n".join(f"[{name}] {' '.join(text.split())}" for name, text in items)
    values = {"day": day.isoformat(), "ids": "all items, each exactly once, in the order of the list"}
    own = (
        f"{fence(listed, 'Items, each with its id in brackets:')}\n\n{fill(template('plan_rating'), values)}"
    )
    return _prompt(shared, own)


def _prompt(shared: str, own: str) -> Prompt:
    key = hashlib.sha256(shared.encode()).hexdigest()[:16]
    return Prompt(shared=shared, own=own, prefix_key=f"plan:{key}")


def _values(task: Task, settings: PlanSettings) -> dict[str, str]:
    return {
        "number": _number(settings.items, "item"),
        "today": _today(settings),
        "language": language_name(detect_language(task.prompt)),
    }


def _today(settings: PlanSettings) -> str:
    day = settings.tools.as_of
    return f" Today is {day.isoformat()}; nothing later is known." if day else ""


def page_prompt(task: Task, page: Sequence[Shown]) -> Prompt:
    """The prompt that asks for items of one page, which it opens with."""
    first = page[0]
    head = [f"address: {first.url}", f"title: {' '.join(first.title.split())[:200]}"]
    head += [f"published: {first.published}"] if first.published else []
    text = "\n\n".join(shown.text for shown in page)[:PAGE_CHARACTERS]
    shared = fence("\n".join([*head, "", text]), "Page:")
    values = {
        "number": _number(PER_PAGE, "fact"),
        "language": language_name(detect_language(task.prompt)),
    }
    return Prompt(
        shared=shared,
        own=f"{fence(task.prompt, 'Request:')}\n\n{fill(template('plan_page'), values)}",
        prefix_key=f"plan-page:{hashlib.sha256(shared.encode()).hexdigest()[:16]}",
    )


def reasoning_prompt(task: Task, standing: Sequence[KeyRow], most: int) -> Prompt:
    """The prompt that asks for reasoning questions, behind the request and the quotations that were found."""
    shared = fence(task.prompt, "Request:")
    quoted = [one.source for one in standing if one.source is not None]
    lines = [f"{one.published or 'no date'}, {one.url}: {' '.join(one.quote.split())}" for one in quoted]
    exhibit = [fence("\n".join(lines), "What pages say about it:")] if lines else []
    values = {"number": _number(most, "question"), "language": language_name(detect_language(task.prompt))}
    return _prompt(shared, "\n\n".join([*exhibit, fill(template("plan_reasoning"), values)]))


def _number(most: int, what: str) -> str:
    return f"one {what}" if most == 1 else f"up to {most} {what}s"
