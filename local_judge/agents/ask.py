"""Single question answered from a snapshot.

Invariant: an answer comes with all citations that the judge gave, each with the result of looking it up.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated

from pydantic import Field

from local_judge.agents.citations import CheckedCitation, Citation, check_citations
from local_judge.agents.loop import run_agent
from local_judge.agents.result import AgentLimits, AgentResult
from local_judge.agents.toolbox import Toolbox
from local_judge.base.model import Frozen
from local_judge.judge.judge import Judge
from local_judge.prompts import fence, load_prompt

template = partial(load_prompt, "local_judge.agents")

_DEFAULTS = AgentLimits()


class CitedAnswer(Frozen):
    """Answer of a judge."""

    text: Annotated[str, Field(max_length=2000)]
    citations: Annotated[tuple[Citation, ...], Field(max_length=10)]


class AskedQuestion(Frozen):
    """Question with its run and its checked citations."""

    question: str
    result: AgentResult[CitedAnswer]
    citations: tuple[CheckedCitation, ...]
    """Citations of the answer, in its order."""


async def ask_question(
    judge: Judge, toolbox: Toolbox, question: str, limits: AgentLimits = _DEFAULTS
) -> AskedQuestion:
    """Answer a question from the pages of a snapshot. Raises as `run_agent` does."""
    result = await run_agent(
        judge, toolbox, template("ask"), CitedAnswer, material=fence(question, "Question:"), limits=limits
    )
    given = result.answer.citations if result.answer is not None else ()
    checked = check_citations(given, result.transcript, toolbox.snapshot)
    return AskedQuestion(question=question, result=result, citations=checked)
