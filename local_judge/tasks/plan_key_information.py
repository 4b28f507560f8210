"""The key information of a plan, which an agent gathers from a snapshot and code checks.

Where too little stands, which is what small judges come to, the pages that the agent was shown are put to the judge one
by one. To be compared with, there are two ways without an agent: behind the passages of one search, and by the request
alone.

Invariants: each item, but for those by the request alone, rests on a page that the judge was shown and on words that
code found in it; an item that does not is left out and kept as such; no two items say the same; no page is used that
was not known by the day set.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from local_judge.agents.actions import MOST_PASSAGES, Search
from local_judge.agents.citations import CheckedCitation, Citation, check_shown
from local_judge.agents.loop import run_agent
from local_judge.agents.observations import Observation, Shown
from local_judge.agents.result import AgentResult, no_answer
from local_judge.agents.toolbox import Toolbox
from local_judge.judge.failures import Failure, FailureKind
from local_judge.judge.judge import Judge
from local_judge.judge.layout import fence
from local_judge.tasks.alike import firsts
from local_judge.tasks.drafting import UNREADABLE
from local_judge.tasks.model import KeySource, Task
from local_judge.tasks.plan_asking import (
    PER_PAGE,
    Gathered,
    agent_task,
    asked_type,
    items_type,
    page_prompt,
    page_type,
    passages_prompt,
    request_prompt,
)
from local_judge.tasks.plan_settings import REPLY_TOKENS_PER_ITEM, PlanSettings, reply_tokens
from local_judge.tasks.plans import KeyRow, LeftOut, WhyOut

Run = AgentResult[Gathered]

QUERY_CHARACTERS = 300
"""Of a request that is searched for itself."""

_PASSED_OVER: tuple[FailureKind, ...] = (*UNREADABLE, "prompt_too_long")
"""Failures of one question, after which a page may still be asked about."""

Keep = Callable[[Task, AgentResult[Any]], None]
"""Told of the agent's run on a task as soon as it has ended, whatever came of it."""


class KeyInformation:
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
        """Whether more is to be looked for, page by page."""
        return len(self.standing) < self._settings.least

    def take(
        self, observations: Sequence[Observation], citations: Sequence[Citation], questions: Sequence[str]
    ) -> None:
        """Check items, each a citation with its question; those that stand, stand from now on."""
        checked = check_shown(citations, observations, self._toolbox.snapshot, self._toolbox.settings.as_of)
        for found, asked in zip(checked, questions, strict=True):
            question = " ".join(asked.split())
            why = found.status if found.status != "found" else self._surplus(question)
            if why is None:
                self.standing.append(KeyRow(question=question, source=self._source(found)))
                continue
            item = LeftOut(question=question, url=found.url, quote=found.quote, why=why)
            if item not in self.left_out:
                self.left_out.append(item)

    def take_bare(self, questions: Sequence[str]) -> None:
        """Take items that rest on no page."""
        for asked in questions:
            question = " ".join(asked.split())
            why = self._surplus(question)
            if why is None:
                self.standing.append(KeyRow(question=question))
            else:
                self.left_out.append(LeftOut(question=question, url="", quote="", why=why))

    def _surplus(self, question: str) -> WhyOut | None:
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

    def none_stands(self, how: str) -> Failure:
        """The failure where all that was given was left out."""
        whys = [one.why for one in self.left_out]
        counts = ", ".join(f"{whys.count(why)} {why}" for why in dict.fromkeys(whys)) or "none was given"
        return Failure(kind="incomplete", detail=f"no item of key information stands ({counts}){how}")


async def gather(
    found: KeyInformation, task: Task, toolbox: Toolbox, judge: Judge, settings: PlanSettings, keep: Keep
) -> Failure | None:
    """Gather key information by the method that is set; the failure if nothing stands."""
    match settings.method:
        case "request":
            return await _by_request(found, task, judge, settings)
        case "retrieval":
            return await _by_retrieval(found, task, toolbox, judge, settings)
        case "agent":
            return await _by_agent(found, task, toolbox, judge, settings, keep)


async def _by_request(
    found: KeyInformation, task: Task, judge: Judge, settings: PlanSettings
) -> Failure | None:
    answer = await judge.ask(
        request_prompt(task, settings), asked_type(settings.items), max_tokens=reply_tokens(settings.items)
    )
    if isinstance(answer, Failure):
        return answer
    found.replies += answer.replies
    found.take_bare([one.question for one in answer.value.items])
    return None if found.standing else found.none_stands("")


async def _by_retrieval(
    found: KeyInformation, task: Task, toolbox: Toolbox, judge: Judge, settings: PlanSettings
) -> Failure | None:
    """One search for the request itself, and one question behind what it finds."""
    query = " ".join(task.prompt.split())[:QUERY_CHARACTERS]
    seen = toolbox.run(Search(tool="search", queries=(query,), k=MOST_PASSAGES))
    answer = await judge.ask(
        passages_prompt(task, seen.shown, settings),
        items_type(settings.items),
        max_tokens=reply_tokens(settings.items),
    )
    if isinstance(answer, Failure):
        return answer
    found.replies += answer.replies
    items = answer.value.items
    citations = [Citation(url=one.url, quote=one.quote) for one in items]
    found.take([seen], citations, [one.question for one in items])
    return None if found.standing else found.none_stands(f"; {len(seen.shown)} passages were found")


async def _by_agent(
    found: KeyInformation, task: Task, toolbox: Toolbox, judge: Judge, settings: PlanSettings, keep: Keep
) -> Failure | None:
    """Let the agent work and, where too little stands, put its pages to the judge."""
    run = await run_agent(
        judge,
        toolbox,
        agent_task(settings),
        items_type(settings.items),
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
        found.take(run.transcript.observations, citations, [one.question for one in items])
    for page in shown_pages(run)[: settings.pages]:
        if not found.few:
            break
        answer = await judge.ask(
            page_prompt(task, page), page_type(), max_tokens=PER_PAGE * REPLY_TOKENS_PER_ITEM
        )
        found.n_pages += 1
        if isinstance(answer, Failure):
            if answer.kind in _PASSED_OVER:
                continue
            return answer
        found.replies += answer.replies
        items = answer.value.items
        citations = [Citation(url=page[0].url, quote=one.quote) for one in items]
        found.take(run.transcript.observations, citations, [one.question for one in items])
    how = f"; the agent ended {run.outcome}, {found.n_pages} pages were asked about"
    return None if found.standing else failure or found.none_stands(how)


def shown_pages(run: AgentResult[Any]) -> list[list[Shown]]:
    """What an agent was shown of each page, in the page's order; pages in the order in which it came upon them."""
    pages: dict[str, dict[tuple[int, int], Shown]] = {}
    for observation in run.transcript.observations:
        for shown in observation.shown:
            pages.setdefault(shown.url, {})[shown.start, shown.end] = shown
    return [[parts[place] for place in sorted(parts)] for parts in pages.values()]
