"""The key information of a plan, which an agent gathers from a snapshot and code checks.

Where too little stands, which is what small judges come to, the pages that the agent was shown are put to the judge one
by one.

Invariants: each item rests on a page that the agent was shown and on words that code found in it; an item that does not
is left out and kept as such; no two items say the same; no page is used that was not known by the day set.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from local_judge.agents.citations import CheckedCitation, Citation, check_citations
from local_judge.agents.loop import run_agent
from local_judge.agents.observations import Shown
from local_judge.agents.result import AgentResult, no_answer
from local_judge.agents.toolbox import Toolbox
from local_judge.judge.failures import Failure, FailureKind
from local_judge.judge.judge import Judge
from local_judge.judge.layout import fence
from local_judge.tasks.alike import firsts
from local_judge.tasks.drafting import UNREADABLE
from local_judge.tasks.model import KeySource, Task
from local_judge.tasks.plan_asking import PER_PAGE, Gathered, agent_task, items_type, page_prompt, page_type
from local_judge.tasks.plan_settings import REPLY_TOKENS_PER_ITEM, PlanSettings
from local_judge.tasks.plans import KeyRow, LeftOut, WhyOut

Run = AgentResult[Gathered]

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

    def take(self, run: Run, citations: Sequence[Citation], questions: Sequence[str]) -> None:
        """Check items, each a citation with its question; those that stand, stand from now on."""
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
        """The failure where all that was given was left out."""
        whys = [one.why for one in self.left_out]
        counts = ", ".join(f"{whys.count(why)} {why}" for why in dict.fromkeys(whys)) or "none was given"
        detail = f"no item of key information stands ({counts}); the agent ended {run.outcome}"
        return Failure(kind="incomplete", detail=f"{detail}, {self.n_pages} pages were asked about")


async def gather(
    found: KeyInformation, task: Task, toolbox: Toolbox, judge: Judge, settings: PlanSettings, keep: Keep
) -> Failure | None:
    """Let the agent work and, where too little stands, put its pages to the judge; the failure if nothing stands."""
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
        found.take(run, citations, [one.question for one in items])
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
        found.take(run, citations, [one.question for one in items])
    return None if found.standing else failure or found.none_stands(run)


def shown_pages(run: AgentResult[Any]) -> list[list[Shown]]:
    """What an agent was shown of each page, in the page's order; pages in the order in which it came upon them."""
    pages: dict[str, dict[tuple[int, int], Shown]] = {}
    for observation in run.transcript.observations:
        for shown in observation.shown:
            pages.setdefault(shown.url, {})[shown.start, shown.end] = shown
    return [[parts[place] for place in sorted(parts)] for parts in pages.values()]
