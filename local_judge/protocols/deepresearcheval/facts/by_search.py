"""Statements checked by what one search finds: code searches, the judge labels in one call.

Invariant: the queries are the statement and what of it can be looked up, so two judges see the same passages; where
nothing is found nobody is asked, and the label is Unknown.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from local_judge.agents.actions import Search
from local_judge.agents.citations import CheckedCitation
from local_judge.agents.observations import Observation, observation_text
from local_judge.agents.toolbox import Toolbox
from local_judge.claims.quotes import QuoteFinder
from local_judge.judge.calls import failure_of
from local_judge.judge.failures import Failure
from local_judge.judge.judge import Judge
from local_judge.judge.layout import Prompt, fill, load_prompt
from local_judge.judge.requests import sha256
from local_judge.protocols.deepresearcheval.facts.answers import (
    MOST,
    QuotedPassage,
    by_passages,
    evidence_of,
    ruling_of,
)
from local_judge.protocols.deepresearcheval.facts.findings import Lookup, Ruling, Statement
from local_judge.protocols.deepresearcheval.facts.material import Subject
from local_judge.protocols.deepresearcheval.facts.settings import FactsSettings
from serving.errors import EngineError

template = partial(load_prompt, "local_judge.protocols.deepresearcheval.facts")

REPLY_TOKENS = 600
QUERY = 300
"""Characters of a query."""


class Looked(NamedTuple):
    """What came of some statements, one of each for each."""

    rulings: tuple[Ruling, ...]
    lookups: tuple[Lookup, ...]


async def check_by_search(
    statements: Sequence[Statement],
    subject: Subject,
    judge: Judge,
    toolbox: Toolbox,
    settings: FactsSettings,
) -> Looked:
    """The rulings of all statements, one call each."""
    lookups = tuple(
        Lookup(statement=one.id, observation=toolbox.run(search_for(one, settings.passages)))
        for one in statements
    )
    rulings = await asyncio.gather(
        *(
            _ruling(one, lookup.observation, subject, judge, toolbox)
            for one, lookup in zip(statements, lookups, strict=True)
        )
    )
    return Looked(tuple(rulings), lookups)


def search_for(statement: Statement, k: int) -> Search:
    """The statement's words, and its entities together where it names several."""
    queries = [statement.text[:QUERY]]
    if len(statement.entities) > 1:
        queries.append(" ".join(statement.entities)[:QUERY])
    return Search(tool="search", queries=tuple(queries), k=k)


def search_prompt(statement: Statement, observation: Observation, subject: Subject) -> Prompt:
    """The question for one statement, by what was found for it."""
    task = fill(template("search"), {"rules": template("rules"), "most": str(MOST)})
    shared = "\n\n".join(part for part in (task, subject.opening) if part)
    own = [subject.listed([statement]), observation_text(observation), "Answer for this statement now."]
    return Prompt(shared=shared, own="\n\n".join(own), prefix_key=f"facts:{sha256(shared)}")


async def _ruling(
    statement: Statement, observation: Observation, subject: Subject, judge: Judge, toolbox: Toolbox
) -> Ruling:
    if not observation.shown:
        return Ruling(statement=statement.id, label="Unknown", reasoning="Nothing was found.")
    fitted = await _fitted(statement, observation, subject, judge)
    if isinstance(fitted, Failure):
        return Ruling(statement=statement.id, failure=fitted)
    prompt = search_prompt(statement, fitted, subject)
    told = await judge.ask(prompt, by_passages(len(fitted.shown)), max_tokens=REPLY_TOKENS)
    if isinstance(told, Failure):
        return Ruling(statement=statement.id, failure=told)
    evidence = tuple(
        evidence_of(_checked(quoted, fitted, toolbox), quoted.stance) for quoted in told.value.evidence
    )
    return ruling_of(statement.id, evidence, told.value, told.replies)


async def _fitted(
    statement: Statement, observation: Observation, subject: Subject, judge: Judge
) -> Observation | Failure:
    """What was found, without the passages at its end for which there is no room."""
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


def _checked(quoted: QuotedPassage, observation: Observation, toolbox: Toolbox) -> CheckedCitation:
    """A quotation looked up in the page that its passage is of: a passage may have been cut."""
    shown = observation.shown[quoted.passage - 1]
    page = toolbox.snapshot.page(shown.url, as_of=toolbox.settings.as_of)
    place = CheckedCitation(
        url=shown.url,
        status="not_in_page",
        quote=quoted.quote,
        title=page.title,
        text_digest=page.text_digest,
    )
    found = QuoteFinder(page.text, page.title).find(quoted.quote)
    if found is None:
        return place
    return place.model_copy(
        update={
            "status": "found",
            "quote": found.text,
            "start": found.start,
            "end": found.end,
            "in_title": found.in_title,
        }
    )
