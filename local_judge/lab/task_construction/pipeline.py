"""Stages of a build, in sequence.

Invariants: model calls go through the ledger, so that a restarted build repeats none; a failure is a row, and its task
is counted but not decided on; results keep the order of the settings and the files, whichever reply came first.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from local_judge.base.failures import Failure
from local_judge.judge.judge import Judge
from local_judge.lab.task_construction.clarify import clarify
from local_judge.lab.task_construction.filters import Method, likenesses
from local_judge.lab.task_construction.judging import answer_from_memory, assess, qualify
from local_judge.lab.task_construction.model import Candidate, Generator, GivenAway, Missing, Persona, Stage
from local_judge.lab.task_construction.outcome import Build
from local_judge.lab.task_construction.personas import invent, write_tasks
from local_judge.lab.task_construction.reformulate import reformulate
from local_judge.lab.task_construction.settings import BuildConfig
from local_judge.lab.task_construction.sources import Given, Item, RawQuestion

A = TypeVar("A")
B = TypeVar("B")

AT_ONCE = 16
"""Maximum number of concurrent requests."""


@dataclass(frozen=True)
class Source:
    """Input of a build: one of these, or the domains of the config."""

    questions: Sequence[RawQuestion] | None = None
    items: Sequence[Item] | None = None
    given: Given | None = None

    @property
    def generator(self) -> Generator:
        """Way in which the tasks are made."""
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
        build: Build to fill.
        config: Config with a date.
        source: Input of the build.
        judge: Judge to ask.
        method: Method for duplicates; None keeps duplicates.
        stored: Called after each stage to write the new parts of `build`.

    Raises:
        LedgerError: A reply could not be stored.
        IndexesError: Texts could not be embedded.
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
        build, "qualify", undecided, build.qualifications, lambda one: qualify(one, who(one), judge)
    )
    stored("qualify")
    waiting = [one for one in build.qualified(config) if one.id not in build.assessments]
    unanswered = [one for one in waiting if one.id not in build.baselines]
    await _decide(
        build,
        "baseline",
        unanswered,
        build.baselines,
        lambda one: answer_from_memory(one, who(one), config, judge),
    )
    stored("baseline")
    answered = [one for one in waiting if one.id in build.baselines]
    await _decide(
        build,
        "necessity",
        answered,
        build.assessments,
        lambda one: assess(one, who(one), build.baselines[one.id], config, judge),
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
    elif source.given is not None:
        _take(build, (*source.given.personas, *source.given.candidates))
    else:
        for rows in await _each(config.domains, lambda domain: invent(domain, config, judge)):
            _take(build, rows)
    if source.generator == "personas":
        for rows in await _each(_placed(build.personas), lambda one: write_tasks(*one, config, judge)):
            _take(build, rows)


def _placed(personas: Sequence[Persona]) -> list[tuple[Persona, int]]:
    """Return each persona with its position among those of its domain."""
    before: Counter[str] = Counter()
    placed: list[tuple[Persona, int]] = []
    for persona in personas:
        placed.append((persona, before[persona.domain]))
        before[persona.domain] += 1
    return placed


def _take(build: Build, found: Iterable[Persona | Candidate | GivenAway | Missing]) -> None:
    for one in found:
        match one:
            case Persona():
                build.personas.append(one)
            case Candidate():
                build.candidates.append(one)
            case GivenAway():
                build.given_away.append(one)
            case Missing():
                build.missing.append(one)


async def _decide(
    build: Build,
    stage: Stage,
    candidates: Sequence[Candidate],
    into: dict[str, B],
    ask: Callable[[Candidate], Awaitable[B | Failure]],
) -> None:
    for candidate, found in zip(candidates, await _each(candidates, ask), strict=True):
        if isinstance(found, Failure):
            build.missing.append(
                Missing(stage=stage, about=candidate.id, domain=candidate.domain, failure=found)
            )
        else:
            into[candidate.id] = found


async def _each(things: Sequence[A], ask: Callable[[A], Awaitable[B]]) -> list[B]:
    """Return the answers in the order of the things."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(thing: A) -> B:
        async with gate:
            return await ask(thing)

    return list(await asyncio.gather(*(one(thing) for thing in things)))
