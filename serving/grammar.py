"""Conversion of a JSON schema to a grammar of compact JSON, for engines that leave white space to the model.

Invariant: every text of the grammar is JSON that the schema admits, on one line and without white space between tokens.
The grammar may be narrower than the schema (all properties are written, in the order of the schema, and no others), but
never looser: a schema that cannot be covered gives None.

OpenVINO GenAI 2026.4 compiles a JSON schema to a grammar that admits any white space and has no option against it:
asked for indented JSON, Qwen2.5-Coder 1.5B fills its reply with spaces. xgrammar can (`any_whitespace=False`), but its
package needs torch, transformers and triton, which the extra `embedded` spares.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeGuard, cast

_ENUMERABLE = 1000
"""Maximum size of an integer range that is written as alternatives."""

_DECIMALS = '("." [0-9]{1,9})?'
_FEW_DECIMALS = '("." [0-9]{1,4})?'
"""Decimals of bounded numbers such as scores: a small judge that may write nine zeros does."""
_BLOCK = 20
"""Characters per block of a long string."""
_STRING_CHAR = r'[^"\\\x00-\x1f] | "\\" ["\\/bfnrt]'
_PRIMITIVES = {
    "null": '"null"',
    "boolean": '"true" | "false"',
    "integer": '"0" | "-"? [1-9] [0-9]{0,15}',
    "number": f'"-"? ("0" | [1-9] [0-9]{{0,15}}) {_DECIMALS}',
}
_COVERED = {
    "object": {"properties", "required", "additionalProperties"},
    "array": {"items", "minItems", "maxItems"},
    "string": {"minLength", "maxLength"},
    "integer": {"minimum", "maximum"},
    "number": {"minimum", "maximum"},
}
_REMARKS = {
    "title",
    "description",
    "default",
    "examples",
    "$defs",
    "definitions",
    "$schema",
    "$id",
    "$comment",
}


class _NotCovered(Exception):
    """The grammar cannot express the schema."""


def compact_json_grammar(schema: Mapping[str, Any]) -> str | None:
    """Return the EBNF (xgrammar's dialect) of compact JSON under `schema`; None if it cannot be covered."""
    rules = _Rules(schema)
    try:
        root = rules.of(schema)
    except _NotCovered:
        return None
    lines = [f"root ::= {root}", *(f"{name} ::= {body}" for name, body in rules.bodies.items())]
    return "\n".join(lines) + "\n"


class _Rules:
    """Rules of a grammar; each distinct body is written once."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._references: dict[str, str] = {}
        self.bodies: dict[str, str] = {}

    def of(self, schema: object) -> str:
        """Return a rule name or a literal for `schema`."""
        if not isinstance(schema, Mapping):
            raise _NotCovered
        node = cast("Mapping[str, Any]", schema)
        keys = node.keys() - _REMARKS
        if "$ref" in keys:
            return self._reference(node["$ref"], keys)
        if "const" in keys or "enum" in keys:
            if not keys <= {"const", "enum", "type"}:
                raise _NotCovered
            return self._alternatives([_literal(value) for value in node.get("enum", [node.get("const")])])
        for combiner in ("anyOf", "oneOf"):
            if combiner in keys:
                if keys != {combiner}:
                    raise _NotCovered
                return self._alternatives([self.of(option) for option in node[combiner]])
        kind = node.get("type")
        if isinstance(kind, list):
            kinds = cast("list[str]", kind)
            return self._alternatives([self.of({**node, "type": one}) for one in kinds])
        if not isinstance(kind, str) or not keys - {"type"} <= _COVERED.get(kind, set()):
            raise _NotCovered
        return self._rule_of_type(kind, node)

    def _rule_of_type(self, kind: str, node: Mapping[str, Any]) -> str:
        match kind:
            case "object":
                return self._object(node)
            case "array":
                return self._array(node)
            case "string":
                return self._string(node.get("minLength", 0), node.get("maxLength"))
            case "integer" if "minimum" in node or "maximum" in node:
                low, high = node.get("minimum"), node.get("maximum")
                if not isinstance(low, int) or not isinstance(high, int) or not 0 <= high - low < _ENUMERABLE:
                    raise _NotCovered
                return self._alternatives([_literal(value) for value in range(low, high + 1)])
            case "number" if "minimum" in node or "maximum" in node:
                return self._number_between(node.get("minimum"), node.get("maximum"))
            case _ if kind in _PRIMITIVES:
                return self._rule(kind, _PRIMITIVES[kind])
            case _:
                raise _NotCovered

    def _string(self, low: int, high: int | None) -> str:
        """Return a rule for a string, in blocks if it may be long.

        An engine processes the vocabulary once per position in a rule, so that blocks keep the grammar small. Full
        blocks come first, then fewer characters than two blocks.
        """
        char = self._rule("char", _STRING_CHAR)
        if high is None or high <= 2 * _BLOCK or low > _BLOCK:
            return self._rule("string", f'"\\"" {char}{{{low},{"" if high is None else high}}} "\\""')
        blocks, rest = divmod(high, _BLOCK)
        block = self._rule("block", " ".join([char] * _BLOCK))
        tail = f"{{0,{_BLOCK + rest}}}"
        text = f"{block}{{0,{blocks - 1}}} {char}{tail}"
        if low:
            text = f"({char}{{{low},{_BLOCK + rest}}} | {block}{{1,{blocks - 1}}} {char}{tail})"
        return self._rule("string", f'"\\"" {text} "\\""')

    def _object(self, node: Mapping[str, Any]) -> str:
        properties = cast("Mapping[str, Any]", node.get("properties", {}))
        if not properties or not set(node.get("required", [])) <= properties.keys():
            raise _NotCovered
        members = [
            _text(("," if position else "{") + json.dumps(name, ensure_ascii=False) + ":")
            + " "
            + self.of(value)
            for position, (name, value) in enumerate(properties.items())
        ]
        return self._rule("object", " ".join([*members, '"}"']))

    def _number_between(self, low: object, high: object) -> str:
        """Return a rule for decimals between two whole numbers of at least 0; the upper one only as `10` or `10.0`."""
        if high is None and low == 0:
            return self._rule("number", f'("0" | [1-9] [0-9]{{0,15}}) {_FEW_DECIMALS}')
        if not _is_whole(low) or not _is_whole(high) or not 0 <= low < high < low + _ENUMERABLE:
            raise _NotCovered
        below = " | ".join(_literal(value) for value in range(int(low), int(high)))
        return self._rule("number", f'({below}) {_FEW_DECIMALS} | {_literal(int(high))} ("." "0"{{1,4}})?')

    def _array(self, node: Mapping[str, Any]) -> str:
        item = self.of(node.get("items"))
        low, high = node.get("minItems", 0), node.get("maxItems")
        if high == 0:
            return '"[]"'
        more = f'("," {item}){{{max(low - 1, 0)},{"" if high is None else high - 1}}}'
        filled = f'"[" {item} {more} "]"'
        return self._rule("array", filled if low else f'"[]" | {filled}')

    def _reference(self, reference: object, keys: set[str]) -> str:
        if keys != {"$ref"} or not isinstance(reference, str) or not reference.startswith("#/"):
            raise _NotCovered
        if reference not in self._references:
            target: Any = self._root
            for step in reference[2:].split("/"):
                target = cast("Mapping[str, Any]", target).get(step) if isinstance(target, Mapping) else None
            name = self._references[reference] = f"ref{len(self._references)}"
            self.bodies[name] = ""  # reserves its position, and ends recursion
            self.bodies[name] = self.of(target)
        return self._references[reference]

    def _alternatives(self, options: list[str]) -> str:
        if not options:
            raise _NotCovered
        return options[0] if len(options) == 1 else self._rule("choice", " | ".join(options))

    def _rule(self, stem: str, body: str) -> str:
        for name, known in self.bodies.items():
            if known == body:
                return name
        name = f"{stem}{len(self.bodies)}"
        self.bodies[name] = body
        return name


def _is_whole(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and float(value).is_integer()


def _literal(value: object) -> str:
    return _text(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
