"""A plan for a task that has none, drafted from the task alone (DREAM, section 3: protocol creation).

An agent gathers key information from a snapshot, and what it gives is checked. Where too little stands, which is what
small judges come to, the pages that it was shown are put to the judge one by one. Then one question asks for the
reasoning questions with their plans.

Invariants: each item of key information rests on a page that the agent was shown and on words that code found in it; an
item that does not is left out and kept as such; no two items say the same; no page is used that was not known by the
day set; the same task, snapshot and judge give the same draft, and no reply that the ledger holds is asked for again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import cache
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, create_model, model_validator

from indexes.snapshot import Snapshot
from indexes.text.language import detect_language
from local_judge.agents.citations import CheckedCitation, Citation, check_citations
from local_judge.agents.limits import AgentLimits
from local_judge.agents.loop import run_agent
from local_judge.agents.observations import Shown
from local_judge.agents.result import AgentResult, no_answer
from local_judge.agents.toolbox import Toolbox, ToolSettings
from local_judge.judge.failures import Failure, FailureKind
from local_judge.judge.judge import Judge
from local_judge.judge.layout import Prompt, fence, fill
from local_judge.tasks.alike import firsts
from local_judge.tasks.drafting import UNREADABLE, Drafts
from local_judge.tasks.languages import language_name
from local_judge.tasks.model import KeySource, Task
from local_judge.tasks.plans import AgentEnd, KeyRow, LeftOut, PlanRow, ReasoningRow, WhyOut
from local_judge.tasks.prompts import template
from serving.types import EngineIdentity, Frozen

ENOUGH = 5
"""Items with which no page is put to the judge by itself."""
PER_PAGE = 3
"""Items that are asked for where one page is shown by itself."""
PAGE_CHARACTERS = 6000
"""Of what the agent was shown of that page; what is more is left out."""
REPLY_TOKENS_PER_ITEM = 220
REPLY_TOKENS_PER_QUESTION = 320

TOOLS = ToolSettings(tools=("search", "search_papers", "search_code", "open", "find"))


def reply_tokens(items: int) -> int:
    """Tokens of an agent's reply that so many items, a thought and the JSON around them take at most, about."""
    return 800 + REPLY_TOKENS_PER_ITEM * items


class PlanSettings(Frozen):
    """How plans are drafted."""

    items: int = Field(default=15, ge=0, le=30)
    """The most items of key information; 0 for none."""
    questions: int = Field(default=4, ge=0, le=10)
    """The most reasoning questions; 0 for none."""
    pages: int = Field(default=8, ge=0, le=40)
    """The most pages that are put to the judge one by one, while fewer than `least` items stand; 0 for none."""
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


_DEFAULTS = PlanSettings()


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


Run = AgentResult[Gathered]

_PASSED_OVER: tuple[FailureKind, ...] = (*UNREADABLE, "prompt_too_long")
"""Failures of one question, after which a page may still be asked about."""


class PlanDraft(NamedTuple):
    """A plan as a judge has drafted it."""

    key_information: tuple[KeyRow, ...]
    reasoning: tuple[ReasoningRow, ...]
    left_out: tuple[LeftOut, ...]
    run: Run | None
    """Of the agent; None where no key information was wanted."""
    n_pages: int
    """Pages that were put to the judge one by one."""
    replies: tuple[str, ...]
    """Ledger keys."""


class _KeyInformation:
    """What stands so far, and what was left out."""

    def __init__(self, toolbox: Toolbox, settings: PlanSettings) -> None:
        self._toolbox, self._settings = toolbox, settings
        self.standing: list[KeyRow] = []
        self.left_out: list[LeftOut] = []
        self.replies: list[str] = []
        self.run: Run | None = None
        self.n_pages = 0

    @property
    def few(self) -> bool:
        return len(self.standing) < self._settings.least

    def take(self, run: Run, citations: Sequence[Citation], questions: Sequence[str]) -> None:
        checked = check_citations(citations, run.transcript, self._toolbox.snapshot)
        for found, asked in zip(checked, questions, strict=True):
            question = " ".join(asked.split())
            why = self._why_out(found, question)
            if why is None:
                self.standing.append(KeyRow(question=question, source=self._source(found)))
                continue
            item = LeftOut(question=question, url=found.url, quote=found.quote, why=why)
            if item not in self.left_out:
                self.left_out.append(item)

    def _why_out(self, found: CheckedCitation, question: str) -> WhyOut | None:
        if found.status != "found":
            return found.status
        if firsts([*(row.question for row in self.standing), question])[-1] < len(self.standing):
            return "double"
        return "surplus" if len(self.standing) >= self._settings.items else None

    def _source(self, found: CheckedCitation) -> KeySource:
        page = self._toolbox.snapshot.page(found.url, as_of=self._toolbox.settings.as_of)
        return KeySource(
            url=found.url,
            quote=found.quote,
            published=page.published,
            text_digest=found.text_digest,
            start=found.start,
            end=found.end,
            in_title=found.in_title,
        )

    def none_stands(self, run: Run) -> Failure:
        whys = [one.why for one in self.left_out]
        counts = ", ".join(f"{whys.count(why)} {why}" for why in dict.fromkeys(whys)) or "none was given"
        detail = f"no item of key information stands ({counts}); the agent ended {run.outcome}"
        return Failure(kind="incomplete", detail=f"{detail}, {self.n_pages} pages were asked about")


Keep = Callable[[Task, AgentResult[Any]], None]
"""Told of the agent's run on a task as soon as it has ended, whatever came of it."""


def _nothing(task: Task, run: AgentResult[Any]) -> None:
    """Keeps nothing."""


async def draft_plan(
    task: Task, toolbox: Toolbox, judge: Judge, settings: PlanSettings = _DEFAULTS, keep: Keep = _nothing
) -> PlanDraft | Failure:
    """The plan for reports on `task`, drafted by `judge`; a failure if no item of key information stands.

    Args:
        task: its own plan is not looked at.
        toolbox: over the snapshot, with `settings.tools`.
        judge: the agent, and who writes the reasoning questions.
        settings: how much is wanted, and how long the agent may work for it.
        keep: told of the agent's run.

    Raises:
        LedgerError: a reply could not be stored.
        IndexesError: the snapshot is damaged, or lacks an index.
    """
    found = _KeyInformation(toolbox, settings)
    failure = await _gather(found, task, toolbox, judge, settings, keep) if settings.items else None
    if failure is not None:
        return failure
    questions: list[ReasoningRow] = []
    if settings.questions:
        answer = await judge.ask(
            reasoning_prompt(task, found.standing, settings.questions),
            _questions_type(settings.questions),
            max_tokens=settings.questions * REPLY_TOKENS_PER_QUESTION,
        )
        if isinstance(answer, Failure):
            return answer
        questions = _different(answer.value.questions)
        found.replies += answer.replies
    return PlanDraft(
        key_information=tuple(found.standing),
        reasoning=tuple(questions),
        left_out=tuple(found.left_out),
        run=found.run,
        n_pages=found.n_pages,
        replies=tuple(found.replies),
    )


async def _gather(
    found: _KeyInformation, task: Task, toolbox: Toolbox, judge: Judge, settings: PlanSettings, keep: Keep
) -> Failure | None:
    """Let the agent work and, where too little stands, put its pages to the judge; the failure if nothing stands."""
    run = await run_agent(
        judge,
        toolbox,
        agent_task(settings),
        _items_type(settings.items),
        material=fence(task.prompt, "Request:"),
        limits=settings.limits,
    )
    found.run = run
    found.replies += [key for step in run.transcript.steps for key in step.replies]
    keep(task, run)
    failure = None
    if run.answer is None:
        failure = no_answer(run)
        if run.outcome == "failed" and failure.kind not in _PASSED_OVER:
            return failure
    else:
        items = run.answer.items
        citations = [Citation(url=one.url, quote=one.quote) for one in items]
        found.take(run, citations, [one.question for one in items])
    for page in shown_pages(run)[: settings.pages]:
        if not found.few:
            break
        answer = await judge.ask(
            page_prompt(task, page), _page_type(), max_tokens=PER_PAGE * REPLY_TOKENS_PER_ITEM
        )
        found.n_pages += 1
        if isinstance(answer, Failure):
            if answer.kind in _PASSED_OVER:
                continue
            return answer
        found.replies += answer.replies
        items = answer.value.items
        citations = [Citation(url=page[0].url, quote=one.quote) for one in items]
        found.take(run, citations, [one.question for one in items])
    return None if found.standing else failure or found.none_stands(run)


def shown_pages(run: AgentResult[Any]) -> list[list[Shown]]:
    """What an agent was shown of each page, in the page's order; pages in the order in which it came upon them."""
    pages: dict[str, dict[tuple[int, int], Shown]] = {}
    for observation in run.transcript.observations:
        for shown in observation.shown:
            pages.setdefault(shown.url, {})[shown.start, shown.end] = shown
    return [[parts[place] for place in sorted(parts)] for parts in pages.values()]


def agent_task(settings: PlanSettings) -> str:
    """What the agent is told, the same for all tasks."""
    day = settings.tools.as_of
    today = f" Today is {day.isoformat()}; nothing later is known." if day else ""
    values = {"number": _number(settings.items, "item"), "today": today}
    return fill(template("plan_key_information"), values)


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
    return Prompt(
        shared=shared,
        own="\n\n".join([*exhibit, fill(template("plan_reasoning"), values)]),
        prefix_key=f"plan:{hashlib.sha256(shared.encode()).hexdigest()[:16]}",
    )


def _number(most: int, what: str) -> str:
    return f"one {what}" if most == 1 else f"up to {most} {what}s"


def _different(given: Sequence[GivenQuestion]) -> list[ReasoningRow]:
    same = firsts(one.question for one in given)
    kept = [one for position, one in enumerate(given) if same[position] == position]
    return [
        ReasoningRow(**{name: " ".join(text.split()) for name, text in one.model_dump().items()})
        for one in kept
    ]


@cache
def _items_type(most: int) -> type[Gathered]:
    items: Any = Annotated[list[GivenItem], Field(max_length=most)]
    return create_model("Gathered", __base__=Gathered, items=(items, ...))


@cache
def _page_type() -> type[PageItems]:
    items: Any = Annotated[list[PageItem], Field(max_length=PER_PAGE)]
    return create_model("PageItems", __base__=PageItems, items=(items, ...))


@cache
def _questions_type(most: int) -> type[GivenQuestions]:
    questions: Any = Annotated[list[GivenQuestion], Field(min_length=1, max_length=most)]
    return create_model("GivenQuestions", __base__=GivenQuestions, questions=(questions, ...))


def plan_drafts(
    snapshot: Snapshot, settings: PlanSettings = _DEFAULTS, keep: Keep = _nothing
) -> Drafts[PlanRow]:
    """Plans for tasks that have none. Raises IndexesError."""
    toolbox = Toolbox(snapshot, settings.tools)

    async def write(task: Task, judge: Judge, identity: EngineIdentity) -> PlanRow | Failure:
        draft = await draft_plan(task, toolbox, judge, settings, keep)
        return draft if isinstance(draft, Failure) else drafted_row(task, draft, identity, toolbox)

    return Drafts(write, has=lambda task: task.plan is not None)


def drafted_row(task: Task, draft: PlanDraft, identity: EngineIdentity, toolbox: Toolbox) -> PlanRow:
    """The line of a file of plans for a draft."""
    return PlanRow(
        task_id=task.id,
        key_information=draft.key_information,
        reasoning=draft.reasoning,
        status="drafted",
        task=task.prompt,
        language=detect_language(task.prompt),
        judge=identity,
        replies=draft.replies,
        snapshot=toolbox.snapshot.digest,
        as_of=toolbox.settings.as_of,
        agent=None if draft.run is None else AgentEnd.of(draft.run),
        n_pages=draft.n_pages,
        left_out=draft.left_out,
    )
