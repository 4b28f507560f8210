"""Words of problems with values that people or programs wrote, for all packages.

Invariant: a message names the key and what it must be, in one line and in our own words instead of a library's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

if TYPE_CHECKING:  # the help of the command line does without it
    from pydantic import BaseModel, ValidationError
    from pydantic_core import ErrorDetails

LONGEST_SHOWN = 60
"""Maximum number of characters of a value quoted in a message."""


def first_problem(
    error: ValidationError,
    whole: str = "the file",
    model: type[BaseModel] | None = None,
    below: str = "",
    noun: str = "key",
) -> str:
    """Return the first problem that a model reports, in our own words: `key.subkey must be a list, such as [x.md]`.

    Args:
        error: raised by a pydantic model.
        whole: name of the value itself, for a problem that belongs to no single key.
        model: the model, whose names are suggested for an unknown one.
        below: path above the model's keys, such as the name of a protocol.
        noun: word for an unknown key.
    """
    found = error.errors(include_url=False)
    first = found[0]
    places = [str(step) for step in first["loc"] if step not in _BRANCHES]
    kind, steps = first["type"], [*([below] if below else []), *places]
    if kind == "missing":
        lacking = [".".join([*steps[:-1], str(one["loc"][-1])]) for one in found if _is_beside(one, first)]
        return f"{listed(lacking)} {'is' if len(lacking) == 1 else 'are'} missing"
    if kind == "extra_forbidden":
        names = _names_at(model, first["loc"][:-1])
        near = get_close_matches(steps[-1], names, 1)
        hint = f"; the settings there are {', '.join(names)}" if names and noun == "setting" else ""
        hint = f"; did you mean {'.'.join([*steps[:-1], *near])}?" if near else hint
        return f"{'.'.join(steps)}: unknown {noun}{hint}"
    if kind in ("literal_error", "enum") and steps and steps[-1].isdecimal():
        steps.pop()  # the message quotes the entry
    key, said = ".".join(steps) or whole, problem_of(first)
    return f"{key} {said}" if said.startswith("must ") else f"{key}: {said}"


def _is_beside(one: ErrorDetails, first: ErrorDetails) -> bool:
    """Check whether a problem is a missing key of the same object as the first one."""
    return one["type"] == "missing" and one["loc"][:-1] == first["loc"][:-1]


def problem_of(first: ErrorDetails) -> str:
    """Return a problem of one value, without its key."""
    kind, value, limits = first["type"], cast("object", first["input"]), first.get("ctx", {})
    if kind in ("value_error", "assertion_error"):
        return str(limits.get("error", first["msg"]))
    if kind == "json_invalid":
        return f"not JSON{_column(str(limits.get('error', '')))}"
    if kind in ("literal_error", "enum"):
        choices = [one.strip("'") for one in _CHOICES.split(str(limits["expected"]))]
        if len(choices) == 1:
            return f"must be {choices[0]} (got {_got(value)})"
        return f"{_got(value)} is not one of {', '.join(choices)}"
    if kind.startswith("date_"):
        return f"{_got(value)} is not a date (YYYY-MM-DD)"
    if kind in _LISTS:
        scalar = isinstance(value, str | int | float | Path) and len(str(value)) <= LONGEST_SHOWN
        return f"must be a list, such as [{value}]" if scalar else f"must be a list (got {_got(value)})"
    if kind in ("too_short", "string_too_short") and limits["min_length"] == 1:
        return "must not be empty"
    for start, wanted in _WANTED:
        if kind.startswith(start):
            sizes = {name: f"{one:g}" if isinstance(one, float) else one for name, one in limits.items()}
            return f"must {wanted.format_map(sizes)} (got {_got(value)})"
    said = first["msg"].removeprefix("Value error, ").replace("Input should ", "must ")
    return f"{said[:1].lower()}{said[1:]} (got {_got(value)})"


def _got(value: object) -> str:
    return "null" if value is None else brief(value)


def _names_at(model: object, steps: Sequence[int | str]) -> list[str]:
    """Return the names of the keys that a model has below some steps; none if they are free."""
    for step in steps:
        fields: Mapping[str, Any] = getattr(model, "model_fields", {})
        if step not in fields:
            continue  # an entry of a list or a mapping, whose type is already that of its entries
        model = fields[str(step)].annotation
        for _ in range(_DEEPEST_TYPE):  # the models inside Optional, Annotated, tuple and dict
            if hasattr(model, "model_fields"):
                break
            inner = [one for one in get_args(model) if get_args(one) or hasattr(one, "model_fields")]
            model = inner[-1] if inner else None
    return list(getattr(model, "model_fields", {}))


def not_json(error: Exception) -> str:
    """Return `not JSON`, with the column or the reason."""
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON (column {error.colno})"
    if isinstance(error, RecursionError):
        return "not JSON (nested too deeply)"
    return f"not JSON ({error})"


def _column(said: str) -> str:
    found = re.search(r"column \d+", said)
    return f" ({found[0]})" if found else ""


def listed(names: Sequence[str]) -> str:
    """Return `a`, `a and b` or `a, b and c`."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def brief(value: object) -> str:
    """Quote a wrong value for a message: a container only by its type, since it may be huge or contain itself."""
    if isinstance(value, dict | list | tuple | set):
        return f"a {type(cast('object', value)).__name__}"
    text = repr(value)
    return text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "…"


def plain(text: str) -> str:
    """Return untrusted text as one line without control characters, for output without markup."""
    return "".join(character if character.isprintable() else " " for character in text)


_DEEPEST_TYPE = 8
"""Maximum number of types around a model."""
_BRANCHES = ("int", "str", "float", "bool")
"""Steps of a place that name a type of several that are allowed."""
_CHOICES = re.compile(r", | or ")
_LISTS = ("tuple_type", "list_type", "set_type", "frozen_set_type")
_WANTED = (
    ("string_type", "be a text"),
    ("string_too_short", "have at least {min_length} characters"),
    ("string_too_long", "have at most {max_length} characters"),
    ("string_pattern", "have the form {pattern}"),
    ("string_sub_type", "be a text"),
    ("int_", "be a whole number"),
    ("float_", "be a number"),
    ("decimal_", "be a number"),
    ("finite_number", "be a finite number"),
    ("bool_", "be true or false"),
    ("path_type", "be a path"),
    ("none_required", "be null"),
    ("greater_than_equal", "be at least {ge}"),
    ("greater_than", "be greater than {gt}"),
    ("less_than_equal", "be at most {le}"),
    ("less_than", "be less than {lt}"),
    ("too_short", "have at least {min_length} entries"),
    ("too_long", "have at most {max_length} entries"),
    ("dict_type", "be a mapping of keys to values"),
    ("mapping_type", "be a mapping of keys to values"),
    ("model_", "be a mapping of keys to values"),
    ("datetime_", "be a time (YYYY-MM-DDTHH:MM:SS)"),
)
"""Kinds of problems, by the start of their name, and what the value must do; the first that fits."""
