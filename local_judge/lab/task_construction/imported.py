"""Tasks that somebody else has made, from which a build goes on: DeepResearchEval's files, or any file of tasks.

Invariants: what a file says of a task is used and not asked for again; every id is ours, and unique, since the
published ones are not; a value of the wrong kind is refused with its place, never read as something else.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from indexes.strict_json import strict_json
from local_judge.errors import InputError
from local_judge.lab.task_construction.model import (
    Assessment,
    Baseline,
    Candidate,
    Persona,
    Qualification,
    task_id,
)
from local_judge.lab.task_construction.settings import Domain, Quality, Share
from local_judge.rows import is_text, read_jsonl, read_text
from local_judge.tasks.load import load_tasks

M = TypeVar("M", bound=BaseModel)


class Given(NamedTuple):
    """What a file brings; what it lacks is asked for."""

    personas: tuple[Persona, ...] = ()
    """Alone where the file is of persons: their tasks are to be written."""
    candidates: tuple[Candidate, ...] = ()
    qualifications: Mapping[str, Qualification] = {}
    baselines: Mapping[str, Baseline] = {}
    assessments: Mapping[str, Assessment] = {}


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class _Expert(_Row):
    name: str
    role: str
    affiliation: str = ""
    background: str
    subdomain: str = ""
    domain: str | None = None


class _Filter(_Row):
    """Of a task that passed the first filter."""

    needs_deep_research: bool = Field(strict=True)
    confidence_score: Share = Field(strict=True)
    reasoning: str = ""


class _Query(_Row):
    deep_research_query: str = Field(min_length=1)
    key_challenges: str = ""
    time_constraint: str | None = None


class _Task(_Query):
    """A line of `intermediate_3`, `_4` or `_5`."""

    domain: str
    expert: _Expert
    filter_result: _Filter | None = None
    baseline_answer: str | None = None


class _Results(_Row):
    needs_deep_research: bool = Field(strict=True)
    confidence_score: Share = Field(strict=True)
    quality_assessment: Quality
    quality_score: Share = Field(strict=True)
    requires_search: bool = Field(strict=True)


class _Retained(_Row):
    """A line of `test_tasks`."""

    domain: str
    expert: _Expert
    query: _Query
    evaluation_results: _Results | None = None
    baseline_answer: str | None = None


def read_given(path: Path) -> Given:
    """What a file of experts, tasks, qualified tasks, baselines or retained tasks brings; or of tasks of another kind.

    Args:
        path: a JSON list or JSONL of DeepResearchEval's rows, or whatever `load_tasks` reads.

    Raises:
        InputError: it cannot be read, a row lacks what the others have, or holds a value of the wrong kind.
    """
    rows = _rows(path)
    first = rows[0][1] if rows else {}
    if "evaluation_results" in first or isinstance(first.get("query"), dict):
        return _tasks([(place, *_retained(place, row)) for place, row in rows])
    if "deep_research_query" in first:
        return _tasks([(place, *_task(place, row)) for place, row in rows])
    if {"name", "role", "background"} <= first.keys():
        return _experts(rows)
    return _others(path)


class _Decided(NamedTuple):
    qualification: Mapping[str, Any] | None
    baseline: str | None
    assessment: Mapping[str, Any] | None


def _task(place: str, row: Mapping[str, Any]) -> tuple[str, _Expert, _Query, _Decided]:
    task = _read(place, row, _Task)
    sure = task.filter_result
    found = sure and {
        "needs_deep_research": sure.needs_deep_research,
        "confidence": sure.confidence_score,
        "rationale": sure.reasoning,
    }
    return task.domain, task.expert, task, _Decided(found, task.baseline_answer, None)


def _retained(place: str, row: Mapping[str, Any]) -> tuple[str, _Expert, _Query, _Decided]:
    task = _read(place, row, _Retained)
    results = task.evaluation_results
    if results is None:
        return task.domain, task.expert, task.query, _Decided(None, task.baseline_answer, None)
    sure = {
        "needs_deep_research": results.needs_deep_research,
        "confidence": results.confidence_score,
    }
    assessed = {
        "quality": results.quality_assessment,
        "score": results.quality_score,
        "requires_search": results.requires_search,
    }
    return task.domain, task.expert, task.query, _Decided(sure, task.baseline_answer, assessed)


def _tasks(rows: Sequence[tuple[str, str, _Expert, _Query, _Decided]]) -> Given:
    """Persons are numbered within their domain and tasks within their person, as they come."""
    personas: dict[tuple[str, str, str], Persona] = {}
    candidates: list[Candidate] = []
    qualifications: dict[str, Qualification] = {}
    baselines: dict[str, Baseline] = {}
    assessments: dict[str, Assessment] = {}
    for place, domain, expert, query, decided in rows:
        key = (domain, expert.name, expert.role)
        if key not in personas:
            personas[key] = _persona(place, expert, domain, personas.values())
        persona = personas[key]
        number = 1 + sum(candidate.persona == persona.id for candidate in candidates)
        identity = task_id(f"{persona.id}-t{number}", query.deep_research_query)
        candidates.append(
            Candidate(
                id=identity,
                prompt=query.deep_research_query,
                domain=domain,
                persona=persona.id,
                challenges=query.key_challenges,
                period=query.time_constraint or "",
            )
        )
        if decided.qualification is not None:
            qualifications[identity] = Qualification(id=identity, **decided.qualification)
        if decided.baseline is not None:
            baselines[identity] = Baseline(id=identity, answer=decided.baseline)
        if decided.assessment is not None:
            assessments[identity] = Assessment(id=identity, **decided.assessment)
    return Given(tuple(personas.values()), tuple(candidates), qualifications, baselines, assessments)


def _experts(rows: Sequence[tuple[str, Mapping[str, Any]]]) -> Given:
    personas: list[Persona] = []
    for place, row in rows:
        expert = _read(place, row, _Expert)
        if expert.domain is None:
            raise InputError(f"{place}: expert {expert.name!r} has no `domain`")
        personas.append(_persona(place, expert, expert.domain, personas))
    return Given(personas=tuple(personas))


def _persona(place: str, expert: _Expert, domain: str, before: Any) -> Persona:
    slug = Domain(name=domain[:80] or "-").slug
    if not slug:
        raise InputError(f"{place}: domain {domain!r} has neither a letter of a to z nor a digit for its ids")
    number = 1 + sum(Domain(name=persona.domain[:80]).slug == slug for persona in before)
    said = expert.model_dump(exclude={"domain"})
    return Persona(id=f"{slug}-p{number}", domain=domain, **said)


def _others(path: Path) -> Given:
    tasks = load_tasks(path).values()
    return Given(
        candidates=tuple(Candidate(id=task.id, prompt=task.prompt, domain=task.topic or "") for task in tasks)
    )


def _read(place: str, row: Mapping[str, Any], model: type[M]) -> M:
    try:
        return model.model_validate(row)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        what = "is missing" if first["type"] == "missing" else first["msg"]
        raise InputError(
            f"{place}: {key}: {what}; correct it, or leave out what was decided, to have it decided anew"
        ) from None


def _rows(path: Path) -> list[tuple[str, dict[str, Any]]]:
    """The objects of a JSON list or of a JSONL file with their places; none where it is of another kind."""
    if path.is_dir() or path.suffix.lower() == ".csv":
        return []
    if not read_text(path).lstrip().startswith("["):
        return list(_checked(read_jsonl(path)))
    try:
        data: object = strict_json(read_text(path))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not JSON ({error})") from None
    items = cast("list[object]", data)
    odd = [number for number, item in enumerate(items) if not isinstance(item, dict)]
    if odd or not items:
        raise InputError(f"{path}[{odd[0]}]: expected an object" if odd else f"{path}: no tasks in it")
    return list(_checked((f"{path}[{n}]", cast("dict[str, Any]", item)) for n, item in enumerate(items)))


def _checked(rows: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    for place, row in rows:
        if not is_text(json.dumps(row, ensure_ascii=False)):
            raise InputError(f"{place}: holds half a character (a lone surrogate), which cannot be written")
        yield place, row
