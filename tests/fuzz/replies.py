"""Judges' replies: a value is of the type asked for, or there is a reason that can be stored."""

from __future__ import annotations

import json
from typing import Any, Literal

from hypothesis import strategies as st
from pydantic import BaseModel, Field, TypeAdapter

from local_judge.base.failures import Failure
from local_judge.judge.replies import Read, Unread, read_items, read_one
from local_judge.ledger.requests import Reply
from serving.types import FinishReason
from tests.fuzz.mutation import mutated
from tests.fuzz.target import Target, assert_one_line, text_of


class _Item(BaseModel):
    label: Literal["yes", "no"]
    score: float
    quote: str | None = None
    parts: dict[str, float] = Field(default_factory=dict[str, float])
    lines: tuple[int, ...] = ()


_ITEM = TypeAdapter[Any](_Item)
_ANY = TypeAdapter[Any](dict[str, Any])
_ITEMS = {"1": _ITEM, "2": _ITEM, "3": TypeAdapter[Any](float)}

_VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.sampled_from(("yes", "no", "a\n“b”", "\ud800")),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(("label", "score", "quote", "parts", "lines", "1", "2")), inner, max_size=4
        ),
    ),
    max_leaves=6,
)
_GOOD = '{"label": "yes", "score": 0.5, "quote": "so \\"it\\" is", "parts": {"a": 1}, "lines": [1, 2]}'
_REPLIES = st.one_of(
    st.sampled_from(
        [
            text.encode()
            for text in (
                _GOOD,
                f'{{"1": {_GOOD}, "2": {_GOOD}, "3": 4}}',
                f'Here it is:\n```json\n{{"1": {_GOOD}, "2": {{"label": "no", "score": 1}}}}\n```\nDone.',
                '{"1": {"label": "no", "score": 3,}, "2": {label: yes}, "3": 1.5',
                '{"label": "yes", "label": "no", "score": 1}',
                '{"1": {"label": "no", "score": 3, "score": 4}, "2": null, "2": 1}',
                "I cannot judge this report.",
            )
        ]
    ),
    _VALUES.map(lambda value: json.dumps(value).encode()),
)
_TOKENS = tuple(
    token.encode()
    for token in (
        *(
            '"1": ',
            '"2":',
            '"a":1,',
            '{"',
            '"}',
            "[",
            "]",
            "{",
            "}",
            ",",
            ":",
            '"',
            "\\",
            "\\ud800",
            "\\u0000",
            "```",
        ),
        *(
            "//",
            "/*",
            "'",
            "true",
            "null",
            "NaN",
            "Infinity",
            "-",
            "1e999",
            "…",
            "“",
            '"\\ud800":1,"\\ud800":2,',
            "\n",
        ),
    )
)


def _reply(text: str, finish: FinishReason) -> Reply:
    return Reply(
        key="k", kind="generate", text=text, finish_reason=finish, created="2026-01-01T00:00:00Z", latency=0.1
    )


def check(data: bytes) -> None:
    """Both ways of reading, of a reply that ended and of one that was cut."""
    try:
        text = data.decode()  # an engine's replies are text that can be stored
    except UnicodeDecodeError:
        text = text_of(data).encode("utf-8", "replace").decode()
    reasons: tuple[FinishReason, ...] = ("stop", "length")
    for finish in reasons:
        reply = _reply(text, finish)
        for adapter in (_ITEM, _ANY):
            _check_read(read_one(reply, adapter), [adapter])
        _check_read(read_items(reply, _ITEMS), list(_ITEMS.values()))


def _check_read(read: Read[Any], adapters: list[TypeAdapter[Any]]) -> None:
    assert len(read.items) == len(adapters)
    for item, adapter in zip(read.items, adapters, strict=True):
        if isinstance(item, Unread):
            assert_one_line(ValueError(item.why), 500)
            Failure(kind=item.kind, detail=item.why).model_dump_json()
        else:
            plain = adapter.dump_python(item, mode="json")
            json.dumps(plain, allow_nan=False)
            assert adapter.validate_python(plain) == item


TARGET = Target(
    "reply",
    mutated(_REPLIES, _TOKENS),
    check,
    shapes={
        "doubled keys": lambda n: b"{" + b",".join(b'"%d":1' % (i % (n // 2)) for i in range(n)) + b"}",
        "keys": lambda n: b"{" + b",".join(b'"%d":1' % i for i in range(n)) + b"}",
        "doubled below": lambda n: b'{"1":[' + b",".join([b'{"a":1,"a":2}'] * n) + b"]}",
        "lists": lambda n: b"[" * n + b"]" * n,
        "objects": lambda n: b'{"a":' * n + b"1" + b"}" * n,
        "items": lambda n: b'{"1":[' + b"1," * n + b"1]}",
        "keys without values": lambda n: b'{"a" ' * n,
        "fences": lambda n: b"```json\n{" * n,
    },
)
