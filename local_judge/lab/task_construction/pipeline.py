"""The stages of a build, one after the other.

Invariants: what a stage needs of a judge is asked through the ledger, so that a build which is started again asks
nothing twice; a failure of ours is a row and keeps a task from being decided on, never from being counted; the order of
what is made is that of the settings and the files, whatever was answered first.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from local_judge.judge.failures import Failure
from local_judge.judge.judge import Judge
from local_judge.lab.task_construction.clarify import clarify
from local_judge.lab.task_construction.duplicates import Method, likenesses
from local_judge.lab.task_construction.imported import Given
from local_judge.lab.task_construction.judging import answer_from_memory, assess, qualify
from local_judge.lab.task_construction.model import Candidate, Generator, GivenAway, Missing, Persona, Stage
from local_judge.lab.task_construction.outcome import Build
from local_judge.lab.task_construction.personas import invent, write_tasks
from local_judge.lab.task_construction.reformulate import reformulate
from local_judge.lab.task_construction.settings import BuildConfig
from local_judge.lab.task_construction.sources import Item, RawQuestion

A = TypeVar("A")
B = TypeVar("B")

AT_ONCE = 16
"""Things asked about at the same time."""


@dataclass(frozen=True)
class Source:
    """What tasks are made from: domains of the config, unless one of the others is there."""

    questions: Sequence[RawQuestion] | None = None
    items: Sequence[Item] | None = None
    given: Given | None = None

    @property
    def generator(self) -> Generator:
        """What makes the tasks."""
        if self.questions is not None:
            return "clarify"
        if self.items is not None:
            return "reformulate"
        return "personas" if self.given is None or not self.given.candidates else "given"


async def make(
    build: Build,
    config: BuildConfig,
    source: Source,
    judge: Judge,
    method: Method | None,
    stored: Callable[[Stage], None],
) -> None:
    """Run all stages that a judge or code decides.

    Args:
        build: filled in.
        config: with a date.
        source: what tasks are made from.
        judge: who is asked.
        method: by which duplicates are found; None where they are not looked for.
        stored: called after each stage, to write what is new in `build`.

    Raises:
        LedgerError: a reply could not be stored.
        IndexesError: texts could not be embedded.
    """
    await _generate(build, config, source, judge)
    stored("generate")
    if source.given is not None:
        build.qualifications.update(source.given.qualifications)
        build.baselines.update(source.given.baselines)
        build.assessments.update(source.given.assessments)
    people = {persona.id: persona for persona in build.personas}

    def who(candidate: Candidate) -> Persona | None:
        return people.get(candidate.persona or "")

    undecided = [one for one in build.candidates if one.id not in build.qualifications]
    await _decide(
        build, "qualify", undecided, lambda one: qualify(one, who(one), judge), build.qualifications
    )
    stored("qualify")
    waiting = [one for one in build.qualified(config) if one.id not in build.assessments]
    unanswered = [one for one in waiting if one.id not in build.baselines]
    await _decide(
        build,
        "baseline",
        unanswered,
        lambda one: answer_from_memory(one, who(one), config, judge),
        build.baselines,
    )
    stored("baseline")
    answered = [one for one in waiting if one.id in build.baselines]
    await _decide(
        build,
        "necessity",
        answered,
        lambda one: assess(one, who(one), build.baselines[one.id], config, judge),
        build.assessments,
    )
    stored("necessity")
    if method is not None:
        found = likenesses(build.necessary(config), method, config.duplicates.at_least)
        build.likenesses.update({like.id: like for like in found})
    stored("duplicates")


async def _generate(build: Build, config: BuildConfig, source: Source, judge: Judge) -> None:
    if source.questions is not None:
        _take(build, await _each(source.questions, lambda raw: clarify(raw, config, judge)))
    elif source.items is not None:
        _take(build, await _each(source.items, lambda item: reformulate(item, config, judge)))
    elif source.given is not None and source.given.candidates:
        build.personas += source.given.personas
        build.candidates += source.given.candidates
    else:
        await _from_personas(build, config, source, judge)


async def _from_personas(build: Build, config: BuildConfig, source: Source, judge: Judge) -> None:
    if source.given is not None:
        build.personas += source.given.personas
    else:
        for invented in await _each(config.domains, lambda domain: invent(domain, config, judge)):
            build.personas += invented.personas
            build.missing += [invented.missing] if invented.missing is not None else []
    placed = _placed(build.personas)
    for written in await _each(placed, lambda one: write_tasks(*one, config, judge)):
        build.candidates += written.candidates
        build.missing += [written.missing] if written.missing is not None else []


def _placed(personas: Sequence[Persona]) -> list[tuple[Persona, int]]:
    """Each with its place among those of its domain."""
    before: Counter[str] = Counter()
    placed: list[tuple[Persona, int]] = []
    for persona in personas:
        placed.append((persona, before[persona.domain]))
        before[persona.domain] += 1
    return placed


def _take(build: Build, found: Iterable[Candidate | GivenAway | Missing]) -> None:
    for one in found:
        if isinstance(one, Missing):
            build.missing.append(one)
        elif isinstance(one, GivenAway):
            build.given_away.append(one)
        else:
            build.candidates.append(one)


async def _decide(
    build: Build,
    stage: Stage,
    candidates: Sequence[Candidate],
    ask: Callable[[Candidate], Awaitable[B | Failure]],
    into: dict[str, B],
) -> None:
    for candidate, found in zip(candidates, await _each(candidates, ask), strict=True):
        if isinstance(found, Failure):
            build.missing.append(
                Missing(stage=stage, about=candidate.id, domain=candidate.domain, failure=found)
            )
        else:
            into[candidate.id] = found


async def _each(things: Sequence[A], ask: Callable[[A], Awaitable[B]]) -> list[B]:
    """Answers in the order of the things."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(thing: A) -> B:
        async with gate:
            return await ask(thing)

    return list(await asyncio.gather(*(one(thing) for thing in things)))
