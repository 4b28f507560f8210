"""The least JSON text that a schema admits: what a model without any sense would answer under a constrained decoder.

Invariant: the same schema gives the same text, and the schema admits it; a schema that asks for more than is known
here (a list that must not be empty of texts that match a pattern, say) raises, and never gives something else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast


class NoInstance(ValueError):
    """A schema that no value can be made for here."""


def fill(request: Mapping[str, Any]) -> str:
    """The reply to a chat completion: for its JSON schema, or `{}` where it names none."""
    wanted: Any = request.get("response_format")
    return (
        "{}" if wanted is None else json.dumps(instance(wanted["json_schema"]["schema"]), ensure_ascii=False)
    )


def instance(schema: Mapping[str, Any]) -> Any:
    """The first of a menu, the shortest text, the number nearest to the lower bound or 0, false, every property.

    A list has one element where it may, so that what stands below it is asked for too, but none where an element
    cannot be made and the list may be empty.

    Raises:
        NoInstance: no value can be made.
    """
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return instance(schema[key][0])
    match schema.get("type"):
        case "object":
            properties = cast("Mapping[str, Mapping[str, Any]]", schema.get("properties", {}))
            return {name: instance(below) for name, below in properties.items()}
        case "array":
            return _list(schema)
        case "string":
            if "pattern" in schema or "format" in schema:
                raise NoInstance(f"a text of a given form: {dict(schema)}")
            return "x" * int(schema.get("minLength", 0))
        case "integer" | "number":
            return schema.get("minimum", 0)
        case "boolean":
            return False
        case "null":
            return None
        case other:
            raise NoInstance(f"type {other!r}: {dict(schema)}")


def _list(schema: Mapping[str, Any]) -> list[Any]:
    least = int(schema.get("minItems", 0))
    wanted = min(max(1, least), int(schema.get("maxItems", max(1, least))))
    try:
        return [instance(schema.get("items", {"type": "null"})) for _ in range(wanted)]
    except NoInstance:
        if least:
            raise
        return []
