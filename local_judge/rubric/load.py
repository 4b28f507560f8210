"""Rubrics from files.

| file | one rubric is | an item |
|---|---|---|
| TOML, JSON, JSONL of this package and of `verifiers` | the file, a table, or a row with `criteria` | `name`, `text` |
| DeepResearch Bench II | a row with `content.rubric`, lists of texts by dimension | a text |
| ResearchRubrics | a row with `rubrics` | `criterion`, `weight`, `axis` |
| DRACO | a row whose `answer` is a JSON text with `sections` | `id`, `requirement`, `weight` |
| ResearcherBench | an object with `rubric`, in a list | `point`, `weight` |

Invariant: the keys of a row, not the name of the file, select the format; a row that does not fit is refused in one
line that names its place.
"""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple, cast

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, Json, ValidationError

from indexes.urls import UrlError, normalise_url
from local_judge.base.errors import InputError, first_problem
from local_judge.base.model import Frozen
from local_judge.base.rows import object_of, read_jsonl, read_text, row_of
from local_judge.base.strict_json import strict_json
from local_judge.rubric.items import YES_NO, Item, Rubric, path_id


def _as_text(value: object) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


Id = Annotated[str, BeforeValidator(_as_text)]
"""Id that some files give as a number."""


class _Criterion(Frozen, strict=True):
    name: str | None = None
    text: str
    weight: float = 1.0
    choices: tuple[str, ...] = YES_NO
    anchors: tuple[str, ...] = ()
    group: str = ""


def _check_address(url: str) -> str:
    try:
        normalise_url(url)
    except UrlError as error:
        raise ValueError(str(error)) from None
    return url


Address = Annotated[str, AfterValidator(_check_address)]


class _Own(Frozen):
    task_id: Id | None = None
    prompt: str | None = None
    criteria: tuple[_Criterion, ...]
    blocked: tuple[Address, ...] = ()


class _Published(BaseModel):
    """Part of a published row; the other keys of the row are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False, strict=True)


class _Blocked(_Published):
    urls: tuple[Address, ...] | None = None


class _Content(_Published):
    rubric: dict[str, tuple[str, ...]]
    blocked: _Blocked = _Blocked()


class _BenchTwo(_Published):
    id: Id
    prompt: str
    content: _Content


class _WeightedCriterion(_Published):
    criterion: str
    weight: float
    axis: str = ""


class _ResearchRubrics(_Published):
    sample_id: Id
    prompt: str
    rubrics: tuple[_WeightedCriterion, ...]


class _Requirement(_Published):
    id: str
    requirement: str
    weight: float


class _Section(_Published):
    id: str
    criteria: tuple[_Requirement, ...]


class _Answer(_Published):
    sections: tuple[_Section, ...]


class _Draco(_Published):
    id: Id
    problem: str
    answer: Json[_Answer]


class _Point(_Published):
    point: str
    weight: float = 1.0


class _ResearcherBench(_Published):
    id: Id
    question: str
    rubric: tuple[_Point, ...] = Field(min_length=1)


Entry = Mapping[str, Any]
"""Fields of an item; one without an id gets its number."""


class _Found(NamedTuple):
    task: str | None
    prompt: str | None
    items: Sequence[Entry]
    blocked: Sequence[str] = ()


def _own(row: _Own) -> _Found:
    entries = [{**one.model_dump(exclude={"name"}), "id": path_id(one.name or "")} for one in row.criteria]
    return _Found(row.task_id, row.prompt, entries, row.blocked)


def _bench_two(row: _BenchTwo) -> _Found:
    entries = [
        {"id": f"{path_id(group)}.{number}", "text": text, "group": group}
        for group, texts in row.content.rubric.items()
        for number, text in enumerate(texts, 1)
    ]
    return _Found(row.id, row.prompt, entries, row.content.blocked.urls or ())


def _researchrubrics(row: _ResearchRubrics) -> _Found:
    entries = [{"text": one.criterion, "weight": one.weight, "group": one.axis} for one in row.rubrics]
    return _Found(row.sample_id, row.prompt, entries)


def _draco(row: _Draco) -> _Found:
    entries = [
        {"id": path_id(one.id), "text": one.requirement, "weight": one.weight, "group": section.id}
        for section in row.answer.sections
        for one in section.criteria
    ]
    return _Found(row.id, row.problem, entries)


def _researcherbench(row: _ResearcherBench) -> _Found:
    return _Found(row.id, row.question, [{"text": one.point, "weight": one.weight} for one in row.rubric])


class _Format(NamedTuple):
    key: str
    """Key that only rows of this format have."""
    model: type[BaseModel]
    read: Callable[[Any], _Found]


FORMATS = (
    _Format("criteria", _Own, _own),
    _Format("content", _BenchTwo, _bench_two),
    _Format("rubrics", _ResearchRubrics, _researchrubrics),
    _Format("answer", _Draco, _draco),
    _Format("rubric", _ResearcherBench, _researcherbench),
)


def load_rubrics(path: Path) -> tuple[Rubric, ...]:
    """Read the rubrics of a file: one for all tasks, or one for each task.

    Raises:
        InputError: the file cannot be read, has no rubric, a row fits none of the formats, or a task has two rubrics.
    """
    rubrics = tuple(_rubric(row, place) for place, row in _rows(path))
    tasks = [one.task for one in rubrics]
    twice = next((task for task, times in Counter(tasks).items() if times > 1), None)
    if not rubrics or (len(rubrics) > 1 and None in tasks) or twice is not None:
        why = (
            f"two rubrics for the task {twice!r}" if twice else "give one rubric, or one with an id per task"
        )
        raise InputError(f"{path}: {why}")
    return rubrics


def _rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the rubrics of a file as rows, with their places."""
    if path.suffix.lower() not in (".toml", ".json"):
        yield from read_jsonl(path)
        return
    text = read_text(path)
    try:
        if path.suffix.lower() == ".toml":
            data: Any = json.loads(json.dumps(tomllib.loads(text), default=str))  # dates become texts
        else:
            data = strict_json(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: {' '.join(str(error).split())[:200]}") from None
    if isinstance(data, list):
        rows = cast("list[object]", data)
        if rows and isinstance(rows[0], dict) and "text" in rows[0]:
            yield str(path), {"criteria": rows}
        else:
            yield from ((f"{path}[{i}]", object_of(row, f"{path}[{i}]")) for i, row in enumerate(rows))
    elif "criteria" in object_of(data, str(path)):
        yield str(path), data
    else:
        for task, table in data.items():
            yield f"{path}: {task}", {**object_of(table, f"{path}: {task}"), "task_id": task}


def _rubric(row: dict[str, Any], place: str) -> Rubric:
    for one in FORMATS:
        if one.key in row:
            found = one.read(row_of(one.model, row, place))
            break
    else:
        keys = ", ".join(f"`{one.key}`" for one in FORMATS)
        raise InputError(f"{place}: no rubric; a row has one of the keys {keys}")
    try:
        items = tuple(
            Item.model_validate({**entry, "id": entry.get("id") or str(number)})
            for number, entry in enumerate(found.items, 1)
        )
        return Rubric(items=items, blocked=tuple(found.blocked), task=found.task, prompt=found.prompt)
    except ValidationError as error:
        raise InputError(f"{place}: {first_problem(error, 'the rubric', Item)}") from None
