"""What servers answer: bodies, streams and alternatives of a token."""

from __future__ import annotations

import asyncio
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from serving.engines import wire
from serving.engines.choosing import Read, choose_by_paths, read_pieces
from serving.engines.wire import ChatReply, Heard, TokenLogprobs, TopToken, parse
from serving.errors import EngineError, MalformedReply
from serving.http import refusal
from serving.types import Choice, Generation, Usage
from tests.fuzz.mutation import NUMBERS, mutated
from tests.fuzz.target import Target, assert_one_line

_URL = "http://127.0.0.1:8000/v1/chat/completions"
_KINDS = (
    wire.ChatReply,
    wire.ChatChunk,
    wire.ModelList,
    wire.VersionReply,
    wire.TokenList,
    wire.TokenizerInfo,
)
_USAGE = {"prompt_tokens": 9, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 4}}


def _body(content: str, **more: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": content}
    return {
        "id": "x",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"} | more],
        "usage": _USAGE,
    }


_BODIES: tuple[Any, ...] = (
    _body("Yes"),
    _body("<think>so</think> {}"),
    _body("", logprobs={"content": [{"token": "Yes", "logprob": -0.1, "top_logprobs": []}]}),
    {"object": "list", "data": [{"id": "m", "owned_by": "vllm", "max_model_len": 4096}]},
    {"version": "0.32.0"},
    {"count": 2, "tokens": [1, 2]},
    {"chat_template": "{{ messages }}"},
    {"error": {"message": "too long", "code": 400}},
    {"detail": [{"msg": "maximum context length is 5 tokens"}]},
)
_JSON = (
    b'{"',
    b'":',
    b"[",
    b"]",
    b"{",
    b"}",
    b",",
    b'"',
    b"\\ud800",
    b"\\u0000",
    b"null",
    b"NaN",
    b'"error":',
    b"<think>",
)


def check_body(data: bytes) -> None:
    """Every kind of answer, and the error that it is with another status."""
    for kind in _KINDS:
        try:
            found = parse(kind, _URL, data)
        except MalformedReply as error:
            assert_one_line(error, 1000)
            continue
        if isinstance(found, ChatReply):
            for thinking in (False, True):
                _check_generation(found.generation(thinking))
    for status in (302, 400, 401, 404, 413, 429, 500):
        error = refusal(_URL, status, {"Retry-After": data[:40].decode("latin-1")}, data)
        assert_one_line(error, 1000)
        assert error.retry_after is None or 0 <= error.retry_after < math.inf


def _check_generation(reply: Generation) -> None:
    assert Generation.model_validate_json(reply.model_dump_json()) == reply


@st.composite
def _stream(draw: DrawFn) -> bytes:
    events: list[str] = []
    for _ in range(draw(st.integers(0, 6))):
        delta = draw(
            st.sampled_from(({"content": "a b"}, {"reasoning": "so"}, {"reasoning_content": "x"}, {}))
        )
        choice = {
            "delta": delta,
            "finish_reason": draw(st.sampled_from((None, None, "stop", "length", "tool"))),
        }
        chunk: dict[str, Any] = {"choices": [choice]}
        if draw(st.booleans()):
            chunk["usage"] = _USAGE
        events.append(f"data: {json.dumps(chunk)}\n\n")
    ends = (
        "data: [DONE]\n\n",
        "",
        ": ping\n",
        'data: {"error": {"code": 503}}\n',
        json.dumps(_body("whole")),
    )
    return "".join([*events, draw(st.sampled_from(ends))]).encode()


def check_stream(data: bytes) -> None:
    """A reply, or one of the engine's errors."""
    heard = Heard(_URL)
    try:
        for line in data.split(b"\n"):
            heard.take(line.rstrip(b"\r"))
        _check_generation(heard.reply(thinking=True))
    except EngineError as error:
        assert_one_line(error, 1000)


_MENUS: tuple[tuple[str, ...], ...] = (("Yes", "No"), ("1", "2", "10"))
_PATHS: Mapping[str, tuple[str, ...]] = {"1": ("1",), "2": ("2",), "10": ("1", "0")}


@st.composite
def _alternatives(draw: DrawFn) -> bytes:
    tokens = st.sampled_from(("Yes", " Yes", "No", "NO", "1", "2", "0", "10", "Maybe", "", " ", "\ud7ff"))
    numbers = st.one_of(st.floats(-30, 0).map(lambda x: json.dumps(x).encode()), st.sampled_from(NUMBERS))
    top = [
        b'{"token": %s, "logprob": %s}' % (json.dumps(token).encode(), draw(numbers))
        for token in draw(st.lists(tokens, max_size=6, unique=draw(st.booleans())))
    ]
    one = b'{"token": "<s>", "logprob": -0.1, "top_logprobs": [%s]}' % b", ".join(top)
    message = b'{"message": {"content": "Yes"}, "logprobs": {"content": [%s]}}' % one
    return b'{"choices": [%s]}' % message


def check_alternatives(data: bytes) -> None:
    """A probability rests on what the server has reported, and no number is out of range."""
    try:
        said = parse(ChatReply, _URL, data).choices[0].logprobs
    except MalformedReply as error:
        assert_one_line(error, 1000)
        return
    position = said.content[0] if said is not None and said.content else TokenLogprobs(token="", logprob=0.0)
    for menu in _MENUS:
        paths = _PATHS if menu == tuple(_PATHS) else {option: (option,) for option in menu}

        async def ask(begun: tuple[str, ...], onward: tuple[str, ...]) -> Read[str]:
            return read_pieces(dict.fromkeys(onward, ()), position, Usage())

        try:
            choice = asyncio.run(choose_by_paths(paths, ask))
        except MalformedReply as error:
            assert_one_line(error, 1000)
            continue
        _check_choice(choice, paths, position.top_logprobs)


def _check_choice(choice: Choice, paths: Mapping[str, tuple[str, ...]], top: Sequence[TopToken]) -> None:
    reported = {token.token.strip() for token in top if math.isfinite(token.logprob)}
    assert max(Counter(token.token for token in top if "\ufffd" not in token.token).values()) == 1
    assert list(choice.logprobs) == list(paths)
    assert all(value <= 0.0 and math.isfinite(value) for value in choice.logprobs.values())
    for option, path in paths.items():
        assert option in choice.bounded or set(path) <= reported, (option, choice)
    assert 0.0 <= choice.mass <= 1.0
    assert abs(sum(choice.probabilities().values()) - 1.0) < 1e-9


def _bodies() -> SearchStrategy[bytes]:
    return st.sampled_from([json.dumps(body).encode() for body in _BODIES])


TARGETS = (
    Target(
        "server-body",
        mutated(_bodies(), _JSON),
        check_body,
        shapes={
            "choices": lambda n: json.dumps({"choices": _body("a")["choices"] * n}).encode(),
            "lists": lambda n: b'{"error":' + b"[" * n + b"]" * n + b"}",
            "think": lambda n: json.dumps(_body("<think>" * n)).encode(),
            "wrong": lambda n: b'{"data":[' + b",".join([b"{}"] * n) + b"]}",
        },
    ),
    Target(
        "stream",
        mutated(_stream(), (*_JSON, b"data:", b"data: [DONE]\n", b"\n", b"event: x\n", b": c\n")),
        check_stream,
        shapes={
            "events": lambda n: b'data: {"choices":[{"delta":{"content":"a"}}]}\n' * n + b"data: [DONE]\n",
            "lines of a whole": lambda n: b"{\n" + b'"a":\n' * n,
            "comments": lambda n: b": a\n" * n,
        },
    ),
    Target(
        "choose",
        mutated(_alternatives(), (*_JSON, b'{"token":"No","logprob":-1},')),
        check_alternatives,
        shapes={
            "alternatives": lambda n: (
                b'{"choices":[{"message":{},"logprobs":{"content":[{"token":"a","logprob":-1,"top_logprobs":['
                + b",".join(b'{"token":"Yes%d","logprob":-%d}' % (i, i) for i in range(n))
                + b"]}]}}]}"
            ),
        },
        examples=120,
    ),
)
