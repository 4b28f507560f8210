"""Checks of statements: by an agent that searches and reads within its limits, or by the result of one search.

Invariants: a statement has a label only from an answer that names it. A run of an agent without an answer leaves
failures; if it was about several statements of a segment, each is tried once more alone. The queries of a search are
the statement and its entities, so that two judges see the same passages. If nothing is found, the label is Unknown and
the judge is not asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple

from local_judge.agents.actions import Search
from local_judge.agents.citations import Citation, check_citations, check_shown
from local_judge.agents.loop import run_agent
from local_judge.agents.observations import Observation, observation_text
from local_judge.agents.result import AgentResult
from local_judge.agents.toolbox import Toolbox
from local_judge.base.failures import Failure
from local_judge.base.model import Frozen
from local_judge.judge.errors import failure_of
from local_judge.judge.judge import Judge
from local_judge.ledger.requests import sha256
from local_judge.prompts import Prompt, fill, load_prompt
from local_judge.protocols.deepresearcheval.facts.asking import (
    MOST,
    ByPages,
    Subject,
    by_pages,
    by_passages,
    ruling_of,
)
from local_judge.protocols.deepresearcheval.facts.findings import (
    FactsSettings,
    Lookup,
    Ruling,
    Run,
    Statement,
)
from serving.errors import EngineError

template = partial(load_prompt, "local_judge.protocols.deepresearcheval.facts")

REPLY_TOKENS = 600
"""Limit of a reply by passages."""
QUERY = 300
"""Characters of a query."""


class Checked(NamedTuple):
    """Results for some statements."""

    rulings: tuple[Ruling, ...]
    """One ruling for each statement, in order."""
    runs: tuple[Run, ...] = ()
    """Runs of agents."""
    lookups: tuple[Lookup, ...] = ()
    """Searches, one for each statement."""


def agent_task() -> str:
    """Return the instructions, which are the same for all statements of all reports."""
    return fill(template("agent"), {"rules": template("rules"), "most": str(MOST)})


async def check_by_agent(
    statements: Sequence[Statement], subject: Subject, judge: Judge, toolbox: Toolbox, settings: FactsSettings
) -> Checked:
    """Check all statements, `per_run` of a segment in one run; runs are concurrent."""
    groups = [
        same[start : start + settings.per_run]
        for same in (list(group) for _, group in groupby(statements, subject.segment_of))
        for start in range(0, len(same), settings.per_run)
    ]
    parts = await asyncio.gather(*(_run(group, subject, judge, toolbox, settings) for group in groups))
    return _join(parts)


async def _run(
    statements: Sequence[Statement], subject: Subject, judge: Judge, toolbox: Toolbox, settings: FactsSettings
) -> Checked:
    tokens = settings.limits.reply_tokens * len(statements)
    limits = settings.limits.model_copy(update={"reply_tokens": tokens})
    part = subject.part(subject.segment_of(statements[0]))
    material = "\n\n".join(one for one in (subject.opening, part, subject.list_statements(statements)) if one)
    result = await run_agent(
        judge, toolbox, agent_task(), by_pages(len(statements)), material=material, limits=limits
    )
    stored = AgentResult[dict[str, Any]].model_validate(result.model_dump(mode="json"))
    run = Run(statements=tuple(statement.id for statement in statements), result=stored)
    if result.answer is None and len(statements) > 1:
        alone = await asyncio.gather(*(_run([one], subject, judge, toolbox, settings) for one in statements))
        return _join([Checked((), (run,)), *alone])
    return Checked(_rulings(statements, result, toolbox), (run,))


def _rulings(
    statements: Sequence[Statement], result: AgentResult[Frozen], toolbox: Toolbox
) -> tuple[Ruling, ...]:
    replies = tuple(key for step in result.transcript.steps for key in step.replies)
    if result.answer is None:
        failure = result.failure or Failure(
            kind="incomplete", detail=f"the agent ended without an answer: {result.outcome}"
        )
        return tuple(
            Ruling(statement=statement.id, failure=failure, replies=replies) for statement in statements
        )
    rulings: list[Ruling] = []
    for number, one in enumerate(statements, 1):
        answer: ByPages = getattr(result.answer, f"s{number}")
        given = [Citation(url=quoted.url, quote=quoted.quote) for quoted in answer.evidence]
        checked = check_citations(given, result.transcript, toolbox.snapshot)
        rulings.append(ruling_of(one.id, answer, checked, replies))
    return tuple(rulings)


def _join(parts: Sequence[Checked]) -> Checked:
    return Checked(
        tuple(ruling for part in parts for ruling in part.rulings),
        tuple(run for part in parts for run in part.runs),
    )


async def check_by_search(
    statements: Sequence[Statement], subject: Subject, judge: Judge, toolbox: Toolbox, settings: FactsSettings
) -> Checked:
    """Check all statements, in one call each."""
    lookups = tuple(
        Lookup(statement=statement.id, observation=toolbox.run(search_for(statement, settings.passages)))
        for statement in statements
    )
    rulings = await asyncio.gather(
        *(
            _ruling(one, lookup.observation, subject, judge, toolbox)
            for one, lookup in zip(statements, lookups, strict=True)
        )
    )
    return Checked(tuple(rulings), lookups=lookups)


def search_for(statement: Statement, k: int) -> Search:
    """Return a search for the statement's words, and for its entities together if it names several."""
    queries = [statement.text[:QUERY]]
    if len(statement.entities) > 1:
        queries.append(" ".join(statement.entities)[:QUERY])
    return Search(tool="search", queries=tuple(queries), k=k)


def search_prompt(statement: Statement, observation: Observation, subject: Subject) -> Prompt:
    """Return the prompt for one statement, by the passages found for it."""
    task = fill(template("search"), {"rules": template("rules"), "most": str(MOST)})
    shared = "\n\n".join(part for part in (task, subject.opening) if part)
    own = [
        subject.list_statements([statement]),
        observation_text(observation),
        "Answer for this statement now.",
    ]
    return Prompt(shared=shared, own="\n\n".join(own), prefix_key=f"facts:{sha256(shared)}")


async def _ruling(
    statement: Statement, observation: Observation, subject: Subject, judge: Judge, toolbox: Toolbox
) -> Ruling:
    if not observation.shown:
        return Ruling(statement=statement.id, label="Unknown", reasoning="Nothing was found.")
    fitted = await _fit_passages(statement, observation, subject, judge)
    if isinstance(fitted, Failure):
        return Ruling(statement=statement.id, failure=fitted)
    prompt = search_prompt(statement, fitted, subject)
    reply = await judge.ask(prompt, by_passages(len(fitted.shown)), max_tokens=REPLY_TOKENS)
    if isinstance(reply, Failure):
        return Ruling(statement=statement.id, failure=reply)
    given = [
        Citation(url=fitted.shown[quoted.passage - 1].url, quote=quoted.quote)
        for quoted in reply.value.evidence
    ]
    checked = check_shown(given, [fitted], toolbox.snapshot, toolbox.settings.as_of)
    return ruling_of(statement.id, reply.value, checked, reply.replies)


async def _fit_passages(
    statement: Statement, observation: Observation, subject: Subject, judge: Judge
) -> Observation | Failure:
    """Return the passages found, without those at the end for which there is no room."""
    while True:
        try:
            room = await judge.room(search_prompt(statement, observation, subject))
        except EngineError as error:
            return failure_of(error, "measuring a search's passages")
        if room >= REPLY_TOKENS:
            return observation
        if len(observation.shown) == 1:
            detail = f"one passage leaves {room} tokens of the judge's context for a reply"
            return Failure(kind="prompt_too_long", detail=detail)
        observation = observation.model_copy(update={"shown": observation.shown[:-1], "note": ""})
