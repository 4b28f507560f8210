"""Tasks from domains: persons are invented for each, and tasks for each person, as DeepResearchEval does.

Invariants: the numbers asked for are those of the settings, and what is missing is asked for again; what stays missing
is a failure that says how many tasks are missing with it; ids are by domain, person and number, and do not change when
a later part is asked for again.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, NamedTuple

from pydantic import Field

from local_judge.judge.judge import Judge
from local_judge.judge.layout import Prompt, fence, fill, load_prompt
from local_judge.lab.task_construction.gather import Kind, Reply, gather, standing
from local_judge.lab.task_construction.model import Candidate, Missing, Persona, task_id
from local_judge.lab.task_construction.requesting import laid_out
from local_judge.lab.task_construction.settings import BuildConfig, Domain
from local_judge.tasks.languages import language_name

template = partial(load_prompt, "local_judge.lab.task_construction")

Line = Annotated[str, Field(max_length=160)]


class PersonaReply(Reply):
    """A person as the judge writes it."""

    name: Annotated[str, Field(min_length=2, max_length=80)]
    role: Annotated[str, Field(min_length=2, max_length=160)]
    affiliation: Line
    background: Annotated[str, Field(min_length=10, max_length=2000)]
    subdomain: Line


class TaskReply(Reply):
    """A task as the judge writes it."""

    request: Annotated[str, Field(min_length=20, max_length=900)]
    challenges: Annotated[str, Field(max_length=400)]
    period: Line


def _who(one: PersonaReply) -> str:
    return f"{one.name}, {one.role}"


def _what(one: TaskReply) -> str:
    return one.request


PERSONAS = Kind("personas", PersonaReply, _who, 500)
TASKS = Kind("tasks", TaskReply, _what, 300)


class Invented(NamedTuple):
    """The persons of one domain."""

    personas: tuple[Persona, ...]
    missing: Missing | None


class Written(NamedTuple):
    """The tasks of one person."""

    candidates: tuple[Candidate, ...]
    missing: Missing | None


async def invent(domain: Domain, config: BuildConfig, judge: Judge) -> Invented:
    """The persons of a domain. Raises LedgerError."""
    wanted = config.make.personas
    found = await gather(judge, PERSONAS, wanted, lambda items, n: persona_prompt(domain, config, items, n))
    personas = tuple(
        Persona(
            id=f"{domain.slug}-p{number}",
            domain=domain.name,
            name=_line(item.name),
            role=_line(item.role),
            affiliation=_line(item.affiliation),
            background=_line(item.background),
            subdomain=_line(item.subdomain),
            replies=replies,
        )
        for number, (item, replies) in enumerate(zip(found.items, found.replies, strict=True), 1)
    )
    if found.failure is None:
        return Invented(personas, None)
    lost = (wanted - len(personas)) * config.make.tasks
    return Invented(
        personas,
        Missing(stage="generate", about=domain.slug, domain=domain.name, n_tasks=lost, failure=found.failure),
    )


async def write_tasks(persona: Persona, place: int, config: BuildConfig, judge: Judge) -> Written:
    """The tasks of a person.

    Args:
        persona: whose tasks.
        place: of the person among those of the domain, from 0.
        config: how many, and under which conditions.
        judge: who is asked.

    Raises:
        LedgerError: a reply could not be stored.
    """
    wanted, timed = config.make.tasks, config.make.timed(place)
    found = await gather(
        judge, TASKS, wanted, lambda items, n: tasks_prompt(persona, config, items, n, timed)
    )
    candidates: list[Candidate] = []
    for number, (item, replies) in enumerate(zip(found.items, found.replies, strict=True), 1):
        prompt = item.request.strip()
        candidates.append(
            Candidate(
                id=task_id(f"{persona.id}-t{number}", prompt),
                prompt=prompt,
                domain=persona.domain,
                generator="personas",
                persona=persona.id,
                challenges=_line(item.challenges),
                period=_line(item.period),
                replies=replies,
            )
        )
    if found.failure is None:
        return Written(tuple(candidates), None)
    lost = wanted - len(candidates)
    return Written(
        tuple(candidates),
        Missing(
            stage="generate", about=persona.id, domain=persona.domain, n_tasks=lost, failure=found.failure
        ),
    )


def persona_prompt(domain: Domain, config: BuildConfig, stand: Sequence[PersonaReply], n: int) -> Prompt:
    """The prompt that asks for `n` persons beside those that stand."""
    about = f"{domain.name}: {domain.about}" if domain.about else domain.name
    least, most = config.make.background_words
    values = {
        "wanted": "1 person" if n == 1 else f"{n} persons",
        "least": str(least),
        "most": str(most),
        "standing": standing([PERSONAS.text(one) for one in stand]),
        "language": language_name(config.language),
    }
    return laid_out(fence(about, "Domain:"), fill(template("personas"), values))


def tasks_prompt(
    persona: Persona, config: BuildConfig, stand: Sequence[TaskReply], n: int, timed: int
) -> Prompt:
    """The prompt that asks for `n` tasks beside those that stand; `timed` of all of them state a time."""
    least, most = config.make.request_words
    lacking = timed - sum(bool(_line(one.period)) for one in stand)
    values = {
        "wanted": "1 research request" if n == 1 else f"{n} research requests",
        "least": str(least),
        "most": str(most),
        "timed": _timed(min(max(lacking, 0), n), n),
        "date": config.today,
        "standing": standing([_line(one.request) for one in stand]),
        "language": language_name(config.language),
    }
    return laid_out(fence(persona.says, "Person:"), fill(template("tasks"), values))


def _timed(n: int, of: int) -> str:
    if n == of:
        return "every request"
    return f"{n} of the {of} requests and in no other" if n else "no request"


def _line(text: str) -> str:
    return " ".join(text.split())
