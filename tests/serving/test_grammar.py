"""Compact JSON grammars: known schemas and their grammars, and what is left to others."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field

from serving.grammar import compact_json_grammar


class Item(BaseModel):
    model_config = ConfigDict(extra="forbid")
    id: str = Field(max_length=8)
    kind: Literal["A", "B"]
    score: int = Field(ge=1, le=3)
    note: str | None


class Reply(BaseModel):
    items: list[Item] = Field(min_length=1, max_length=4)


def test_a_pydantic_schema_is_covered_whole() -> None:
    # derived by hand from JSON's grammar: one rule per distinct part, members in the order of the class
    assert compact_json_grammar(Reply.model_json_schema()) == "\n".join(
        [
            "root ::= object10",
            "ref0 ::= object8",
            r'char1 ::= [^"\\\x00-\x1f] | "\\" ["\\/bfnrt]',
            r'string2 ::= "\"" char1{0,8} "\""',
            r'choice3 ::= "\"A\"" | "\"B\""',
            'choice4 ::= "1" | "2" | "3"',
            r'string5 ::= "\"" char1{0,} "\""',
            'null6 ::= "null"',
            "choice7 ::= string5 | null6",
            r'object8 ::= "{\"id\":" string2 ",\"kind\":" choice3 ",\"score\":" choice4'
            r' ",\"note\":" choice7 "}"',
            'array9 ::= "[" ref0 ("," ref0){0,3} "]"',
            r'object10 ::= "{\"items\":" array9 "}"',
            "",
        ]
    )


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "pattern": "^a+$"},
        {"type": "object"},
        {"type": "object", "properties": {"a": {"type": "number", "minimum": 1}}},
        {"type": "number", "minimum": -1, "maximum": 1},
        {"type": "number", "minimum": 0, "maximum": 0.5},
        {"type": "number", "maximum": 5},
        {"type": "number", "exclusiveMinimum": 0, "maximum": 5},
        {"type": "integer", "minimum": 0},
        {"allOf": [{"type": "string"}]},
        {"type": "array"},
        True,
    ],
)
def test_what_cannot_be_covered_exactly_is_left_to_the_engine(schema: Any) -> None:
    nested = {"type": "object", "properties": {"x": schema}}
    assert compact_json_grammar(nested) is None


@pytest.mark.parametrize(
    ("schema", "rule"),
    [
        # 0 <= x < 2 by its whole part with any decimals, or 2 with none but zeros
        (
            {"type": "number", "minimum": 0, "maximum": 2.0},
            '("0" | "1") ("." [0-9]{1,4})? | "2" ("." "0"{1,4})?',
        ),
        ({"type": "number", "minimum": 0}, '("0" | [1-9] [0-9]{0,15}) ("." [0-9]{1,4})?'),
    ],
)
def test_a_bounded_number_never_leaves_its_bounds(schema: Any, rule: str) -> None:
    assert compact_json_grammar(schema) == f"root ::= number0\nnumber0 ::= {rule}\n"


def test_a_long_string_is_made_of_blocks() -> None:
    # 47 = 2 * 20 + 7: at most one full block, then at most 20 + 7 characters; together 0 to 47, each length possible
    assert compact_json_grammar({"type": "string", "maxLength": 47}) == "\n".join(
        [
            "root ::= string2",
            r'char0 ::= [^"\\\x00-\x1f] | "\\" ["\\/bfnrt]',
            "block1 ::= " + " ".join(["char0"] * 20),
            r'string2 ::= "\"" block1{0,1} char0{0,27} "\""',
            "",
        ]
    )


def test_a_long_string_with_a_least_length_is_short_of_it_in_no_part() -> None:
    grammar = compact_json_grammar({"type": "string", "minLength": 8, "maxLength": 47})
    assert grammar is not None
    assert grammar.splitlines()[-1] == (r'string2 ::= "\"" (char0{8,27} | block1{1,1} char0{0,27}) "\""')


def test_an_optional_property_is_always_written() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "boolean"}, "b": {"const": 1}},
        "required": ["a"],
    }
    assert compact_json_grammar(schema) == (
        'root ::= object1\nboolean0 ::= "true" | "false"\n'
        'object1 ::= "{\\"a\\":" boolean0 ",\\"b\\":" "1" "}"\n'
    )


def test_a_schema_that_refers_to_itself_ends() -> None:
    schema = {
        "$ref": "#/$defs/n",
        "$defs": {"n": {"type": "array", "items": {"$ref": "#/$defs/n"}, "maxItems": 2}},
    }
    assert compact_json_grammar(schema) == (
        'root ::= ref0\nref0 ::= array1\narray1 ::= "[]" | "[" ref0 ("," ref0){0,1} "]"\n'
    )
