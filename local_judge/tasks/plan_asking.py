"""Settings, prompts and replies of drafting plans.

Invariants: settings for an empty plan are refused; requests and pages are inside fences; prompts open with the page or
request that they share; a reply contains no more items than were asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Annotated, Literal, get_args

from pydantic import Field, model_validator

from local_judge.agents.observations import PagePassage
from local_judge.agents.result import AgentLimits
from local_judge.agents.toolbox import ToolSettings
from local_judge.base.model import Frozen
from local_judge.prompts import Prompt, fence, fill, shared_prompt
from local_judge.tasks.drafting import Reply, language_of, one_line, request_block, template
from local_judge.tasks.model import Task
from local_judge.tasks.plans import KeyRow, PlanMethod

PER_PAGE = 3
"""Number of items in a question about one page."""
PAGE_CHARACTERS = 6000
"""Maximum number of characters of that page."""
ENOUGH = 5
"""Number of items from which single pages are not asked about."""
REPLY_TOKENS_PER_ITEM = 220

TOOLS = ToolSettings(tools=("search", "search_papers", "search_code", "open", "find"))


def reply_tokens(items: int) -> int:
    """Return the approximate maximum of tokens of an agent's reply with this number of items."""
    return 800 + REPLY_TOKENS_PER_ITEM * items


class PlanSettings(Frozen):
    """Settings of drafting plans."""

    method: PlanMethod = "agent"
    items: int = Field(default=15, ge=0, le=30)
    """Maximum number of items of key information; 0 for none."""
    questions: int = Field(default=4, ge=0, le=10)
    """Maximum number of reasoning questions; 0 for none."""
    pages: int = Field(default=8, ge=0, le=40)
    """Maximum number of an agent's pages put to the judge one by one while there are fewer than `least` items."""
    limits: AgentLimits = AgentLimits(turns=16, reply_tokens=4096)
    """Limits of the agent, whose items are all in one reply: see `reply_tokens`."""
    tools: ToolSettings = TOOLS

    @model_validator(mode="after")
    def _something(self) -> PlanSettings:
        if not (self.items or self.questions):
            raise ValueError("a plan without items and without questions plans nothing")
        return self

    @property
    def least(self) -> int:
        """Number of items from which single pages are not asked about."""
        return min(ENOUGH, self.items)


class GivenItem(Reply):
    """Item in an agent's reply. Page and quotation come first, so that the question follows from them."""

    url: Annotated[str, Field(min_length=1, max_length=500)]
    quote: Annotated[str, Field(max_length=300)]
    question: Annotated[str, Field(min_length=8, max_length=300)]


class Gathered(Reply):
    """Reply of the agent, of any length."""

    items: Sequence[GivenItem]


class AskedItem(Reply):
    """Item in a reply without a page."""

    question: Annotated[str, Field(min_length=8, max_length=300)]


class AskedItems(Reply):
    """Reply to the request alone, of any length."""

    items: Sequence[AskedItem]


class PageItem(Reply):
    """Item in a reply about one page."""

    quote: Annotated[str, Field(max_length=300)]
    question: Annotated[str, Field(min_length=8, max_length=300)]


class PageItems(Reply):
    """Reply about one page, of any length."""

    items: Sequence[PageItem]


_Step = Annotated[str, Field(min_length=8, max_length=250)]


class GivenQuestion(Reply):
    """Reasoning question with its plan, in a reply."""

    question: Annotated[str, Field(min_length=8, max_length=300)]
    extract: _Step
    verify: _Step
    compare: _Step


class GivenQuestions(Reply):
    """Reply with reasoning questions, of any length."""

    questions: Sequence[GivenQuestion]


Axis = Literal["relevance", "verifiability", "clarity", "validation"]
"""Aspect in which an item of a plan is rated (DREAM, Table 8); validation of reasoning questions only."""
AXES: tuple[Axis, ...] = get_args(Axis)
Grade = Literal[1, 2, 3]
Rubric = Mapping[Axis, str]
"""Meaning of each aspect."""


class KeyRating(Reply):
    """Rating of one item of key information."""

    reason: Annotated[str, Field(max_length=300)]
    relevance: Grade
    verifiability: Grade
    clarity: Grade


class ReasoningRating(KeyRating):
    """Rating of one reasoning question with its plan."""

    validation: Grade


def plan_rubric() -> Rubric:
    """Return the rubric of this package, in its own words."""
    rows = (line.partition(": ") for line in template("plan_rubric").splitlines())
    return {axis: text for name, _, text in rows for axis in AXES if axis == name}


def agent_task(settings: PlanSettings) -> str:
    """Return the agent's instructions, which are the same for all tasks."""
    values = {"number": _number(settings.items, "item"), "today": _today(settings)}
    return fill(template("plan_key_information"), values)


def request_prompt(task: Task, settings: PlanSettings) -> Prompt:
    """Return the prompt that asks for key information by the request alone."""
    return shared_prompt("plan", request_block(task), fill(template("plan_request"), _values(task, settings)))


def passages_prompt(task: Task, shown: Sequence[PagePassage], settings: PlanSettings) -> Prompt:
    """Return the prompt that asks for key information behind the passages that a search has found."""
    exhibits = [
        fence(one.text, f"Passage {number}, {one.url}, {one.published or 'no date'}:")
        for number, one in enumerate(shown, 1)
    ]
    shared = "\n\n".join([request_block(task), *exhibits])
    return shared_prompt("plan", shared, fill(template("plan_passages"), _values(task, settings)))


def rating_prompt(
    task: Task, pages: Sequence[str], day: date, items: Sequence[tuple[str, str]], rubric: Rubric
) -> Prompt:
    """Return the prompt that asks for ratings of a plan's items `(id, text)`, after the request and pages."""
    exhibits = [fence(page, f"Page {number}:") for number, page in enumerate(pages, 1)]
    shared = "\n\n".join([request_block(task), *exhibits])
    listed = "\n".join(f"[{name}] {one_line(text)}" for name, text in items)
    values = {
        "day": day.isoformat(),
        "rubric": "\n".join(f"{axis}: {one_line(rubric[axis])}" for axis in AXES),
        "ids": "all items, each exactly once, in the order of the list",
    }
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
    """Return the prompt that asks for items of one page, which it opens with."""
    first = page[0]
    head = [f"address: {first.url}", f"title: {one_line(first.title)[:200]}"]
    head += [f"published: {first.published}"] if first.published else []
    text = "\n\n".join(shown.text for shown in page)[:PAGE_CHARACTERS]
    shared = fence("\n".join([*head, "", text]), "Page:")
    values = {"number": _number(PER_PAGE, "fact"), "language": language_of(task)}
    return shared_prompt("plan-page", shared, request_block(task), fill(template("plan_page"), values))


def reasoning_prompt(task: Task, standing: Sequence[KeyRow], most: int) -> Prompt:
    """Return the prompt that asks for reasoning questions, after the request and the quotations that were found."""
    quoted = [one.source for one in standing if one.source is not None]
    lines = [f"{one.published or 'no date'}, {one.url}: {one_line(one.quote)}" for one in quoted]
    exhibit = [fence("\n".join(lines), "What pages say about it:")] if lines else []
    values = {"number": _number(most, "question"), "language": language_of(task)}
    return shared_prompt("plan", request_block(task), *exhibit, fill(template("plan_reasoning"), values))


def _number(most: int, what: str) -> str:
    return f"one {what}" if most == 1 else f"up to {most} {what}s"
