"""Files that tasks are made from: users' questions, and questions with their answers.

Invariant: every row is used or refused with its place; a row that cannot become a task without what is left out of it,
such as an image, is refused.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from local_judge.errors import InputError
from local_judge.lab.task_construction.model import Clarification
from local_judge.rows import read_models

Said = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class RawQuestion(BaseModel):
    """A line of a file of users' questions."""

    model_config = ConfigDict(frozen=True, extra="forbid", coerce_numbers_to_str=True)

    id: Said
    question: Said
    domain: str = ""
    clarifications: tuple[Clarification, ...] = ()
    """What the user was asked back and answered; where there are some, no others are drafted."""


class Item(BaseModel):
    """A line of a file of questions and answers. Other columns of published sets are not looked at."""

    model_config = ConfigDict(frozen=True, extra="ignore", coerce_numbers_to_str=True)

    id: Said
    question: Said
    answer: Said
    rationale: str = ""
    """Why the answer is right."""
    domain: str = ""
    category: str = ""
    """As `domain`, by the name that published sets give it."""
    image: Any = Field(default=None, exclude=True)


def read_questions(path: Path) -> list[RawQuestion]:
    """The questions of a file. Raises InputError: it cannot be read, a row is malformed, or an id stands twice."""
    rows = list(read_models(path, RawQuestion))
    _alone(path, [(place, row.id) for place, row in rows])
    return [row for _, row in rows]


def read_items(path: Path) -> list[Item]:
    """The items of a file. Raises InputError as `read_questions`, or for an item with an image."""
    rows = list(read_models(path, Item))
    _alone(path, [(place, row.id) for place, row in rows])
    for place, row in rows:
        if row.image:
            raise InputError(f"{place}: item {row.id!r} has an image, which no judge here sees; leave it out")
    return [row for _, row in rows]


def _alone(path: Path, ids: list[tuple[str, str]]) -> None:
    if not ids:
        raise InputError(f"{path}: nothing in it to make tasks from")
    seen: set[str] = set()
    for place, identity in ids:
        if identity in seen:
            raise InputError(f"{place}: id {identity!r} stands twice")
        seen.add(identity)
