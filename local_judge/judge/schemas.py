"""Conversion of an answer's Python type to the JSON schema that constrains decoding.

Invariant: a schema contains no `$ref` and no `$defs` and admits no further properties, so that xgrammar, outlines and
OpenVINO GenAI accept it; bounds, patterns, enumerations and lengths are kept. `judge.replies` validates with the type
itself, and so enforces what a decoder cannot.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from pydantic import TypeAdapter
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticUserError

from local_judge.judge.errors import SchemaError

_SILENT = frozenset({"title", "description", "default", "examples", "discriminator", "$defs", "uniqueItems"})
"""Keywords that are omitted: they do not constrain decoding, or (`uniqueItems`) decoders refuse them."""

_NAMED = frozenset({"properties", "patternProperties", "$defs"})
"""Keywords whose values map names, not keywords."""


def json_schema(answer: Any) -> dict[str, Any]:
    """Return the schema of one answer of type `answer` (a pydantic model, a `Literal`, a `list[...]`, …).

    Raises:
        SchemaError: The type has no JSON schema, or a recursive one, which cannot be written without references.
    """
    try:
        schema = TypeAdapter(answer).json_schema(mode="validation")
    except (PydanticInvalidForJsonSchema, PydanticUserError) as error:
        message = str(error).splitlines()[0]
        raise SchemaError(f"answer type {answer!r}: has no JSON schema: {message}") from error
    definitions = cast("dict[str, Any]", schema.get("$defs", {}))
    return cast("dict[str, Any]", _inlined(schema, definitions, (), repr(answer)))


def items_schema(answers: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of an object with these required keys, in this order, of these types."""
    return {
        "type": "object",
        "properties": {name: json_schema(answer) for name, answer in answers.items()},
        "required": list(answers),
        "additionalProperties": False,
    }


def _inlined(node: Any, definitions: dict[str, Any], path: tuple[str, ...], name: str) -> Any:
    if isinstance(node, list):
        return [_inlined(item, definitions, path, name) for item in cast("list[Any]", node)]
    if not isinstance(node, dict):
        return node
    found = cast("dict[str, Any]", node)
    if "$ref" in found:
        target = str(found["$ref"]).removeprefix("#/$defs/")
        if target in path:
            raise SchemaError(
                f"answer type {name}: {target} contains itself; write its levels out as own types"
            )
        beside = {key: value for key, value in found.items() if key != "$ref"}
        merged = cast("dict[str, Any]", definitions[target]) | beside
        return _inlined(merged, definitions, (*path, target), name)
    result: dict[str, Any] = {}
    for key, value in found.items():
        if key in _SILENT:
            continue
        if key in _NAMED:
            named = cast("dict[str, Any]", value)
            result[key] = {inner: _inlined(below, definitions, path, name) for inner, below in named.items()}
        elif key in ("enum", "const", "required"):
            result[key] = value
        else:
            result[key] = _inlined(value, definitions, path, name)
    if "properties" in result:
        result["additionalProperties"] = False
    return result
