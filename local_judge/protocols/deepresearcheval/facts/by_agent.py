"""Statements checked by an agent that searches and reads within its limits.

Invariant: a statement has a label only from an answer that names it; a run without answer leaves failures. Where it was
about several statements, which are of one segment, each is tried once more by itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple

from local_judge.agents.citations import Citation, check_citations
from local_judge.agents.loop import run_agent
from local_judge.agents.result import AgentResult
from local_judge.agents.toolbox import Toolbox
from local_judge.judge.failures import Failure
from local_judge.judge.judge import Judge
from local_judge.judge.layout import fill, load_prompt
from local_judge.protocols.deepresearcheval.facts.answers import (
    MOST,
    ByPages,
    by_pages,
    evidence_of,
    ruling_of,
)
from local_judge.protocols.deepresearcheval.facts.findings import Ruling, Run, Statement
from local_judge.protocols.deepresearcheval.facts.material import Subject
from local_judge.protocols.deepresearcheval.facts.settings import FactsSettings
from serving.types import Frozen

template = partial(load_prompt, "local_judge.protocols.deepresearcheval.facts")


class Worked(NamedTuple):
    """What came of some statements."""

    rulings: tuple[Ruling, ...]
    """One for each, in order."""
    runs: tuple[Run, ...]


def agent_task() -> str:
    """The instructions, the same for all statements of all reports."""
    return fill(template("agent"), {"rules": template("rules"), "most": str(MOST)})


async def check_by_agent(
    statements: Sequence[Statement],
    subject: Subject,
    judge: Judge,
    toolbox: Toolbox,
    settings: FactsSettings,
) -> Worked:
    """The rulings of all statements, `per_run` of a segment in one run; runs go side by side."""
    groups = [
        same[start : start + settings.per_run]
        for same in (list(group) for _, group in groupby(statements, subject.segment_of))
        for start in range(0, len(same), settings.per_run)
    ]
    worked = await asyncio.gather(*(_checked(group, subject, judge, toolbox, settings) for group in groups))
    return _joined(worked)


async def _checked(
    statements: Sequence[Statement],
    subject: Subject,
    judge: Judge,
    toolbox: Toolbox,
    settings: FactsSettings,
) -> Worked:
    tokens = settings.limits.reply_tokens * len(statements)
    limits = settings.limits.model_copy(update={"reply_tokens": tokens})
    part = subject.part(subject.segment_of(statements[0]))
    material = "\n\n".join(one for one in (subject.opening, part, subject.listed(statements)) if one)
    result = await run_agent(
        judge,
        toolbox,
        agent_task(),
        by_pages(len(statements)),
        material=material,
        limits=limits,
    )
    stored = AgentResult[dict[str, Any]].model_validate(result.model_dump(mode="json"))
    run = Run(statements=tuple(one.id for one in statements), result=stored)
    if result.answer is None and len(statements) > 1:
        alone = await asyncio.gather(
            *(_checked([one], subject, judge, toolbox, settings) for one in statements)
        )
        return _joined([Worked((), (run,)), *alone])
    return Worked(_rulings(statements, result, toolbox), (run,))


def _rulings(
    statements: Sequence[Statement], result: AgentResult[Frozen], toolbox: Toolbox
) -> tuple[Ruling, ...]:
    replies = tuple(key for step in result.transcript.steps for key in step.replies)
    if result.answer is None:
        failure = result.failure or Failure(
            kind="incomplete", detail=f"the agent ended without an answer: {result.outcome}"
        )
        return tuple(Ruling(statement=one.id, failure=failure, replies=replies) for one in statements)
    rulings: list[Ruling] = []
    for number, one in enumerate(statements, 1):
        answer: ByPages = getattr(result.answer, f"s{number}")
        given = [Citation(url=quoted.url, quote=quoted.quote) for quoted in answer.evidence]
        checked = check_citations(given, result.transcript, toolbox.snapshot)
        evidence = tuple(
            evidence_of(found, quoted.stance) for found, quoted in zip(checked, answer.evidence, strict=True)
        )
        rulings.append(ruling_of(one.id, evidence, answer, replies))
    return tuple(rulings)


def _joined(parts: Sequence[Worked]) -> Worked:
    return Worked(
        tuple(ruling for part in parts for ruling in part.rulings),
        tuple(run for part in parts for run in part.runs),
    )
