"""Messages about wrong values, in our own words."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from local_judge.base.errors import InputError, first_problem, not_json, os_errors


class Part(BaseModel):
    """Model below another."""

    model_config = ConfigDict(extra="forbid")
    weight: float = Field(default=1, gt=0, le=2)
    kind: Literal["number", "date"] = "number"


class Whole(BaseModel):
    """Model with most types of values."""

    model_config = ConfigDict(extra="forbid")
    name: str = Field(default="a", min_length=1)
    reports: tuple[Path, ...] = ()
    day: date | None = None
    kinds: tuple[Literal["number", "date"], ...] = ()
    parts: tuple[Part, ...] = ()
    by_name: dict[str, Part] = Field(default_factory=dict[str, Part])
    flag: bool = False
    size: int = Field(default=1, ge=1)


class Needy(BaseModel):
    """Model with keys that must be given."""

    one: str
    two: str
    three: str


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"reports": "x.md"}, "reports must be a list, such as [x.md]"),
        ({"reports": {}}, "reports must be a list (got a dict)"),
        ({"kinds": ["x"]}, "kinds: 'x' is not one of number, date"),
        ({"day": "2026-13-01"}, "day: '2026-13-01' is not a date (YYYY-MM-DD)"),
        ({"name": 5}, "name must be a text (got 5)"),
        ({"name": ""}, "name must not be empty"),
        ({"flag": "perhaps"}, "flag must be true or false (got 'perhaps')"),
        ({"size": 0}, "size must be at least 1 (got 0)"),
        ({"size": None}, "size must be a whole number (got null)"),
        ({"parts": [{"weight": 3}]}, "parts.0.weight must be at most 2 (got 3)"),
        ({"parts": [5]}, "parts.0 must be a mapping of keys to values (got 5)"),
        ({"repots": []}, "repots: unknown key; did you mean reports?"),
        ({"colour": 1}, "colour: unknown key"),
        ({"parts": [{"wieght": 3}]}, "parts.0.wieght: unknown key; did you mean parts.0.weight?"),
        ({"by_name": {"a": {"kinds": 1}}}, "by_name.a.kinds: unknown key; did you mean by_name.a.kind?"),
        (5, "the file must be a mapping of keys to values (got 5)"),
    ],
)
def test_a_problem_is_told_without_the_words_of_the_library(data: Any, said: str) -> None:
    with pytest.raises(ValidationError) as raised:
        Whole.model_validate(data)
    assert first_problem(raised.value, model=Whole) == said


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"one": "", "two": ""}, "three is missing"),
        ({"one": ""}, "two and three are missing"),
        ({}, "one, two and three are missing"),
    ],
)
def test_all_missing_keys_are_named(data: dict[str, str], said: str) -> None:
    with pytest.raises(ValidationError) as raised:
        Needy.model_validate(data)
    assert first_problem(raised.value) == said


def test_what_is_not_json_is_named_by_its_column() -> None:
    with pytest.raises(json.JSONDecodeError) as raised:
        json.loads("{x")
    assert not_json(raised.value) == "not JSON (column 2)"


def test_a_file_that_is_not_there_is_no_such_file() -> None:
    with (
        pytest.raises(InputError, match=r"^a\.yaml: no such file$"),
        os_errors(InputError, "a.yaml: cannot be read"),
    ):
        raise FileNotFoundError(2, "No such file or directory", "a.yaml")
