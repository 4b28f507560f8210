"""Files that tasks are made from: users' questions, questions with answers, DeepResearchEval's files, and other tasks.

Invariants: every row is used, or refused with its place; a row that depends on something unsupported, such as an image,
is refused. What a file says about a task is used and not asked for again; ids are unique and assigned here, since the
published ones are not unique; a value of the wrong type is refused and never converted.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from local_judge.base.errors import InputError, first_problem, not_json
from local_judge.base.rows import is_text, read_jsonl, read_models, read_text
from local_judge.base.strict_json import strict_json
from local_judge.lab.task_construction.model import (
    Assessment,
    Baseline,
    Candidate,
    Clarification,
    Persona,
    Qualification,
    task_id,
)
from local_judge.lab.task_construction.settings import Domain, Quality, Share
from local_judge.tasks.load import load_tasks

M = TypeVar("M", bound=BaseModel)
Said = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class RawQuestion(BaseModel):
    """One line of a file of users' questions."""

    model_config = ConfigDict(frozen=True, extra="forbid", coerce_numbers_to_str=True)

    id: Said
    question: Said
    domain: str = ""
    clarifications: tuple[Clarification, ...] = ()
    """Clarifying questions with the user's answers; if there are any, none are drafted."""


class Item(BaseModel):
    """One line of a file of questions and answers. Other columns of published sets are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore", coerce_numbers_to_str=True)

    id: Said
    question: Said
    answer: Said
    rationale: str = ""
    """Explanation of the answer."""
    domain: str = ""
    category: str = ""
    """Domain, under the name that published sets use."""
    image: Any = Field(default=None, exclude=True)


def read_questions(path: Path) -> list[RawQuestion]:
    """Read the questions of a file. Raises InputError if the file is unreadable or malformed, or an id occurs twice."""
    rows = list(read_models(path, RawQuestion))
    _alone(path, [(place, row.id) for place, row in rows])
    return [row for _, row in rows]


def read_items(path: Path) -> list[Item]:
    """Read the items of a file. Raises InputError like `read_questions`, or for an item with an image."""
    rows = list(read_models(path, Item))
    _alone(path, [(place, row.id) for place, row in rows])
    for place, row in rows:
        if row.image:
            raise InputError(
                f"{place}: item {row.id!r} has an image, and judges read only text; leave the item out"
            )
    return [row for _, row in rows]


def _alone(path: Path, ids: list[tuple[str, str]]) -> None:
    if not ids:
        raise InputError(f"{path}: contains nothing to make tasks from")
    seen: set[str] = set()
    for place, identity in ids:
        if identity in seen:
            raise InputError(f"{place}: id {identity!r} stands twice")
        seen.add(identity)


class Given(NamedTuple):
    """Contents of a file of tasks; missing parts are asked for."""

    personas: tuple[Persona, ...] = ()
    """Personas; if there are no candidates, their tasks are to be written."""
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
    """Decision of the first filter on a task."""

    needs_deep_research: bool = Field(strict=True)
    confidence: Share = Field(alias="confidence_score", strict=True)
    rationale: str = Field(default="", alias="reasoning")


class _Query(_Row):
    deep_research_query: str = Field(min_length=1)
    key_challenges: str = ""
    time_constraint: str | None = None


class _Task(_Query):
    """One line of `intermediate_3`, `_4` or `_5`."""

    domain: str
    expert: _Expert
    filter_result: _Filter | None = None
    baseline_answer: str | None = None


class _Results(_Row):
    needs_deep_research: bool = Field(strict=True)
    confidence: Share = Field(alias="confidence_score", strict=True)
    quality: Quality = Field(alias="quality_assessment")
    score: Share = Field(alias="quality_score", strict=True)
    requires_search: bool = Field(strict=True)


class _Retained(_Row):
    """One line of `test_tasks`."""

    domain: str
    expert: _Expert
    query: _Query
    evaluation_results: _Results | None = None
    baseline_answer: str | None = None


def read_given(path: Path) -> Given:
    """Read a file of experts, tasks, qualified tasks, baselines or retained tasks, or of tasks of another kind.

    Args:
        path: JSON list or JSONL of DeepResearchEval's rows, or any file that `load_tasks` reads.

    Raises:
        InputError: The file cannot be read, or a row lacks a value or has one of the wrong type.
    """
    rows = _rows(path)
    first = rows[0][1] if rows else {}
    if "evaluation_results" in first or isinstance(first.get("query"), dict):
        return _tasks(_retained(*row) for row in rows)
    if "deep_research_query" in first:
        return _tasks(_task(*row) for row in rows)
    if {"name", "role", "background"} <= first.keys():
        return _experts(rows)
    return _others(path)


class _Given(NamedTuple):
    """A task of a file with what is decided on it."""

    place: str
    domain: str
    expert: _Expert
    query: _Query
    baseline: str | None
    qualification: Mapping[str, Any] | None
    assessment: Mapping[str, Any] | None


def _task(place: str, row: Mapping[str, Any]) -> _Given:
    task = _read(place, row, _Task)
    found = task.filter_result.model_dump() if task.filter_result is not None else None
    return _Given(place, task.domain, task.expert, task, task.baseline_answer, found, None)


def _retained(place: str, row: Mapping[str, Any]) -> _Given:
    task = _read(place, row, _Retained)
    results, of_filter = task.evaluation_results, {"needs_deep_research", "confidence"}
    found = (
        (results.model_dump(include=of_filter), results.model_dump(exclude=of_filter))
        if results is not None
        else (None, None)
    )
    return _Given(place, task.domain, task.expert, task.query, task.baseline_answer, *found)


def _tasks(rows: Iterable[_Given]) -> Given:
    """Number personas within their domain and tasks within their persona, in order."""
    personas: dict[tuple[str, str, str], Persona] = {}
    candidates: list[Candidate] = []
    qualifications: dict[str, Qualification] = {}
    baselines: dict[str, Baseline] = {}
    assessments: dict[str, Assessment] = {}
    for place, domain, expert, query, baseline, qualification, assessment in rows:
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
        if qualification is not None:
            qualifications[identity] = Qualification(id=identity, **qualification)
        if baseline is not None:
            baselines[identity] = Baseline(id=identity, answer=baseline)
        if assessment is not None:
            assessments[identity] = Assessment(id=identity, **assessment)
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
        raise InputError(
            f"{place}: domain {domain!r} needs a letter a to z or a digit, from which its ids are made"
        )
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
        problem = first_problem(error, "the row", model)
        raise InputError(
            f"{place}: {problem}; correct it, or remove the decision to have it made again"
        ) from None


def _rows(path: Path) -> list[tuple[str, dict[str, Any]]]:
    """Return the objects of a JSON list or a JSONL file with their places; none for other kinds of files."""
    if path.is_dir() or path.suffix.lower() == ".csv":
        return []
    if not read_text(path).lstrip().startswith("["):
        return list(_checked(read_jsonl(path)))
    try:
        data: object = strict_json(read_text(path))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: {not_json(error)}") from None
    items = cast("list[object]", data)
    odd = [number for number, item in enumerate(items) if not isinstance(item, dict)]
    if odd or not items:
        raise InputError(f"{path}[{odd[0]}]: expected an object" if odd else f"{path}: no tasks in it")
    return list(_checked((f"{path}[{n}]", cast("dict[str, Any]", item)) for n, item in enumerate(items)))


def _checked(rows: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    for place, row in rows:
        if not is_text(json.dumps(row, ensure_ascii=False)):
            raise InputError(f"{place}: contains a lone surrogate, which cannot be written as UTF-8")
        yield place, row
