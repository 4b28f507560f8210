"""Valid inputs, and what happens to them on the way: bytes that flip, ends that are cut, parts that repeat or nest.

Invariant: the same draws give the same bytes; nothing grows beyond `MOST` bytes, and nine of ten inputs stay below
`USUAL`, so that the time goes into many inputs rather than into large ones; `scripts/fuzz --growth` measures size.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Sequence
from typing import Any, cast

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

USUAL = 4_000
MOST = 250_000

_CHARACTERS = (
    "\0",
    "\r",
    "\x1b[2J",
    "\x85",
    "\u2028",
    "\u202e",
    "\ud800",
    "\udc00",
    "\ufeff",
    "\u0301",
    "１²",
    "𝟙\U0010ffff",
)
ODD = (*(text.encode("utf-8", "surrogatepass") for text in _CHARACTERS), b"\xff\xfe", b"\xc3")
"""Text that line splitters, encoders and terminals disagree on."""

NUMBERS = (
    *(
        b"0",
        b"-0",
        b"-1",
        b"800",
        b"1e999",
        b"-1e999",
        b"NaN",
        b"Infinity",
        b"1e-400",
        b"1_0",
        b"0x1f",
        b"1e308",
    ),
    *(b"9" * 400, b"9" * 5000, b"1" + b":1" * 200 + b".5", b"2001-99-99", b"18446744073709551616"),
)

PAIRS = (
    (b"[", b"]"),
    (b"{", b"}"),
    (b'{"a":', b"}"),
    (b"(", b")"),
    (b"<b>", b"</b>"),
    (b"> ", b""),
    (b"- ", b""),
)

_NUMBER = re.compile(rb"\d+(?:\.\d+)?")


@st.composite
def mutated(draw: DrawFn, valid: SearchStrategy[bytes], tokens: Sequence[bytes]) -> bytes:
    """A valid input after none to five changes; `tokens` are constructs of the format."""
    data = draw(valid)
    most = max(draw(st.sampled_from((*9 * (USUAL,), MOST))), len(data))
    for _ in range(draw(st.integers(0, 5))):
        data = draw(st.sampled_from(_CHANGES))(draw, data, valid, tokens)[:most]
    return data


def one_of_texts(*texts: str) -> SearchStrategy[bytes]:
    """One of some texts, in UTF-8."""
    return st.sampled_from([text.encode() for text in texts])


def _at(draw: DrawFn, data: bytes) -> int:
    return draw(st.integers(0, len(data)))


def _flip(draw: DrawFn, data: bytes, valid: SearchStrategy[bytes], tokens: Sequence[bytes]) -> bytes:
    if not data:
        return data
    place = draw(st.integers(0, len(data) - 1))
    return data[:place] + bytes([data[place] ^ 1 << draw(st.integers(0, 7))]) + data[place + 1 :]


def _cut(draw: DrawFn, data: bytes, valid: SearchStrategy[bytes], tokens: Sequence[bytes]) -> bytes:
    place = _at(draw, data)
    return data[:place] + data[place + draw(st.integers(1, 64)) :]


def _end(draw: DrawFn, data: bytes, valid: SearchStrategy[bytes], tokens: Sequence[bytes]) -> bytes:
    return data[: _at(draw, data)]


def _put(draw: DrawFn, data: bytes, valid: SearchStrategy[bytes], tokens: Sequence[bytes]) -> bytes:
    place = _at(draw, data)
    return data[:place] + draw(st.sampled_from([*tokens, *ODD])) + data[place:]


def _repeat(draw: DrawFn, data: bytes, valid: SearchStrategy[bytes], tokens: Sequence[bytes]) -> bytes:
    place = _at(draw, data)
    times = draw(st.sampled_from((2, 20, 200, 2000)))
    return data[:place] + draw(st.sampled_from([*tokens, *ODD])) * times + data[place:]


def _double(draw: DrawFn, data: bytes, valid: SearchStrategy[bytes], tokens: Sequence[bytes]) -> bytes:
    start, end = sorted((_at(draw, data), _at(draw, data)))
    return data[:end] + data[start:end] * draw(st.sampled_from((1, 1, 2, 30))) + data[end:]


def _nest(draw: DrawFn, data: bytes, valid: SearchStrategy[bytes], tokens: Sequence[bytes]) -> bytes:
    start, end = sorted((_at(draw, data), _at(draw, data)))
    opening, closing = draw(st.sampled_from(PAIRS))
    depth = draw(st.one_of(st.integers(1, 1100), st.just(100_000)))
    return data[:start] + opening * depth + data[start:end] + closing * depth + data[end:]


def _splice(draw: DrawFn, data: bytes, valid: SearchStrategy[bytes], tokens: Sequence[bytes]) -> bytes:
    other = draw(valid)
    return data[: _at(draw, data)] + other[_at(draw, other) :]


def _number(draw: DrawFn, data: bytes, valid: SearchStrategy[bytes], tokens: Sequence[bytes]) -> bytes:
    found = list(_NUMBER.finditer(data))
    if not found:
        return data
    one = found[draw(st.integers(0, len(found) - 1))]
    return data[: one.start()] + draw(st.sampled_from(NUMBERS)) + data[one.end() :]


_CHANGES = (_flip, _cut, _end, _put, _repeat, _double, _nest, _splice, _number, _put, _number)


VALUES: tuple[object, ...] = (
    *(
        None,
        True,
        0,
        5,
        -1,
        10**30,
        1.5,
        -1e308,
        "",
        "x",
        "0" * 64,
        "../../x",
        "/dev/zero",
        "\x1b[31m",
        "\ud800",
    ),
    *cast("tuple[object, ...]", ([], {}, [None], [[]], {"a": {}}, ["x", "x"])),
    *('x"y\\z', "2001-99-99"),
)
"""Values that replace one of a JSON document: other types, extreme numbers, paths, texts that no file can hold."""


@st.composite
def json_changed(draw: DrawFn, valid: SearchStrategy[object]) -> object:
    """A JSON value in which one to three places have another value, are missing, or stand twice."""
    value = copy.deepcopy(draw(valid))
    for _ in range(draw(st.sampled_from((1, 1, 1, 2, 3)))):
        places = list(_places(value))
        if not places:
            return draw(st.sampled_from(VALUES))
        holder, key = draw(st.sampled_from(places))
        change = draw(st.sampled_from(("replace", "replace", "replace", "remove", "double", "rename")))
        old = holder[key]
        if change == "replace":
            holder[key] = copy.deepcopy(draw(st.sampled_from(VALUES)))
        elif change == "remove":
            del holder[key]
        elif isinstance(key, int):
            holder.append(copy.deepcopy(old))
        elif change == "rename":
            holder[draw(st.sampled_from(("x", "", "\ud800", "a/b", "../x")))] = holder.pop(key)
    return value


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every container inside a JSON value with each of its keys."""
    keys: list[Any] = []
    if isinstance(value, dict | list):
        keys = list(cast("Any", value)) if isinstance(value, dict) else list(range(len(cast("Any", value))))
    for key in keys:
        yield value, key
        yield from _places(value[key])
