"""Actions that an agent may take, and the types that constrain and parse them.

Invariant: the result is a request of an offered tool with arguments within their bounds, or an answer of the type asked
for. Everything else that a judge writes becomes a `Refusal` with the reason; nothing is guessed.

A constrained decoder can write nothing else. A judge without one reads in the next turn what was wrong: decoding
follows a strict schema, and the reply is parsed with a type that accepts any object as an action.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Generic, Literal, TypeVar, cast

from pydantic import (
    Field,
    JsonValue,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
    create_model,
    field_validator,
)

from local_judge.base.model import Frozen
from local_judge.judge.schemas import json_schema

T = TypeVar("T")

SearchTool = Literal["search", "search_papers", "search_code"]
ToolName = Literal["search", "search_papers", "search_code", "open", "find"]
ErrorKind = Literal["unknown_tool", "bad_arguments", "bad_answer", "no_page", "no_part", "repeated"]
"""Error that a tool returns in place of a result. `unknown_tool`: no tool has that name. `bad_arguments`, `bad_answer`:
the arguments, or the answer of `finish`, do not match their type. `no_page`: the snapshot has no text of that page.
`no_part`: the page has fewer parts. `repeated`: the same request was made before."""

THOUGHT = 600
"""Maximum length of a thought in characters; decoding stops there."""
MOST_QUERIES = 5
MOST_PASSAGES = 10

Query = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=300)]
Queries = Annotated[tuple[Query, ...], Field(min_length=1, max_length=MOST_QUERIES)]
Count = Annotated[int, Field(ge=1, le=MOST_PASSAGES)]
Url = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2000)]


class Search(Frozen):
    """Request for passages of all pages, or of the pages of some hosts."""

    tool: SearchTool
    queries: Queries
    k: Count = 5


class Open(Frozen):
    """Request for a part of a page."""

    tool: Literal["open"]
    url: Url
    part: Annotated[int, Field(ge=1, le=999)] = 1


class Find(Frozen):
    """Request for passages of one page."""

    tool: Literal["find"]
    url: Url
    queries: Queries
    k: Count = 3


Request = Search | Open | Find

_REQUESTS: dict[str, type[Search] | type[Open] | type[Find]] = {
    "search": Search,
    "search_papers": Search,
    "search_code": Search,
    "open": Open,
    "find": Find,
}


class Finish(Frozen, Generic[T]):
    """Action that ends the run with an answer."""

    tool: Literal["finish"]
    answer: T


class Turn(Frozen):
    """Reply of a judge in one turn, with its action not yet parsed."""

    thought: str
    action: dict[str, JsonValue]

    @field_validator("action")
    @classmethod
    def _finite(cls, value: dict[str, JsonValue]) -> dict[str, JsonValue]:
        """Reject numbers such as 1e999, which JSON can write but not represent."""
        json.dumps(value, allow_nan=False)
        return value


class LastTurn(Frozen, Generic[T]):
    """Reply of a judge that is asked to finish."""

    thought: str
    action: Finish[T]


@dataclass(frozen=True)
class Finished(Generic[T]):
    """Parsed action that ends the run."""

    answer: T


@dataclass(frozen=True)
class Refusal:
    """Action that cannot be carried out."""

    tool: str
    kind: ErrorKind
    why: str
    """Reason, for the judge: contains no text of a page, and of the judge's text only names."""


_Thought = Annotated[str, WithJsonSchema({"type": "string", "maxLength": THOUGHT})]


@lru_cache(maxsize=64)
def turn_type(tools: tuple[ToolName, ...], answer: Any) -> type[Turn]:
    """Return the type of a turn in which these tools are offered, or `finish` with an answer of type `answer`.

    Raises:
        SchemaError: `answer` has no schema that a decoder can take.
    """
    searches = [name for name in tools if _REQUESTS[name] is Search]
    options = [_request_schema(Search, searches)] if searches else []
    options += [_request_schema(_REQUESTS[name], [name]) for name in tools if _REQUESTS[name] is not Search]
    options.append(json_schema(cast("Any", Finish)[answer]))
    action = Annotated[dict[str, JsonValue], WithJsonSchema({"anyOf": options})]
    return create_model("Turn", __base__=Turn, thought=(_Thought, ...), action=(action, ...))


@lru_cache(maxsize=64)
def last_turn_type(answer: Any) -> type[LastTurn[Any]]:
    """Return the type of the turn in which a judge is asked to finish."""
    finish = cast("Any", Finish)[answer]
    return create_model("LastTurn", __base__=LastTurn, thought=(_Thought, ...), action=(finish, ...))


def arguments_schema(tool: ToolName) -> dict[str, Any]:
    """Return the JSON schema of a tool's arguments without its name."""
    schema = _request_schema(_REQUESTS[tool], [tool])
    del schema["properties"]["tool"]
    schema["required"] = [name for name in schema["required"] if name != "tool"]
    return schema


def _request_schema(request: Any, names: Sequence[str]) -> dict[str, Any]:
    schema = json_schema(request)
    schema["properties"]["tool"] = {"type": "string", "enum": list(names)}
    # A decoder cannot count thousands of characters cheaply; reading the request still does.
    schema["properties"].get("url", {}).pop("maxLength", None)
    return schema


def read_action(
    action: Mapping[str, JsonValue], tools: Sequence[ToolName], answer: TypeAdapter[T]
) -> Request | Finished[T] | Refusal:
    """Parse an action."""
    if action.get("tool") != "finish":
        return read_request(action, tools)
    beside = sorted(set(action) - {"tool", "answer"})
    if beside or "answer" not in action:
        why = f"unknown: {_named(beside[0])}" if beside else '"answer" is missing'
        return Refusal("finish", "bad_answer", why)
    try:
        return Finished(answer.validate_json(json.dumps(action["answer"]), strict=True))
    except ValidationError as error:
        return Refusal("finish", "bad_answer", _first(error, "answer"))


def read_request(action: Mapping[str, JsonValue], tools: Sequence[ToolName]) -> Request | Refusal:
    """Parse the request of a tool."""
    tool = action.get("tool")
    if not isinstance(tool, str) or tool not in tools:
        said = _named(tool) if isinstance(tool, str) else "nothing"
        return Refusal(said, "unknown_tool", f"no tool {said}; there are: {', '.join(tools)}")
    try:
        return _REQUESTS[tool].model_validate_json(json.dumps(action), strict=True)
    except ValidationError as error:
        return Refusal(tool, "bad_arguments", _first(error))


def request_key(action: Mapping[str, JsonValue], request: Request | Refusal) -> str:
    """Return one key for equal requests, however they are written; an invalid request is keyed by its text."""
    said = dict(action) if isinstance(request, Refusal) else request.model_dump(mode="json")
    return json.dumps(said, sort_keys=True, ensure_ascii=False)


def _named(text: str) -> str:
    """Return a name that a judge made up, in characters that are safe in our own text."""
    return re.sub(r"[^\w.-]", "?", text)[:40] or "nothing"


def _first(error: ValidationError, *below: str) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(_named(str(part)) for part in (*below, *first["loc"]))
    return f"{place}: {first['msg']}"
