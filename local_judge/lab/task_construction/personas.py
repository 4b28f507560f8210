"""Tasks from domains: personas are written for each domain, and tasks for each persona, as DeepResearchEval does.

Invariants: the numbers of personas and tasks are those of the settings, and missing ones are asked for again; what
stays missing is a failure with the number of tasks lost; ids consist of domain, persona and number, and do not change
when a later part is asked for again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from local_judge.judge.judge import Judge
from local_judge.lab.task_construction.asking import Kind, gather, laid_out, standing, template
from local_judge.lab.task_construction.model import Candidate, Missing, Persona, not_made, task_id
from local_judge.lab.task_construction.settings import BuildConfig, Domain, Words
from local_judge.prompts import Prompt, fence, fill
from local_judge.tasks.drafting import Reply, language_name, one_line

Line = Annotated[str, Field(max_length=160)]


class PersonaReply(Reply):
    """A persona as the judge writes it."""

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


class PersonasReply(Reply):
    """Several personas."""

    personas: Sequence[PersonaReply]


class TasksReply(Reply):
    """Several tasks."""

    tasks: Sequence[TaskReply]


def _who(one: PersonaReply) -> str:
    return f"{one.name}, {one.role}"


def _what(one: TaskReply) -> str:
    return one.request


PERSONAS = Kind(PersonasReply, PersonaReply, _who, 500)
TASKS = Kind(TasksReply, TaskReply, _what, 300)


async def invent(domain: Domain, config: BuildConfig, judge: Judge) -> list[Persona | Missing]:
    """Return the personas of a domain, and what is missing. Raises LedgerError."""
    wanted = config.make.personas
    found = await gather(judge, PERSONAS, wanted, lambda items, n: persona_prompt(domain, config, items, n))
    rows: list[Persona | Missing] = [
        Persona(
            id=f"{domain.slug}-p{number}",
            domain=domain.name,
            replies=replies,
            **{name: one_line(text) for name, text in item.model_dump().items()},
        )
        for number, (item, replies) in enumerate(zip(found.items, found.replies, strict=True), 1)
    ]
    if found.failure is not None:
        lost = (wanted - len(rows)) * config.make.tasks
        rows.append(not_made(found.failure, domain.slug, domain.name, lost))
    return rows


async def write_tasks(
    persona: Persona, place: int, config: BuildConfig, judge: Judge
) -> list[Candidate | Missing]:
    """Return the tasks of a persona, and what is missing.

    Args:
        persona: Persona that the tasks are for.
        place: Position of the persona among those of the domain, from 0.
        config: Number of tasks, and their conditions.
        judge: Judge to ask.

    Raises:
        LedgerError: A reply could not be stored.
    """
    wanted, timed = config.make.tasks, config.make.timed(place)
    found = await gather(
        judge, TASKS, wanted, lambda items, n: tasks_prompt(persona, config, items, n, timed)
    )
    rows: list[Candidate | Missing] = []
    for number, (item, replies) in enumerate(zip(found.items, found.replies, strict=True), 1):
        prompt = item.request.strip()
        rows.append(
            Candidate(
                id=task_id(f"{persona.id}-t{number}", prompt),
                prompt=prompt,
                domain=persona.domain,
                generator="personas",
                persona=persona.id,
                challenges=one_line(item.challenges),
                period=one_line(item.period),
                replies=replies,
            )
        )
    if found.failure is not None:
        rows.append(not_made(found.failure, persona.id, persona.domain, wanted - len(rows)))
    return rows


def persona_prompt(domain: Domain, config: BuildConfig, stand: Sequence[PersonaReply], n: int) -> Prompt:
    """Return the prompt that asks for `n` personas in addition to those so far."""
    about = f"{domain.name}: {domain.about}" if domain.about else domain.name
    values = {
        "wanted": "1 person" if n == 1 else f"{n} persons",
        "standing": standing([PERSONAS.text(one) for one in stand]),
    }
    own = fill(template("personas"), {**values, **_conditions(config, config.make.background_words)})
    return laid_out(fence(about, "Domain:"), own)


def tasks_prompt(
    persona: Persona, config: BuildConfig, stand: Sequence[TaskReply], n: int, timed: int
) -> Prompt:
    """Return the prompt that asks for `n` tasks in addition to those so far; `timed` of all of them state a time."""
    lacking = timed - sum(bool(one_line(one.period)) for one in stand)
    values = {
        "wanted": "1 research request" if n == 1 else f"{n} research requests",
        "timed": _timed(min(max(lacking, 0), n), n),
        "date": config.today,
        "standing": standing([one_line(one.request) for one in stand]),
    }
    own = fill(template("tasks"), {**values, **_conditions(config, config.make.request_words)})
    return laid_out(fence(persona.says, "Person:"), own)


def _conditions(config: BuildConfig, length: Words) -> dict[str, str]:
    least, most = length
    return {"least": str(least), "most": str(most), "language": language_name(config.language)}


def _timed(n: int, of: int) -> str:
    if n == of:
        return "every request"
    return f"{n} of the {of} requests and in no other" if n else "no request"
