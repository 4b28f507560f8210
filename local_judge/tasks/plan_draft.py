"""A plan for a task that has none, drafted from the task alone (DREAM, section 3: protocol creation).

Key information is gathered first (`tasks.plan_key_information`); then one question asks for the reasoning questions
with their plans.

Invariant: the same task, snapshot and judge give the same draft, and no reply that the ledger holds is asked for again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from indexes.snapshot import Snapshot
from indexes.text.language import detect_language
from local_judge.agents.result import AgentResult
from local_judge.agents.toolbox import Toolbox
from local_judge.judge.failures import Failure
from local_judge.judge.judge import Judge
from local_judge.tasks.alike import firsts
from local_judge.tasks.drafting import Drafts
from local_judge.tasks.model import Task
from local_judge.tasks.plan_asking import GivenQuestion, questions_type, reasoning_prompt
from local_judge.tasks.plan_key_information import Keep, KeyInformation, Run, gather
from local_judge.tasks.plan_settings import PlanMethod, PlanSettings
from local_judge.tasks.plans import AgentEnd, KeyRow, LeftOut, PlanRow, ReasoningRow
from serving.types import EngineIdentity

REPLY_TOKENS_PER_QUESTION = 320

_DEFAULTS = PlanSettings()


class PlanDraft(NamedTuple):
    """A plan as a judge has drafted it."""

    key_information: tuple[KeyRow, ...]
    reasoning: tuple[ReasoningRow, ...]
    left_out: tuple[LeftOut, ...]
    run: Run | None
    """Of the agent; None where none was asked."""
    n_pages: int
    """Pages that were put to the judge one by one."""
    replies: tuple[str, ...]
    """Ledger keys."""


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
    found = KeyInformation(toolbox, settings)
    failure = await gather(found, task, toolbox, judge, settings, keep) if settings.items else None
    if failure is not None:
        return failure
    questions: list[ReasoningRow] = []
    if settings.questions:
        answer = await judge.ask(
            reasoning_prompt(task, found.standing, settings.questions),
            questions_type(settings.questions),
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


def _different(given: Sequence[GivenQuestion]) -> list[ReasoningRow]:
    same = firsts(one.question for one in given)
    kept = [one for position, one in enumerate(given) if same[position] == position]
    return [
        ReasoningRow(**{name: " ".join(text.split()) for name, text in one.model_dump().items()})
        for one in kept
    ]


def plan_drafts(
    snapshot: Snapshot, settings: PlanSettings = _DEFAULTS, keep: Keep = _nothing
) -> Drafts[PlanRow]:
    """Plans for tasks that have none. Raises IndexesError."""
    toolbox = Toolbox(snapshot, settings.tools)

    async def write(task: Task, judge: Judge, identity: EngineIdentity) -> PlanRow | Failure:
        draft = await draft_plan(task, toolbox, judge, settings, keep)
        if isinstance(draft, Failure):
            return draft
        return drafted_row(task, draft, identity, toolbox, settings.method)

    return Drafts(write, has=lambda task: task.plan is not None)


def drafted_row(
    task: Task, draft: PlanDraft, identity: EngineIdentity, toolbox: Toolbox, method: PlanMethod
) -> PlanRow:
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
        method=method,
        snapshot=None if method == "request" else toolbox.snapshot.digest,
        as_of=toolbox.settings.as_of,
        agent=None if draft.run is None else AgentEnd.of(draft.run),
        n_pages=draft.n_pages,
        left_out=draft.left_out,
    )
