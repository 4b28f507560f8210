"""Whether a task needs deep research: the filter by which DeepResearch Bench chose among what people ask.

Invariant: every task that was decided on has a row, kept or dropped, with the reason; one without a decision has none.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

from local_judge.judge.failures import Failure
from local_judge.judge.judge import Judge
from local_judge.judge.layout import Prompt
from local_judge.rows import read_models
from local_judge.tasks.drafting import Drafts, Reply, request_block, shared_prompt, template
from local_judge.tasks.model import Task
from local_judge.tasks.rowfile import RowFile
from local_judge.tasks.topics import AnswerRow

REPLY_TOKENS = 300

Confidence = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class NeedReply(Reply):
    """The reason comes first, so that the decision follows from it."""

    rationale: Annotated[str, Field(max_length=500)]
    needs_deep_research: bool
    confidence: Confidence


class NeedRow(AnswerRow):
    """One line of what `tasks filter` writes; as a task, it is one only if it was kept."""

    topic: str | None = None
    """The topic that the task's file gives it."""
    kept: bool
    """Whether the judge holds that it needs deep research."""
    confidence: Confidence
    """As the judge says."""


def need_file(path: Path) -> RowFile[NeedRow]:
    """A file of decisions that several commands may write at the same time."""
    return RowFile(path, lambda path: list(read_models(path, NeedRow)), by_request=False)


def need_prompt(task: Task) -> Prompt:
    """The prompt that asks whether a task needs deep research."""
    return shared_prompt("request", request_block(task), template("need"))


async def decide_need(task: Task, judge: Judge) -> NeedRow | Failure:
    """Whether a task needs deep research, as `judge` sees it.

    Raises:
        LedgerError: a reply could not be stored.
    """
    answer = await judge.ask(need_prompt(task), NeedReply, max_tokens=REPLY_TOKENS)
    if isinstance(answer, Failure):
        return answer
    return NeedRow(
        id=task.id,
        prompt=task.prompt,
        topic=task.topic,
        kept=answer.value.needs_deep_research,
        confidence=answer.value.confidence,
        rationale=answer.value.rationale,
        judge=await judge.engine.identity(),
        replies=answer.replies,
    )


NEED_DRAFTS = Drafts(decide_need)
