"""A plan for a task that has none, drafted from the task alone (DREAM, section 3: protocol creation).

Key information is gathered first, by an agent that searches a snapshot. Where too little stands, which is what small
judges come to, the pages that the agent was shown are put to the judge one by one. To be compared with, there are two
ways without an agent: behind the passages of one search, and by the request alone. Then one question asks for the
reasoning questions with their plans.

Invariants: each item of key information, but for those by the request alone, rests on a page that the judge was shown
and on words that code found in it; an item that does not is left out and kept as such; no two items say the same; no
page is used that was not known by the day set; the same task, snapshot and judge give the same draft, and no reply that
the ledger holds is asked for again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from indexes.snapshot import Snapshot
from indexes.text.language import detect_language
from local_judge.agents.actions import MOST_PASSAGES, Search
from local_judge.agents.citations import CheckedCitation, Citation, check_shown
from local_judge.agents.loop import run_agent
from local_judge.agents.observations import Observation, Shown
from local_judge.agents.result import AgentResult, no_answer
from local_judge.agents.toolbox import Toolbox
from local_judge.judge.failures import Failure, FailureKind
from local_judge.judge.judge import Judge
from local_judge.tasks.alike import firsts
from local_judge.tasks.drafting import UNREADABLE, Drafts, numbered, request_of, tidy
from local_judge.tasks.model import KeySource, Task
from local_judge.tasks.plan_asking import (
    PER_PAGE,
    REPLY_TOKENS_PER_ITEM,
    AskedItem,
    AskedItems,
    Gathered,
    GivenItem,
    GivenQuestion,
    GivenQuestions,
    PageItem,
    PageItems,
    PlanSettings,
    agent_task,
    page_prompt,
    passages_prompt,
    reasoning_prompt,
    reply_tokens,
    request_prompt,
)
from local_judge.tasks.plans import PLAN_KIND, AgentEnd, KeyRow, LeftOut, PlanRow, ReasoningRow, WhyOut

REPLY_TOKENS_PER_QUESTION = 320
QUERY_CHARACTERS = 300
"""Of a request that is searched for itself."""

_DEFAULTS = PlanSettings()

_PASSED_OVER: tuple[FailureKind, ...] = (*UNREADABLE, "prompt_too_long")
"""Failures of one question, after which a page may still be asked about."""

Keep = Callable[[Task, AgentResult[Any]], None]
"""Told of the agent's run on a task as soon as it has ended, whatever came of it."""


def _nothing(task: Task, run: AgentResult[Any]) -> None:
    """Keeps nothing."""


async def draft_plan(
    task: Task, judge: Judge, toolbox: Toolbox, settings: PlanSettings = _DEFAULTS, keep: Keep = _nothing
) -> PlanRow | Failure:
    """The plan for reports on `task`, drafted by `judge`; a failure if no item of key information stands.

    Args:
        task: its own plan is not looked at.
        judge: the agent, and who writes the reasoning questions.
        toolbox: over the snapshot, with `settings.tools`.
        settings: how much is wanted, and how long the agent may work for it.
        keep: told of the agent's run.

    Raises:
        LedgerError: a reply could not be stored.
        IndexesError: the snapshot is damaged, or lacks an index.
    """
    found = _KeyInformation(toolbox, settings)
    failure = await _gather(found, task, judge, toolbox, settings, keep) if settings.items else None
    if failure is not None:
        return failure
    questions: list[ReasoningRow] = []
    if settings.questions:
        answer = await judge.ask(
            reasoning_prompt(task, found.standing, settings.questions),
            numbered(GivenQuestions, GivenQuestion, settings.questions, 1),
            max_tokens=settings.questions * REPLY_TOKENS_PER_QUESTION,
        )
        if isinstance(answer, Failure):
            return answer
        questions = _different(answer.value.questions)
        found.replies += answer.replies
    return PlanRow(
        task_id=task.id,
        task=task.prompt,
        key_information=tuple(found.standing),
        reasoning=tuple(questions),
        language=detect_language(task.prompt),
        method=settings.method,
        snapshot=None if settings.method == "request" else toolbox.snapshot.digest,
        as_of=toolbox.settings.as_of,
        agent=None if found.run is None else AgentEnd.of(found.run),
        n_pages=found.n_pages,
        left_out=tuple(found.left_out),
        status="drafted",
        judge=await judge.engine.identity(),
        replies=tuple(found.replies),
    )


def plan_drafts(
    snapshot: Snapshot, settings: PlanSettings = _DEFAULTS, keep: Keep = _nothing
) -> Drafts[PlanRow]:
    """Plans for tasks that have none. Raises IndexesError."""
    toolbox = Toolbox(snapshot, settings.tools)
    return PLAN_KIND.drafts(lambda task, judge: draft_plan(task, judge, toolbox, settings, keep))


def _different(given: Sequence[GivenQuestion]) -> list[ReasoningRow]:
    same = firsts(one.question for one in given)
    kept = [one for position, one in enumerate(given) if same[position] == position]
    return [ReasoningRow(**{name: tidy(text) for name, text in one.model_dump().items()}) for one in kept]


class _KeyInformation:
    """What stands so far, and what was left out."""

    def __init__(self, toolbox: Toolbox, settings: PlanSettings) -> None:
        self._toolbox, self._settings = toolbox, settings
        self.standing: list[KeyRow] = []
        self.left_out: list[LeftOut] = []
        self.replies: list[str] = []
        self.run: AgentResult[Gathered] | None = None
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
            question = tidy(asked)
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
            question = tidy(asked)
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


async def _gather(
    found: _KeyInformation, task: Task, judge: Judge, toolbox: Toolbox, settings: PlanSettings, keep: Keep
) -> Failure | None:
    """Gather key information by the method that is set; the failure if nothing stands."""
    match settings.method:
        case "request":
            return await _by_request(found, task, judge, settings)
        case "retrieval":
            return await _by_retrieval(found, task, judge, toolbox, settings)
        case "agent":
            return await _by_agent(found, task, judge, toolbox, settings, keep)


async def _by_request(
    found: _KeyInformation, task: Task, judge: Judge, settings: PlanSettings
) -> Failure | None:
    answer = await judge.ask(
        request_prompt(task, settings),
        numbered(AskedItems, AskedItem, settings.items),
        max_tokens=reply_tokens(settings.items),
    )
    if isinstance(answer, Failure):
        return answer
    found.replies += answer.replies
    found.take_bare([one.question for one in answer.value.items])
    return None if found.standing else found.none_stands("")


async def _by_retrieval(
    found: _KeyInformation, task: Task, judge: Judge, toolbox: Toolbox, settings: PlanSettings
) -> Failure | None:
    """One search for the request itself, and one question behind what it finds."""
    query = tidy(task.prompt)[:QUERY_CHARACTERS]
    seen = toolbox.run(Search(tool="search", queries=(query,), k=MOST_PASSAGES))
    answer = await judge.ask(
        passages_prompt(task, seen.shown, settings),
        numbered(Gathered, GivenItem, settings.items),
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
    found: _KeyInformation, task: Task, judge: Judge, toolbox: Toolbox, settings: PlanSettings, keep: Keep
) -> Failure | None:
    """Let the agent work and, where too little stands, put its pages to the judge."""
    run = await run_agent(
        judge,
        toolbox,
        agent_task(settings),
        numbered(Gathered, GivenItem, settings.items),
        material=request_of(task),
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
            page_prompt(task, page),
            numbered(PageItems, PageItem, PER_PAGE),
            max_tokens=PER_PAGE * REPLY_TOKENS_PER_ITEM,
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
