"""How plans are drafted: how much is wanted, what is asked of a judge, and what it must answer.

Invariants: settings by which nothing would be planned are refused; requests and pages stand inside fences; the page or
the request that questions share opens their prompts; a reply holds no more than was asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Annotated, Literal

from pydantic import Field, model_validator

from local_judge.agents.observations import PagePassage
from local_judge.agents.result import AgentLimits
from local_judge.agents.toolbox import ToolSettings
from local_judge.judge.layout import Prompt, fence, fill
from local_judge.tasks.drafting import Reply, language_of, one_line, request_block, shared_prompt, template
from local_judge.tasks.model import Task
from local_judge.tasks.plans import KeyRow, PlanMethod
from serving.types import Frozen

PER_PAGE = 3
"""Items that are asked for where one page is shown by itself."""
PAGE_CHARACTERS = 6000
"""Of what the agent was shown of that page; what is more is left out."""
ENOUGH = 5
"""Items with which no page is put to the judge by itself."""
REPLY_TOKENS_PER_ITEM = 220

TOOLS = ToolSettings(tools=("search", "search_papers", "search_code", "open", "find"))


def reply_tokens(items: int) -> int:
    """Tokens of an agent's reply that so many items, a thought and the JSON around them take at most, about."""
    return 800 + REPLY_TOKENS_PER_ITEM * items


class PlanSettings(Frozen):
    """How plans are drafted."""

    method: PlanMethod = "agent"
    items: int = Field(default=15, ge=0, le=30)
    """The most items of key information; 0 for none."""
    questions: int = Field(default=4, ge=0, le=10)
    """The most reasoning questions; 0 for none."""
    pages: int = Field(default=8, ge=0, le=40)
    """With an agent, the most pages that are put to the judge one by one, while fewer than `least` items stand; 0 for
    none."""
    limits: AgentLimits = AgentLimits(turns=16, reply_tokens=4096)
    """Of the agent. All its items stand in one reply: see `reply_tokens`."""
    tools: ToolSettings = TOOLS

    @model_validator(mode="after")
    def _something(self) -> PlanSettings:
        if not (self.items or self.questions):
            raise ValueError("a plan without items and without questions plans nothing")
        return self

    @property
    def least(self) -> int:
        """The items with which no page is put to the judge by itself."""
        return min(ENOUGH, self.items)


class GivenItem(Reply):
    """An item as the agent gives it. Page and quotation come first: evidence before what follows from it."""

    url: Annotated[str, Field(min_length=1, max_length=500)]
    quote: Annotated[str, Field(max_length=300)]
    question: Annotated[str, Field(min_length=8, max_length=300)]


class Gathered(Reply):
    """What the agent answers, of whatever length."""

    items: Sequence[GivenItem]


class AskedItem(Reply):
    """An item as the judge gives it without a page."""

    question: Annotated[str, Field(min_length=8, max_length=300)]


class AskedItems(Reply):
    """What the judge answers to the request alone, of whatever length."""

    items: Sequence[AskedItem]


class PageItem(Reply):
    """An item as the judge gives it of the page that it is shown."""

    quote: Annotated[str, Field(max_length=300)]
    question: Annotated[str, Field(min_length=8, max_length=300)]


class PageItems(Reply):
    """What the judge answers on one page, of whatever length."""

    items: Sequence[PageItem]


_Step = Annotated[str, Field(min_length=8, max_length=250)]


class GivenQuestion(Reply):
    """A reasoning question with its plan as the judge gives it."""

    question: Annotated[str, Field(min_length=8, max_length=300)]
    extract: _Step
    verify: _Step
    compare: _Step


class GivenQuestions(Reply):
    """What the judge answers, of whatever number."""

    questions: Sequence[GivenQuestion]


class GivenRating(Reply):
    """What the judge thinks of one item of a plan."""

    reason: Annotated[str, Field(max_length=300)]
    rating: Literal[1, 2, 3]


def agent_task(settings: PlanSettings) -> str:
    """The agent's instructions, the same for all tasks."""
    values = {"number": _number(settings.items, "item"), "today": _today(settings)}
    return fill(template("plan_key_information"), values)


def request_prompt(task: Task, settings: PlanSettings) -> Prompt:
    """The prompt that asks for key information by the request alone."""
    return shared_prompt("plan", request_block(task), fill(template("plan_request"), _values(task, settings)))


def passages_prompt(task: Task, shown: Sequence[PagePassage], settings: PlanSettings) -> Prompt:
    """The prompt that asks for key information behind the passages that a search has found."""
    exhibits = [
        fence(one.text, f"Passage {number}, {one.url}, {one.published or 'no date'}:")
        for number, one in enumerate(shown, 1)
    ]
    shared = "\n\n".join([request_block(task), *exhibits])
    return shared_prompt("plan", shared, fill(template("plan_passages"), _values(task, settings)))


def rating_prompt(task: Task, pages: Sequence[str], day: date, items: Sequence[tuple[str, str]]) -> Prompt:
    """The prompt that asks for ratings of a plan's items, which are `(id, text)`, behind the request and pages."""
    exhibits = [fence(page, f"Page {number}:") for number, page in enumerate(pages, 1)]
    shared = "\n\n".join([request_block(task), *exhibits])
    listed = "\n".join(f"[{name}] {one_line(text)}" for name, text in items)
    values = {"day": day.isoformat(), "ids": "all items, each exactly once, in the order of the list"}
    exhibit = fence(listed, "Items, each with its id in brackets:")
    return shared_prompt("plan", shared, exhibit, fill(template("plan_rating"), values))


def _values(task: Task, settings: PlanSettings) -> dict[str, str]:
    return {
        "number": _number(settings.items, "item"),
        "today": _today(settings),
        "language": language_of(task),
    }


def _today(settings: PlanSettings) -> str:
    day = settings.tools.as_of
    return f" Today is {day.isoformat()}; nothing later is known." if day else ""


def page_prompt(task: Task, page: Sequence[PagePassage]) -> Prompt:
    """The prompt that asks for items of one page, which it opens with."""
    first = page[0]
    head = [f"address: {first.url}", f"title: {one_line(first.title)[:200]}"]
    head += [f"published: {first.published}"] if first.published else []
    text = "\n\n".join(shown.text for shown in page)[:PAGE_CHARACTERS]
    shared = fence("\n".join([*head, "", text]), "Page:")
    values = {"number": _number(PER_PAGE, "fact"), "language": language_of(task)}
    return shared_prompt("plan-page", shared, request_block(task), fill(template("plan_page"), values))


def reasoning_prompt(task: Task, standing: Sequence[KeyRow], most: int) -> Prompt:
    """The prompt that asks for reasoning questions, behind the request and the quotations that were found."""
    quoted = [one.source for one in standing if one.source is not None]
    lines = [f"{one.published or 'no date'}, {one.url}: {one_line(one.quote)}" for one in quoted]
    exhibit = [fence("\n".join(lines), "What pages say about it:")] if lines else []
    values = {"number": _number(most, "question"), "language": language_of(task)}
    return shared_prompt("plan", request_block(task), *exhibit, fill(template("plan_reasoning"), values))


def _number(most: int, what: str) -> str:
    return f"one {what}" if most == 1 else f"up to {most} {what}s"
