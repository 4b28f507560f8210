"""Inline marks of a block: links, addresses, code, and everything that may be a citation.

Invariant: marks do not overlap, come in reading order, and `flat[mark.start:mark.end]` is the mark as
written; the time taken grows linearly with the text, whatever the text.

The scan jumps from one interesting character to the next. Brackets are paired once beforehand, in one
pass, and every look-ahead has a bound, so that a hundred thousand opening brackets cost no more than as
many letters.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from local_judge.documents.authors import author_years
from local_judge.documents.numbers import numbers_of, superscript_digits

MarkKind = Literal[
    "code",
    "image",
    "tag",
    "link",
    "url",
    "number",
    "label",
    "footnote",
    "lenticular",
    "superscript",
    "author_year",
]

_LONGEST_ADDRESS = 4096
_LONGEST_LABEL = 40
_DEEPEST_ADDRESS = 8

_START = re.compile(
    r"`+|\\|:contentReference\[|!?\[|<|https?://|www\.(?=[a-z0-9])|［|【|\ue200|[¹²³⁰⁴-⁹]|\(|（|"
    r"(?<![A-Za-z0-9/.])(?:doi ?: ?10\.|arxiv ?: ?(?=[0-9a-z-]))",
    re.IGNORECASE,
)
_AUTOLINK = re.compile(r"<(https?://[^\s<>]{1,4096})>", re.IGNORECASE)
_TAG = re.compile(r"<(/?[A-Za-z][A-Za-z0-9-]{0,30})((?:\s[^<>]{0,4096})?)/?>|<!--")
_HREF = re.compile(r"""\shref\s?=\s?["']?(https?://[^\s"'<>]+)""", re.IGNORECASE)
_SUP = re.compile(r"<sup>\s{0,3}(\[?\d[\d\s,，、;–-]{0,60}\]?)\s{0,3}</sup>", re.IGNORECASE)
_ADDRESS = re.compile(
    r"(?:https?://|www\.)[^\s<>\"`{}|\\^“”‘’«»。，；：！？、（）【】《》「」『』［］]+", re.IGNORECASE
)
_IDENTIFIER = re.compile(
    r"doi ?: ?10\.\d{4,9}/[^\s<>\"`{}|\\^“”。，；！？、（）【】]+"
    r"|arxiv ?: ?(?:\d{4}\.\d{4,5}|[a-z-]+(?:\.[A-Z]{2})?/\d{7})(?:v\d+)?",
    re.IGNORECASE,
)
_ESCAPED_BRACKET = re.compile(r"\\\[([^\[\]\\\n]{1,60})\\\]")
_FULLWIDTH = re.compile(r"［([^［］\n]{1,60})］")
_LENTICULAR = re.compile(r"【\s?(\d{1,4}(?:\s?[,，、]\s?\d{1,4})*)(?:\s?[†‡:：][^【】\n]{0,200})?】")
_SUPERSCRIPT = re.compile(r"[⁰¹²³⁴-⁹]{1,4}(?:[\s,，⁻˒]{0,2}[⁰¹²³⁴-⁹]{1,4}){0,20}")
_NAMED = re.compile(r"(?:citation|cite|ref|source)s?\s?[:：]\s?(?P<numbers>\^?\d.{0,60})", re.IGNORECASE)
_CONTENT_REFERENCE = re.compile(r":contentReference\[(oaicite:\d{1,4})\](?:\{index=\d{1,4}\})?")
_PRIVATE = re.compile("\ue200(?:file)?cite((?:\ue202[\\w:.-]{1,60}){1,20})\ue201")
_DAGGER = re.compile(r"(\d{1,4})\s?[†‡].{0,200}")
_DESTINATION_END = re.compile(r"[\s()]")
_TITLE = re.compile(r"[ \t]{1,8}(?:\"[^\"\n]{0,500}\"|'[^'\n]{0,500}')[ \t]{0,8}")
_TRAILING = ".,;:!?'\"*_~"


@dataclass(frozen=True, slots=True)
class Mark:
    """A stretch of a block that is not plain words."""

    kind: MarkKind
    start: int
    end: int
    keys: tuple[str, ...] = ()
    """What it names: numbers, a footnote's label."""
    target: str = ""
    """The address as written."""
    shown: str = ""
    """A link's text."""
    certain: bool = True
    """False for `(Kim, 2024)`, which is a citation only in a text that cites in this way."""


def scan(flat: str, labels: frozenset[str] = frozenset()) -> list[Mark]:
    """All marks of one block's text.

    Args:
        flat: The text of a `Piece`.
        labels: The keys of all reference entries. A bracket, superscript or year is ambiguous by itself
            (`[sic]`, `m²`, `[2020]`); it is a mark only if an entry bears that key.
    """
    return _Scan(flat, labels).run()


def pairs(flat: str, opening: str = "[", closing: str = "]") -> dict[int, int]:
    """For each opening bracket that is closed, where: nested ones in pairs, escaped ones left out."""
    found: dict[int, int] = {}
    stack: list[int] = []
    for match in re.finditer(rf"\\.|[{re.escape(opening + closing)}]", flat, re.DOTALL):
        token = match.group()
        if token == opening:
            stack.append(match.start())
        elif token == closing and stack:
            found[stack.pop()] = match.start()
    return found


def trimmed_address(address: str) -> str:
    """An address without the sentence's punctuation and without closing brackets that it did not open."""
    end = len(address)
    surplus = {")": address.count(")") - address.count("("), "]": address.count("]") - address.count("[")}
    while end > 0:
        last = address[end - 1]
        if last in _TRAILING:
            end -= 1
        elif surplus.get(last, 0) > 0:
            surplus[last] -= 1
            end -= 1
        else:
            break
    return address[:end]


class _Scan:
    def __init__(self, flat: str, labels: frozenset[str]) -> None:
        self._flat = flat
        self._labels = labels
        self._closing = pairs(flat)
        self._ticks: dict[int, list[int]] = {}
        for match in re.finditer(r"`+", flat):
            self._ticks.setdefault(len(match.group()), []).append(match.start())
        self._last_comment = flat.rfind("-->")
        self._marks: list[Mark] = []
        self._handlers: dict[str, Callable[[int, str], int]] = {
            "`": self._code,
            "\\": self._escape,
            "[": self._bracket,
            "!": self._image,
            "<": self._angle,
            "［": self._fullwidth,
            "【": self._lenticular,
            ":": self._content_reference,
            "\ue200": self._private,
            "(": self._parenthesis,
            "（": self._parenthesis,
        }

    def run(self) -> list[Mark]:
        position = 0
        while True:
            match = _START.search(self._flat, position)
            if match is None:
                return self._marks
            token = match.group()
            handler = self._handlers.get(token[0])
            if handler is None:
                handler = self._superscript if token[0] in "⁰¹²³⁴⁵⁶⁷⁸⁹" else self._plain_address
            position = handler(match.start(), token)

    def _add(
        self,
        kind: MarkKind,
        start: int,
        end: int,
        keys: tuple[str, ...] = (),
        target: str = "",
        shown: str = "",
    ) -> int:
        self._marks.append(Mark(kind, start, end, keys, target, shown))
        return end

    def _code(self, start: int, token: str) -> int:
        places = self._ticks.get(len(token), [])  # an escaped backtick leaves a shorter run
        after = bisect_right(places, start)
        if after == len(places):
            return start + len(token)
        return self._add("code", start, places[after] + len(token))

    def _escape(self, start: int, token: str) -> int:
        match = _ESCAPED_BRACKET.match(self._flat, start)
        if match is not None:
            keys = numbers_of(match.group(1), self._labels)
            if keys:
                return self._add("number", start, match.end(), keys)
        return start + 2

    def _image(self, start: int, token: str) -> int:
        close = self._closing.get(start + 1)
        target = self._destination(close + 1) if close is not None else None
        return start + 1 if target is None else self._add("image", start, target[1])

    def _bracket(self, start: int, token: str) -> int:
        close = self._closing.get(start)
        if close is None:
            return start + 1
        if self._flat.startswith("(", close + 1):
            target = self._destination(close + 1)
            if target is not None:
                return self._add(
                    "link", start, target[1], target=target[0], shown=self._flat[start + 1 : close]
                )
        if close - start > 80:
            return start + 1
        content = self._flat[start + 1 : close].strip()
        if content.startswith("^") and 1 < len(content) <= _LONGEST_LABEL and not content.count(" "):
            return self._add("footnote", start, close + 1, (content[1:],))
        keys = numbers_of(content, self._labels)
        if keys:
            return self._add("number", start, close + 1, keys)
        named = _NAMED.fullmatch(content)
        keys = numbers_of(named["numbers"], self._labels) if named else ()
        if keys:
            return self._add("number", start, close + 1, keys)
        dagger = _DAGGER.fullmatch(content)
        if dagger is not None:
            return self._add("lenticular", start, close + 1, (dagger.group(1),))
        if content in self._labels:
            return self._add("label", start, close + 1, (content,))
        return start + 1

    def _destination(self, start: int) -> tuple[str, int] | None:
        """The address in `(address "title")` at this place, and where the bracket ends."""
        flat, limit = self._flat, min(len(self._flat), start + _LONGEST_ADDRESS)
        index = start + 1
        while index < limit and flat[index] in " \t\n":
            index += 1
        if index < limit and flat[index] == "<":
            end = flat.find(">", index, limit)
            return (flat[index + 1 : end], end + 2) if end > 0 and flat.startswith(")", end + 1) else None
        begin, depth = index, 0
        for match in _DESTINATION_END.finditer(flat, begin, limit):
            index, char = match.start(), match.group()
            if char == "(":
                depth += 1
                if depth > _DEEPEST_ADDRESS:
                    return None
            elif char == ")" and depth:
                depth -= 1
            elif char == ")":
                return flat[begin:index], index + 1
            else:
                title = _TITLE.match(flat, index)
                after = title.end() if title else index + 1
                return (flat[begin:index], after + 1) if flat.startswith(")", after) else None
        return None

    def _angle(self, start: int, token: str) -> int:
        match = _AUTOLINK.match(self._flat, start)
        if match is not None:
            return self._add("url", start, match.end(), target=match.group(1))
        match = _SUP.match(self._flat, start)
        if match is not None:
            keys = numbers_of(match.group(1).strip("[]"), self._labels)
            if keys and (match.group(1).startswith("[") or self._may_be_note(start, keys)):
                return self._add("superscript", start, match.end(), keys)
        match = _TAG.match(self._flat, start)
        if match is None:
            return start + 1
        if match.group() == "<!--":
            if self._last_comment < start:
                return start + 4
            return self._add("tag", start, self._flat.index("-->", start) + 3)
        href = _HREF.search(match.group(2)) if match.group(1).lower() == "a" else None
        if href is not None:
            return self._add("link", start, match.end(), target=href.group(1))
        return self._add("tag", start, match.end())

    def _plain_address(self, start: int, token: str) -> int:
        pattern = _ADDRESS if token[0] in "hHwW" else _IDENTIFIER
        match = pattern.match(self._flat, start)
        address = trimmed_address(match.group()) if match else ""
        if len(address) <= len(token):
            return start + len(token)
        self._add("url", start, start + len(address), target=address)
        return start + len(match.group() if match else token)

    def _fullwidth(self, start: int, token: str) -> int:
        match = _FULLWIDTH.match(self._flat, start)
        keys = numbers_of(match.group(1), self._labels) if match else ()
        return self._add("number", start, match.end(), keys) if match and keys else start + 1

    def _lenticular(self, start: int, token: str) -> int:
        match = _LENTICULAR.match(self._flat, start)
        if match is None:
            return start + 1
        return self._add("lenticular", start, match.end(), tuple(re.findall(r"\d+", match.group(1))))

    def _content_reference(self, start: int, token: str) -> int:
        """A chat's own mark, which names a source that the exported text does not hold."""
        match = _CONTENT_REFERENCE.match(self._flat, start)
        return start + 1 if match is None else self._add("label", start, match.end(), (match.group(1),))

    def _private(self, start: int, token: str) -> int:
        """The same in characters of private use, as it stands in an answer before it is shown."""
        match = _PRIVATE.match(self._flat, start)
        if match is None:
            return start + 1
        return self._add("label", start, match.end(), tuple(match.group(1)[1:].split("\ue202")))

    def _superscript(self, start: int, token: str) -> int:
        match = _SUPERSCRIPT.match(self._flat, start)
        assert match is not None
        keys = superscript_digits(match.group())
        if self._may_be_note(start, keys):
            return self._add("superscript", start, match.end(), keys)
        return match.end()

    def _may_be_note(self, start: int, keys: tuple[str, ...]) -> bool:
        """Whether raised digits here are a note's number rather than an exponent or a unit's power.

        After the end of a sentence they can be nothing else. After a word they are if entries bear all
        the numbers and the word is no unit or symbol, that is, has four letters or more.
        """
        before = self._flat[max(0, start - 4) : start]
        if before[-1:] and before[-1] in ".,;:!?。，；：！？、”\"'’)）]":
            return True
        word = (len(before) == 4 and before.isalpha()) or before[-1:] > "\u2e7f"
        return word and all(key in self._labels for key in keys)

    def _parenthesis(self, start: int, token: str) -> int:
        found = author_years(self._flat, start, self._marks[-1].end if self._marks else 0)
        if found is None:
            return start + 1
        self._marks.append(Mark("author_year", found.start, found.end, found.keys, certain=found.certain))
        return found.end
