from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from local_judge.claims.extract import FullSentence, TerseSentence
from local_judge.claims.grouped import FullFinding, TerseFinding
from local_judge.judge.schemas import items_schema
from tests.stub_replies import NoInstance, fill, instance


@pytest.mark.parametrize("item", [FullSentence, TerseSentence, FullFinding, TerseFinding])
def test_every_schema_that_judges_are_asked_for_has_an_instance(item: type) -> None:
    schema = items_schema({"1": item, "2": item, "3": item})
    made = instance(schema)
    jsonschema.validate(made, schema)
    assert list(made) == ["1", "2", "3"]
    assert json.loads(fill({"response_format": {"json_schema": {"schema": schema}}})) == made


@pytest.mark.parametrize(
    ("schema", "made"),
    [
        ({"const": 5}, 5),
        ({"enum": ["b", "a"]}, "b"),
        ({"anyOf": [{"type": "null"}, {"type": "string"}]}, None),
        ({"type": "string"}, ""),
        ({"type": "string", "minLength": 3}, "xxx"),
        ({"type": "integer", "minimum": 2}, 2),
        ({"type": "number"}, 0),
        ({"type": "boolean"}, False),
        ({"type": "array", "items": {"type": "boolean"}}, [False]),
        ({"type": "array", "items": {"type": "boolean"}, "minItems": 2}, [False, False]),
        ({"type": "array", "items": {"type": "boolean"}, "maxItems": 0}, []),
        # No text of a given form is made up; the list may be empty.
        ({"type": "array", "items": {"type": "string", "pattern": "^L"}}, []),
    ],
)
def test_the_least_instance(schema: dict[str, Any], made: object) -> None:
    assert instance(schema) == made
    jsonschema.validate(made, schema)


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "string", "pattern": "^L"},
        {"type": "array", "items": {"type": "string", "format": "uri"}, "minItems": 1},
    ],
)
def test_what_cannot_be_made_is_said(schema: dict[str, Any]) -> None:
    with pytest.raises(NoInstance):
        instance(schema)


def test_a_request_without_a_schema_gets_an_empty_object() -> None:
    assert fill({"messages": []}) == "{}"
