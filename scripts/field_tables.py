"""Tables of the keys of a file, from the fields of the pydantic model that reads or writes it."""

from __future__ import annotations

import ast
import importlib
import inspect
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import TypeAdapter

TYPES = {"string": "text", "boolean": "true or false", "null": "null", "array": "list", "object": "object"}


def field_table(module: str, name: str) -> str:
    """Return a Markdown table of the fields of a model or dataclass, with their values and docstrings."""
    model: type[Any] = getattr(importlib.import_module(module), name)
    texts = field_docstrings(model)
    schema: Mapping[str, Any] = TypeAdapter(model).json_schema()
    rows = [
        f"| `{key}` | {_values(value, schema)}{_default(value)} | {texts.get(key, '')} |\n"
        for key, value in schema.get("properties", {}).items()
    ]
    return f"| `{name}` | value | |\n|---|---|---|\n" + "".join(rows).rstrip("\n")


def field_docstrings(model: type[Any]) -> dict[str, str]:
    """Return the docstring of each field of a model or dataclass, on one line; those of base classes too."""
    found: dict[str, str] = {}
    for base in reversed(model.__mro__):
        try:
            source = inspect.getsource(base)
        except (
            OSError,
            TypeError,
        ):  # built in, or made by a program, such as a generic model with its arguments
            continue
        (definition,) = ast.parse(textwrap.dedent(source)).body
        assert isinstance(definition, ast.ClassDef)
        found.update(_docstrings(definition))
    return found


def _docstrings(definition: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for field, below in zip(definition.body, definition.body[1:], strict=False):
        match field, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                yield name, " ".join(text.split())
            case _:
                pass


def _values(value: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """Return the values that a key can have, in words."""
    if path := value.get("$ref"):
        name = path.rpartition("/")[2]
        below = schema["$defs"][name]
        return f"`{name}`" if "properties" in below else _values(below, schema)
    if options := value.get("enum"):
        return ", ".join(f"`{option}`" for option in options)
    if "const" in value:
        return f"`{value['const']}`"
    if options := value.get("anyOf") or value.get("oneOf"):
        return " or ".join(dict.fromkeys(_values(option, schema) for option in options))
    kind = value.get("type", "")
    if kind == "array" and (below := _values(value.get("items", {}), schema)):
        return f"list of {below}"
    return TYPES.get(kind, kind) + _bounds(value)


def _bounds(value: Mapping[str, Any]) -> str:
    low, high = value.get("minimum"), value.get("maximum")
    if low is not None and high is not None:
        return f", {low:g} to {high:g}"
    if low is not None:
        return f", at least {low:g}"
    return ""


def _default(value: Mapping[str, Any]) -> str:
    match value.get("default"):
        case bool() as flag:
            return f"; default {str(flag).lower()}"
        case "" | None:
            return ""
        case str() | int() | float() as default:
            return f"; default `{default}`"
        case _:
            return ""
