"""Parser of replies: strict first, with repair only if that fails.

Invariant: a value is returned only if its type accepts it in strict mode; a repeated key, a value cut off by the token
limit and a number that JSON does not have count as missing. A repair may change punctuation only: a value that omits,
adds or changes a word of the text is refused.
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

from local_judge.base.failures import FailureKind
from local_judge.ledger.requests import Reply

T = TypeVar("T")

REPAIR_LIMIT = 200_000
"""Maximum characters of a reply that is repaired: the time of a repair is far from linear, and no regular reply is this
long."""

_DEEPEST_REPAIRED = 20
"""Maximum number of open brackets of one kind in a reply that is repaired: the time of a repair is proportional to this
depth times the length, and no answer type is nested as deeply."""

_MOST_REPAIR_WORK = 16_000_000
"""Maximum product of characters and quotation marks of a reply that is repaired. In the worst case the time of a
repair is proportional to it, 1 to 2 seconds at this bound, during which no other call proceeds."""

_QUOTATION_MARK = re.compile(r"[\"'“”]")
"""Character that a repair takes for a quotation mark."""

_MEMBER = re.compile(r'\s*(?=")'), re.compile(r"\s*:\s*"), re.compile(r"\s*,")
"""Text before a key, between a key and its value, and after a member that another follows."""

_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|[bfnrt])")

_WORD = re.compile(r"[^\s{}\[\](),:\"'“”`\\]+")
"""Text between the punctuation that a repair may change."""

_KEY = re.compile(r"[{,]\s*[\"'“”]?([\w.-]+)[\"'“”]?\s*:")

_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]*)?(?:e[+-]?[0-9]+)?|-?infinity")

_MOST_DIGITS = 300
"""Maximum number of digits of a whole number; the largest float has 309."""

_LONGEST_REASON = 300
"""Maximum characters of a reason, since it quotes a reply and is stored with every item."""


@dataclass(frozen=True)
class Unread:
    """Reason why a reply, or one item of it, is not an answer."""

    kind: FailureKind
    why: str


@dataclass(frozen=True)
class Read(Generic[T]):
    """Content of a reply: one value or reason per requested item."""

    items: list[T | Unread]
    repaired: bool = False


@dataclass(frozen=True)
class _Parsed:
    value: Any
    repaired: bool
    doubtful: frozenset[str] = field(default_factory=frozenset[str])
    """Keys of the outermost object whose values are unreliable: repeated, with a repeated key inside, or altered."""
    cut: bool = False
    """True if the text ends before the value does."""


class _Doubled(dict[str, Any]):
    """Object of the reply with a repeated key."""

    names: frozenset[str] = frozenset()


def read_one(reply: Reply, adapter: TypeAdapter[T]) -> Read[T]:
    """Read the one value of a reply."""
    parsed = _parse(reply)
    if isinstance(parsed, Unread):
        return Read([parsed])
    if parsed.repaired and reply.finish_reason == "length":
        return Read([Unread("truncated", "the reply ran into its token limit")])
    if parsed.cut:
        return Read([Unread("invalid_reply", "the reply is cut off")])
    if parsed.doubtful:
        named = json.dumps(sorted(parsed.doubtful)[:3])  # escaped: not every character can be stored
        return Read([Unread("invalid_reply", f"cut off, given twice or unclear: {named[:_LONGEST_REASON]}")])
    return Read([_validated(parsed.value, adapter)], parsed.repaired)


def read_items(reply: Reply, adapters: Mapping[str, TypeAdapter[T]]) -> Read[T]:
    """Read the values under these keys of the reply's object, in order; other keys are ignored."""
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
                Unread(
                    "truncated" if cut else "incomplete", f"item {name} was cut off, given twice or unclear"
                )
            )
        elif name not in found:
            items.append(Unread("truncated" if cut else "incomplete", f"item {name} is missing"))
        else:
            items.append(_validated(found[name], adapter))
    return Read(items, parsed.repaired)


def _validated(value: Any, adapter: TypeAdapter[T]) -> T | Unread:
    try:
        # Via JSON, so that strict mode follows JSON's types (an array may become a tuple, but "3" never a number).
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
    whole = not cut and text.rstrip("` \n").endswith(("}", "]"))
    parsed = _embedded(text) or (_repaired(text, names) if whole else _complete(text))
    return parsed or Unread("truncated" if cut else "invalid_reply", f"not JSON: {_start(text)}")


def _embedded(text: str) -> _Parsed | None:
    """Parse a complete JSON value within other text (a code fence, a sentence before or after it)."""
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
    """Return the keys of `value` that have another value later in the text, whether or not that is JSON."""
    if not isinstance(value, dict):
        return frozenset()
    own = cast("dict[str, Any]", value)
    found: set[str] = set()
    broken = ""
    while (start := text.find("{", end)) >= 0:
        try:
            other, after = json.JSONDecoder().raw_decode(text, start)
        except (ValueError, RecursionError):
            broken += text[end : start + 1]
            end = start + 1
            continue
        found |= {name for name in own.keys() & other.keys() if own[name] != other[name]}
        broken += text[end:start]
        end = after
    return frozenset(found | own.keys() & set(_KEY.findall(broken + text[end:])))


def _complete(text: str) -> _Parsed | None:
    """Parse the complete members (those before a comma) of a truncated object."""
    seen = _Seen()
    before, between, after = _MEMBER
    place = text.find("{") + 1
    found: list[tuple[str, Any]] = []
    while place and (start := before.match(text, place)):
        try:
            name, end = seen.decoder.raw_decode(text, start.end())
            if not (colon := between.match(text, end)):
                break
            value, end = seen.decoder.raw_decode(text, colon.end())
        except (ValueError, RecursionError):
            break
        if not (comma := after.match(text, end)):
            break
        found.append((name, value))
        place = comma.end()
    if not found:
        return None
    parsed = _marked(seen.pairs(found), repaired=True, look=seen.doubled)
    again = {name for name, _ in found} & set(_KEY.findall(text, place - 1))
    return replace(parsed, doubtful=parsed.doubtful | again, cut=True)


def _repaired(text: str, names: Iterable[str]) -> _Parsed | None:
    first = re.search(r"[{\[]", text)
    if first is None or len(text) * len(_QUOTATION_MARK.findall(text)) > _MOST_REPAIR_WORK:
        return None
    try:
        value = cast("Any", json_repair.loads(text, skip_json_loads=True))
        value = json.loads(json.dumps(value), parse_int=_whole)
    except (ValueError, TypeError, RecursionError):
        return None
    if not isinstance(value, dict | list) or not cast("object", value):
        return None
    said = _words(text[first.start() :])
    if isinstance(value, list):
        return _Parsed(cast("Any", value), True) if _words(json.dumps(value)) == said else None
    found = cast("dict[str, Any]", value)
    return _Parsed(found, True, _altered(found, said, text, frozenset(names)))


def _altered(found: dict[str, Any], said: str, text: str, names: frozenset[str]) -> frozenset[str]:
    """Return the keys of a repaired object whose values differ from the text, or that are repeated in it.

    After a member that differs, the search for later requested members continues further on in the text.
    """
    counts = Counter(_KEY.findall(text))
    altered = {name for name in names if counts[name] > 1}
    keys = [_words(name) for name in found]
    place, lost = 0, False
    for name, value, following in zip(found, found.values(), [*keys[1:], ""], strict=True):
        own = _words(json.dumps({name: value}))
        whole = own + following if following else own
        if lost and name in names:
            place = max(place, f"\n{said}".find(f"\n{whole}", place))
        there = said.startswith(whole, place) and (bool(following) or len(said) == place + len(whole))
        if there:
            place += len(own)
        else:
            altered.add(name)
        lost = not there
    return frozenset(altered)


def _words(text: str) -> str:
    """Return the words of a text, one per line and numbers by their value, independent of punctuation."""
    plain = _ESCAPE.sub(lambda found: chr(int(found[1], 16)) if found[1] else " ", text)
    plain = plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace").casefold()
    words = (_canonical(word) for word in _WORD.findall(plain))
    return "".join(f"{word}\n" for word in words)


def _canonical(word: str) -> str:
    if _NUMBER.fullmatch(word):
        return repr(float(word))
    return "null" if word == "none" else word


def _depth(text: str) -> int:
    """Return the maximum number of open brackets of one kind, as a repair counts them.

    A repair treats parentheses as brackets, and lets no bracket be closed by another kind.
    """
    pairs = ("[]", "{}", "()")
    found = ((1 if one == pair[0] else -1 for one in text if one in pair) for pair in pairs)
    return max(max(accumulate(opened), default=0) for opened in found)


class _Seen:
    """Strict decoder that detects repeated keys."""

    def __init__(self) -> None:
        self.doubled = False
        self.decoder = json.JSONDecoder(
            object_pairs_hook=self.pairs, parse_constant=_no_constant, parse_int=_whole
        )

    def pairs(self, found: list[tuple[str, Any]]) -> dict[str, Any]:
        """Make an object of these members."""
        value = dict(found)
        if len(value) == len(found):
            return value
        self.doubled = True
        doubled = _Doubled(value)
        doubled.names = frozenset(name for name, n in Counter(name for name, _ in found).items() if n > 1)
        return doubled


def _marked(value: Any, *, repaired: bool, look: bool) -> _Parsed:
    """Return `value` with the keys of its outermost object that are repeated, or contain a repeated key."""
    if not look:
        return _Parsed(value, repaired)
    if not isinstance(value, dict):
        return _Parsed(value, repaired, _doubled_below(value))
    found = cast("dict[str, Any]", value)
    own = found.names if isinstance(found, _Doubled) else frozenset[str]()
    return _Parsed(found, repaired, own | {name for name, below in found.items() if _doubled_below(below)})


def _doubled_below(value: Any) -> frozenset[str]:
    """Return the repeated keys of the outermost objects with some; without recursion, since replies may nest deeply."""
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
    """Parse a whole number; infinity, which no type accepts, for one beyond the range of a float."""
    if len(digits) <= _MOST_DIGITS:
        return int(digits)
    return -math.inf if digits.startswith("-") else math.inf


def _start(text: str) -> str:
    return json.dumps(text[:80], ensure_ascii=False)[:200]
