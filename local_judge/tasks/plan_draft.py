"""Drafting of plans by a judge, from the task alone (DREAM, section 3: protocol creation).

Key information is gathered first, by an agent that searches a snapshot. If there are too few items, as with small
judges, the pages shown to the agent are put to the judge one by one. For comparison, there are two methods without an
agent: the passages of one search, and the request alone. One call then asks for the reasoning questions with their
plans.

Invariants: each item of key information, except those from the request alone, has a page that the judge was shown and a
quotation that code found in it; other items are stored as left out; no two items are duplicates; no page from after the
set day is used; the same task, snapshot and judge give the same draft, and replies in the ledger are reused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from indexes.snapshot import Snapshot
from indexes.text.language import detect_language
from local_judge.agents.actions import MOST_PASSAGES, Search
from local_judge.agents.citations import CheckedCitation, Citation, check_shown
from local_judge.agents.loop import run_agent
from local_judge.agents.observations import Observation, PagePassage
from local_judge.agents.result import AgentResult, no_answer
from local_judge.agents.toolbox import Toolbox
from local_judge.base.failures import Failure, FailureKind
from local_judge.tasks.alike import distinct, firsts
from local_judge.tasks.drafting import UNREADABLE, Draft, Drafts, NoDraft, limited, one_line, request_block
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
"""Maximum number of characters of a request used as a query."""

_DEFAULTS = PlanSettings()

_PASSED_OVER: tuple[FailureKind, ...] = (*UNREADABLE, "prompt_too_long")
"""Failures of one question, after which pages may still be asked about."""

Keep = Callable[[Task, AgentResult[Any]], None]
"""Function that receives the agent's run on a task when it ends, with or without an answer."""


def _nothing(task: Task, run: AgentResult[Any]) -> None:
    """Ignore the run."""


async def draft_plan(
    draft: Draft, toolbox: Toolbox, settings: PlanSettings = _DEFAULTS, keep: Keep = _nothing
) -> PlanRow:
    """Draft a plan for reports on the task, whose own plan is ignored.

    Args:
        draft: draft of the task; its judge runs the agent and writes the reasoning questions.
        toolbox: tools over the snapshot, with `settings.tools`.
        settings: number of items and questions, and limits of the agent.
        keep: receives the agent's run.

    Raises:
        NoDraft: there is no item of key information, or a question has no answer.
        IndexesError: the snapshot is damaged, or lacks an index.
    """
    task = draft.task
    found = _KeyInformation(draft, toolbox, settings)
    if settings.items:
        await found.gather(keep)
    questions: list[ReasoningRow] = []
    if settings.questions:
        answer = await draft.ask(
            reasoning_prompt(task, found.kept, settings.questions),
            limited(GivenQuestions, GivenQuestion, settings.questions, 1),
            settings.questions * REPLY_TOKENS_PER_QUESTION,
        )
        different = distinct(answer.questions, lambda one: one.question)
        questions = [ReasoningRow(**{name: one_line(text) for name, text in one}) for one in different]
    return PlanRow(
        task_id=task.id,
        task=task.prompt,
        key_information=tuple(found.kept),
        reasoning=tuple(questions),
        language=detect_language(task.prompt),
        method=settings.method,
        snapshot=None if settings.method == "request" else toolbox.snapshot.digest,
        as_of=toolbox.settings.as_of,
        agent=None if found.run is None else AgentEnd.of(found.run),
        n_pages=found.n_pages,
        left_out=tuple(found.left_out),
        status="drafted",
        **await draft.origin(),
    )


def plan_drafts(
    snapshot: Snapshot, settings: PlanSettings = _DEFAULTS, keep: Keep = _nothing
) -> Drafts[PlanRow]:
    """Return drafts of plans. Raises IndexesError."""
    toolbox = Toolbox(snapshot, settings.tools)
    return PLAN_KIND.drafts(lambda draft: draft_plan(draft, toolbox, settings, keep))


class _KeyInformation:
    """Key information kept and left out so far, and its gathering."""

    def __init__(self, draft: Draft, toolbox: Toolbox, settings: PlanSettings) -> None:
        self.draft, self.toolbox, self.settings = draft, toolbox, settings
        self.task = draft.task
        self.kept: list[KeyRow] = []
        self.left_out: list[LeftOut] = []
        self.run: AgentResult[Gathered] | None = None
        self.n_pages = 0

    async def gather(self, keep: Keep) -> None:
        """Gather key information by the chosen method. Raises NoDraft: there is no item."""
        match self.settings.method:
            case "request":
                how = await self._by_request()
            case "retrieval":
                how = await self._by_retrieval()
            case "agent":
                how = await self._by_agent(keep)
        if not self.kept:
            whys = [one.why for one in self.left_out]
            counts = ", ".join(f"{whys.count(why)} {why}" for why in dict.fromkeys(whys)) or "none was given"
            detail = f"no item of key information stands ({counts}){how}"
            raise NoDraft(Failure(kind="incomplete", detail=detail))

    async def _by_request(self) -> str:
        items = self.settings.items
        answer = await self.draft.ask(
            request_prompt(self.task, self.settings),
            limited(AskedItems, AskedItem, items),
            reply_tokens(items),
        )
        for one in answer.items:
            question = one_line(one.question)
            why = self._surplus(question)
            if why is None:
                self.kept.append(KeyRow(question=question))
            else:
                self.left_out.append(LeftOut(question=question, url="", quote="", why=why))
        return ""

    async def _by_retrieval(self) -> str:
        """Search once for the request, and ask one question about the passages found."""
        query = one_line(self.task.prompt)[:QUERY_CHARACTERS]
        seen = self.toolbox.run(Search(tool="search", queries=(query,), k=MOST_PASSAGES))
        items = self.settings.items
        answer = await self.draft.ask(
            passages_prompt(self.task, seen.shown, self.settings),
            limited(Gathered, GivenItem, items),
            reply_tokens(items),
        )
        self._take([seen], [(one.url, one.quote, one.question) for one in answer.items])
        return f"; {len(seen.shown)} passages were found"

    async def _by_agent(self, keep: Keep) -> str:
        """Run the agent and, if there are too few items, put its pages to the judge."""
        run = await run_agent(
            self.draft.judge,
            self.toolbox,
            agent_task(self.settings),
            limited(Gathered, GivenItem, self.settings.items),
            material=request_block(self.task),
            limits=self.settings.limits,
        )
        self.run = run
        self.draft.replies += [key for step in run.transcript.steps for key in step.replies]
        keep(self.task, run)
        failure = None
        seen = run.transcript.observations
        if run.answer is None:
            failure = no_answer(run)
            if run.outcome == "failed" and failure.kind not in _PASSED_OVER:
                raise NoDraft(failure)
        else:
            self._take(seen, [(one.url, one.quote, one.question) for one in run.answer.items])
        for page in shown_pages(run)[: self.settings.pages]:
            if len(self.kept) >= self.settings.least:
                break
            self.n_pages += 1
            try:
                answer = await self.draft.ask(
                    page_prompt(self.task, page),
                    limited(PageItems, PageItem, PER_PAGE),
                    PER_PAGE * REPLY_TOKENS_PER_ITEM,
                )
            except NoDraft as error:
                if error.failure.kind in _PASSED_OVER:
                    continue
                raise
            self._take(seen, [(page[0].url, one.quote, one.question) for one in answer.items])
        if failure is not None and not self.kept:
            raise NoDraft(failure)
        return f"; the agent ended {run.outcome}, {self.n_pages} pages were asked about"

    def _take(self, seen: Sequence[Observation], items: Sequence[tuple[str, str, str]]) -> None:
        """Check items of a URL, a quotation and a question, and keep or leave out each."""
        citations = [Citation(url=url, quote=quote) for url, quote, _ in items]
        checked = check_shown(citations, seen, self.toolbox.snapshot, self.toolbox.settings.as_of)
        for found, (_, _, asked) in zip(checked, items, strict=True):
            question = one_line(asked)
            why = found.status if found.status != "found" else self._surplus(question)
            if why is None:
                self.kept.append(KeyRow(question=question, source=self._source(found)))
                continue
            item = LeftOut(question=question, url=found.url, quote=found.quote, why=why)
            if item not in self.left_out:
                self.left_out.append(item)

    def _surplus(self, question: str) -> WhyOut | None:
        if firsts([*(row.question for row in self.kept), question])[-1] < len(self.kept):
            return "double"
        return "surplus" if len(self.kept) >= self.settings.items else None

    def _source(self, found: CheckedCitation) -> KeySource:
        page = self.toolbox.snapshot.page(found.url, as_of=self.toolbox.settings.as_of)
        return KeySource(
            url=found.url,
            quote=found.quote,
            published=page.published,
            text_digest=found.text_digest,
            start=found.start,
            end=found.end,
            in_title=found.in_title,
        )


def shown_pages(run: AgentResult[Any]) -> list[list[PagePassage]]:
    """Return the parts of each page that an agent was shown, in the page's order; pages in the order first shown."""
    pages: dict[str, dict[tuple[int, int], PagePassage]] = {}
    for observation in run.transcript.observations:
        for shown in observation.shown:
            pages.setdefault(shown.url, {})[shown.start, shown.end] = shown
    return [[parts[place] for place in sorted(parts)] for parts in pages.values()]
