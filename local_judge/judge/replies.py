"""Reading what a judge wrote: strictly first, repaired only if that fails, never guessed.

Invariant: a value is returned only if the type itself accepts it in strict mode; a key that stands twice, a
value cut off by the token limit and a number that JSON does not have count as not answered.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any, Generic, NoReturn, TypeVar, cast

import json_repair
from pydantic import TypeAdapter, ValidationError

from local_judge.judge.failures import FailureKind
from local_judge.judge.requests import Reply

T = TypeVar("T")

REPAIR_LIMIT = 200_000
"""Characters beyond which a reply is not repaired: repairing is far from linear, and no honest reply is this
long."""

_DEEPEST_REPAIRED = 20
"""Most brackets of a kind that may be open at once in a reply that is repaired: repairing takes time proportional
to this depth times the length, and no answer is nested as deep."""

_MOST_REPAIR_WORK = 128_000_000
"""Most characters times quotation marks of a reply that is repaired. In the worst case repairing takes time
proportional to this product, 10 to 15 seconds at this bound, and no other call goes on meanwhile."""

_QUOTATION_MARK = re.compile(r"[\"'“”]")
"""What a repair takes for one."""

_MOST_DIGITS = 300
"""Digits of a whole number at most: the largest float has 309."""

_LONGEST_REASON = 300
"""Most characters of a reason: it quotes a reply, which may be of any length, and is stored with every item."""


@dataclass(frozen=True)
class Unread:
    """Why a reply, or one item of it, is no answer."""

    kind: FailureKind
    why: str


@dataclass(frozen=True)
class Read(Generic[T]):
    """What was found in a reply: one value or reason per item asked for."""

    items: list[T | Unread]
    repaired: bool = False


@dataclass(frozen=True)
class _Parsed:
    value: Any
    repaired: bool
    doubtful: frozenset[str] = field(default_factory=frozenset[str])
    """Keys of the outermost object whose values cannot be trusted: given twice, given twice below, or cut
    off."""


class _Doubled(dict[str, Any]):
    """An object of the reply in which a key stands more than once."""

    names: frozenset[str] = frozenset()


def read_one(reply: Reply, adapter: TypeAdapter[T]) -> Read[T]:
    """The one value that the reply holds."""
    parsed = _parse(reply)
    if isinstance(parsed, Unread):
        return Read([parsed])
    if parsed.repaired and reply.finish_reason == "length":
        return Read([Unread("truncated", "the reply ran into its token limit")])
    if parsed.doubtful:
        named = json.dumps(sorted(parsed.doubtful)[:3])  # escaped: a key may hold what cannot be stored
        return Read([Unread("invalid_reply", f"cut off or given twice: {named[:_LONGEST_REASON]}")])
    return Read([_validated(parsed.value, adapter)], parsed.repaired)


def read_items(reply: Reply, adapters: Mapping[str, TypeAdapter[T]]) -> Read[T]:
    """The values under these keys of the reply's object, in their order; other keys are not looked at."""
    parsed = _parse(reply, adapters)
    if isinstance(parsed, Unread):
        return Read([parsed] * len(adapters))
    value = parsed.value
    if not isinstance(value, dict):
        return Read([Unread("invalid_reply", "the reply is not a JSON object")] * len(adapters))
    found = cast("dict[str, Any]", value)
    cut = reply.finish_reason == "length"
    items: list[T | Unread] = []
    for name, adapter in adapters.items():
        if name in parsed.doubtful:
            items.append(
                Unread("truncated" if cut else "incomplete", f"item {name} was cut off or given twice")
            )
        elif name not in found:
            items.append(Unread("truncated" if cut else "incomplete", f"item {name} is missing"))
        else:
            items.append(_validated(found[name], adapter))
    return Read(items, parsed.repaired)


def _validated(value: Any, adapter: TypeAdapter[T]) -> T | Unread:
    try:
        # Through JSON: strict mode then means JSON's types (an array may become a tuple, "3" never a number).
        return adapter.validate_json(json.dumps(value, allow_nan=False), strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        why = f"{place + ': ' if place else ''}{first['msg']}"
        return Unread("invalid_reply", " ".join(why.split())[:_LONGEST_REASON])
    except ValueError:  # 1e999 is JSON, and infinity once it is read
        return Unread("invalid_reply", "a number is out of range")
    except RecursionError:
        return Unread("invalid_reply", "nested too deeply")


def _parse(reply: Reply, names: Iterable[str] = ()) -> _Parsed | Unread:
    text = reply.text.strip()
    cut = reply.finish_reason == "length"
    if not text:
        return Unread("truncated" if cut else "invalid_reply", "the reply is empty")
    try:
        seen = _Seen()
        value = seen.decoder.decode(text)
        return _marked(value, repaired=False, look=seen.doubled)
    except (ValueError, RecursionError):
        pass
    if len(text) > REPAIR_LIMIT or _depth(text) > _DEEPEST_REPAIRED:
        return Unread(
            "truncated" if cut else "invalid_reply", f"{len(text)} characters, not JSON: {_start(text)}"
        )
    parsed = _embedded(text) or _repaired(text, cut, names)
    return parsed or Unread("truncated" if cut else "invalid_reply", f"not JSON: {_start(text)}")


def _embedded(text: str) -> _Parsed | None:
    """A whole JSON value that stands in other text (a code fence, a sentence before or after it)."""
    first = re.search(r"[{\[]", text)
    if first is None:
        return None
    try:
        seen = _Seen()
        value, end = seen.decoder.raw_decode(text, first.start())
    except (ValueError, RecursionError):
        return None
    parsed = _marked(value, repaired=True, look=seen.doubled)
    return replace(parsed, doubtful=parsed.doubtful | _said_again(value, text, end))


def _said_again(value: Any, text: str, end: int) -> frozenset[str]:
    """The keys of `value` to which another object, later in the text, gives another value."""
    found: set[str] = set()
    while isinstance(value, dict) and (start := text.find("{", end)) >= 0:
        try:
            other, end = json.JSONDecoder().raw_decode(text, start)
        except (ValueError, RecursionError):
            end = start + 1
            continue
        own = cast("dict[str, Any]", value)
        found |= {name for name in own.keys() & other.keys() if own[name] != other[name]}
    return frozenset(found)


def _repaired(text: str, cut: bool, names: Iterable[str]) -> _Parsed | None:
    if len(text) * len(_QUOTATION_MARK.findall(text)) > _MOST_REPAIR_WORK:
        return None
    try:
        value = cast("Any", json_repair.loads(text, skip_json_loads=True))
        value = json.loads(json.dumps(value), parse_int=_whole)
    except (ValueError, TypeError, RecursionError):
        return None
    if not isinstance(value, dict | list) or not cast("object", value):
        return None
    doubtful: set[str] = set()
    if isinstance(value, dict):
        # Repairing keeps the last of equal keys without a word, so the text itself is searched for them.
        doubtful = {name for name in names if len(re.findall(rf'"{re.escape(name)}"\s*:', text)) > 1}
        if cut or not text.rstrip("` \n").endswith("}"):
            doubtful.add(list(cast("dict[str, Any]", value))[-1])
    return _Parsed(cast("Any", value), True, frozenset(doubtful))


def _depth(text: str) -> int:
    """The most brackets of one kind that are open at once: one that another kind "closes" is still open to a repair.

    Repairing reads parentheses as brackets, too.
    """
    pairs = ("[]", "{}", "()")
    found = ((1 if one == pair[0] else -1 for one in text if one in pair) for pair in pairs)
    return max(max(accumulate(opened), default=0) for opened in found)


class _Seen:
    """A strict decoder, and whether it has met a key given twice."""

    def __init__(self) -> None:
        self.doubled = False
        self.decoder = json.JSONDecoder(
            object_pairs_hook=self._pairs, parse_constant=_no_constant, parse_int=_whole
        )

    def _pairs(self, found: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(found)
        if len(value) == len(found):
            return value
        self.doubled = True
        doubled = _Doubled(value)
        doubled.names = frozenset(name for name, n in Counter(name for name, _ in found).items() if n > 1)
        return doubled


def _marked(value: Any, *, repaired: bool, look: bool) -> _Parsed:
    """`value` with the keys of its outermost object that are doubled, or have a doubled key below."""
    if not look:
        return _Parsed(value, repaired)
    if not isinstance(value, dict):
        return _Parsed(value, repaired, _doubled_below(value))
    found = cast("dict[str, Any]", value)
    own = found.names if isinstance(found, _Doubled) else frozenset[str]()
    return _Parsed(found, repaired, own | {name for name, below in found.items() if _doubled_below(below)})


def _doubled_below(value: Any) -> frozenset[str]:
    """The doubled keys of the outermost objects that have some. Not by recursion: a reply nests as it likes."""
    found: set[str] = set()
    left: list[Any] = [value]
    while left:
        one = left.pop()
        if isinstance(one, _Doubled):
            found |= one.names
        elif isinstance(one, dict):
            left.extend(cast("dict[str, Any]", one).values())
        elif isinstance(one, list):
            left.extend(cast("list[Any]", one))
    return frozenset(found)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _whole(digits: str) -> int | float:
    """A whole number; infinity for one that is so as a float, which no type accepts."""
    return int(digits) if len(digits) <= _MOST_DIGITS else math.inf


def _start(text: str) -> str:
    return json.dumps(text[:80], ensure_ascii=False)[:200]
