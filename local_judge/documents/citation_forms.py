"""Readers of citation marks at one position of a text, and of the keys that a mark names.

Invariants: every look-ahead is bounded. Forms that are ambiguous (a year, a zero, a large number, a raised digit
after a unit) are citations only if a reference entry has that key. An author-year bracket is read as a whole or not
at all, so that `(founded in Berlin, 2019)` is none, and a single name with a year is marked as uncertain.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from indexes.resources import word_list

Keys = Callable[[str, frozenset[str]], tuple[str, ...]]
"""Function from a mark's content and the keys of all reference entries to the keys named; empty for no citation."""

_LONGEST_ADDRESS = 4096
_DEEPEST_ADDRESS = 8
_LONGEST_RANGE = 100

TAG = re.compile(r"<(/?[A-Za-z][A-Za-z0-9-]{0,30})((?:\s[^<>]{0,4096})?)/?>")
_HREF = re.compile(r"""\shref\s?=\s?["']?(https?://[^\s"'<>]+)""", re.IGNORECASE)
_AUTOLINK = re.compile(r"<(https?://[^\s<>]{1,4096})>", re.IGNORECASE)
_ADDRESS = re.compile(
    r"(https?://|www\.)[^\s<>\"`{}|\\^“”‘’«»。，；：！？、（）【】《》「」『』［］]+", re.IGNORECASE
)
_IDENTIFIER = re.compile(
    r"(doi ?: ?10\.)\d{4,9}/[^\s<>\"`{}|\\^“”。，；！？、（）【】]+"
    r"|(arxiv ?: ?)(?:\d{4}\.\d{4,5}|[a-z-]+(?:\.[A-Z]{2})?/\d{7})(?:v\d+)?",
    re.IGNORECASE,
)
_DESTINATION_END = re.compile(r"[\s()]")
_TITLE = re.compile(r"[ \t]{1,8}(?:\"[^\"\n]{0,500}\"|'[^'\n]{0,500}')[ \t]{0,8}")
_TRAILING = ".,;:!?'\"*_~"

RAISED = r"[⁰¹²³⁴-⁹]{1,4}(?:[\s,，⁻˒]{0,2}[⁰¹²³⁴-⁹]{1,4}){0,20}"
_RAISED = re.compile(RAISED)
RAISED_DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_SUP = re.compile(r"<sup>\s{0,3}(\[?\d[\d\s,，、;–-]{0,60}\]?)\s{0,3}</sup>", re.IGNORECASE)

_LIST = re.compile(r"\^?\d{1,4}(?:\s{0,2}(?:[,，、;；]|[-–—−~～‑‐])\s{0,2}\^?\d{1,4}){0,60}")
_PART = re.compile(r"(\d{1,4})(?:\s{0,2}[-–—−~～‑‐]\s{0,2}\^?(\d{1,4}))?")
_WIDE = str.maketrans("０１２３４５６７８９", "0123456789")

_NAME = r"(?<![\w-])(?:(?:van|von|de|der|den|di|du|la|le|al|el|bin|ibn)[ -]){0,2}[A-ZÀ-ÖØ-ÞĀ-Ž][\w'’‑-]{1,30}"
_MORE = rf"(?:,? et al\.?|(?:, {_NAME}){{0,4}},? (?:and|&|und|et|y) {_NAME})"
_YEAR = r"(?:1[5-9]|20)\d\d[a-z]?"
_SEE = r"(?:(?:see(?: also)?|e\.g\.|cf\.|also|in),? )?"
_LATIN = re.compile(
    rf"\s?{_SEE}(?P<name>{_NAME})(?P<more>{_MORE})?,? (?P<years>{_YEAR}(?:, {_YEAR}){{0,4}})"
    r"(?:[,:] ?(?:pp?\. ?)?\d{1,4}(?:[-–]\d{1,4})?)?\s?"
)
_HAN = re.compile(
    rf"\s?(?P<name>[\u4e00-\u9fff]{{2,3}}?)(?P<more>等人?"
    rf"|[和与][\u4e00-\u9fff]{{2,3}})?[,，] ?(?P<years>{_YEAR})年?\s?"
)
_NARRATIVE = re.compile(
    rf"(?P<name>{_NAME})(?P<more>{_MORE}|(?:'s|’s))?\s?$|(?P<han>[\u4e00-\u9fff]{{2,3}})等人?\s?$"
)
_ONLY_YEARS = re.compile(rf"\s?({_YEAR}(?:[,;] ?{_YEAR}){{0,4}})\s?")
_CLOSE = re.compile(r"[^()（）\n]{4,300}[)）]")
_YEARS = re.compile(_YEAR)
_NO_AUTHORS = word_list("local_judge.documents", "no_authors")


@dataclass(slots=True)
class Found:
    """Mark `flat[start:end]`; `start` is the position of the reader if it is None."""

    end: int
    keys: tuple[str, ...] = ()
    """Keys named by the mark: numbers, a footnote's label, `Kim 2024`."""
    target: str = ""
    """Address as written."""
    shown: str = ""
    """Text of a link."""
    certain: bool = True
    """False for `(Kim, 2024)`, which is a citation only in a report that cites by author and year."""
    start: int | None = None


@dataclass
class Text:
    """Text of one block, with the lookup tables of the readers."""

    flat: str
    labels: frozenset[str]
    """Keys of all reference entries."""
    floor: int = 0
    """End of the last mark; no mark starts before it."""

    @cached_property
    def closing(self) -> dict[int, int]:
        """Offset of the closing bracket of each `[`, without escaped brackets."""
        found: dict[int, int] = {}
        stack: list[int] = []
        for match in re.finditer(r"\\.|[\[\]]", self.flat, re.DOTALL):
            token = match.group()
            if token == "[":
                stack.append(match.start())
            elif token == "]" and stack:
                found[stack.pop()] = match.start()
        return found

    @cached_property
    def ticks(self) -> dict[int, list[int]]:
        """Offsets of runs of backticks, by their length."""
        found: dict[int, list[int]] = {}
        for match in re.finditer(r"`+", self.flat):
            found.setdefault(len(match.group()), []).append(match.start())
        return found

    @cached_property
    def last_comment_end(self) -> int:
        """Offset of the last `-->`; -1 if there is none."""
        return self.flat.rfind("-->")


Reader = Callable[[Text, int], Found | None]
"""Function that reads the mark at an offset; None if there is none."""


def matching(pattern: str, keys: Keys) -> Reader:
    """Return a reader of marks that match a regular expression.

    Args:
        pattern: Regular expression of the whole mark; its first group contains the keys.
        keys: Function that reads the keys from the group.
    """
    compiled = re.compile(pattern)

    def read(text: Text, start: int) -> Found | None:
        match = compiled.match(text.flat, start)
        named = keys(match.group(1), text.labels) if match is not None else ()
        return Found(match.end(), named) if match is not None and named else None

    return read


def numbers(content: str, labels: frozenset[str]) -> tuple[str, ...]:
    """Read numbers such as `1, 3` or `2–5`, ranges expanded; a number beyond 1 to 999 needs an entry with that key."""
    content = content.strip().translate(_WIDE)
    if not _LIST.fullmatch(content):
        return ()
    keys: list[str] = []
    for match in _PART.finditer(content):
        first, last = match.group(1), match.group(2)
        if last is None:
            keys.append(str(int(first)))
            continue
        low, high = int(first), int(last)
        if high < low or high - low > _LONGEST_RANGE:
            return ()
        keys.extend(str(number) for number in range(low, high + 1))
    for key in keys:
        if not 0 < int(key) < 1000 and key not in labels:
            return ()
    return tuple(keys)


def digits(content: str, labels: frozenset[str]) -> tuple[str, ...]:
    """Read all runs of digits."""
    return tuple(re.findall(r"\d+", content))


def name(content: str, labels: frozenset[str]) -> tuple[str, ...]:
    """Read the content as a key, whether or not an entry has it."""
    return (content,)


def known_name(content: str, labels: frozenset[str]) -> tuple[str, ...]:
    """Read the content as a key, if an entry has it."""
    return (content.strip(),) if content.strip() in labels else ()


def raised(content: str, labels: frozenset[str]) -> tuple[str, ...]:
    """Read raised digits: `¹,²` names 1 and 2, `¹²` names 12."""
    return tuple(str(int(run.translate(RAISED_DIGITS))) for run in re.findall(r"[⁰¹²³⁴-⁹]+", content))


def superscript(text: Text, start: int) -> Found | None:
    """Read raised digits that are a note's number: `¹,²`."""
    match = _RAISED.match(text.flat, start)
    keys = raised(match.group(), text.labels) if match is not None else ()
    return Found(match.end(), keys) if match is not None and _may_be_note(text, start, keys) else None


def sup_element(text: Text, start: int) -> Found | None:
    """Read raised numbers in HTML: `<sup>1, 2</sup>`, `<sup>[1]</sup>`."""
    match = _SUP.match(text.flat, start)
    keys = numbers(match.group(1).strip("[]"), text.labels) if match is not None else ()
    if match is None or not keys:
        return None
    sure = match.group(1).startswith("[") or _may_be_note(text, start, keys)
    return Found(match.end(), keys) if sure else None


def _may_be_note(text: Text, start: int, keys: tuple[str, ...]) -> bool:
    """Check whether raised digits are a note's number and not an exponent or a unit's power.

    They are at the end of a sentence. After a word they are if entries have all the numbers and the word is no unit or
    symbol, that is, has four letters or more.
    """
    before = text.flat[max(0, start - 4) : start]
    if before[-1:] and before[-1] in ".,;:!?。，；：！？、”\"'’)）]":
        return True
    word = (len(before) == 4 and before.isalpha()) or before[-1:] > "\u2e7f"
    return word and all(key in text.labels for key in keys)


def link(text: Text, start: int) -> Found | None:
    """Read a link in Markdown, `[text](address)`."""
    close = text.closing.get(start)
    if close is None or not text.flat.startswith("(", close + 1):
        return None
    target = destination(text.flat, close + 1)
    if target is None:
        return None
    return Found(target[1], target=target[0], shown=text.flat[start + 1 : close])


def anchor(text: Text, start: int) -> Found | None:
    """Read the opening tag of a link in HTML, `<a href="https://…">`."""
    match = TAG.match(text.flat, start)
    if match is None or match.group(1).lower() != "a":
        return None
    href = _HREF.search(match.group(2))
    return Found(match.end(), target=href.group(1)) if href is not None else None


def autolink(text: Text, start: int) -> Found | None:
    """Read an address in angle brackets."""
    match = _AUTOLINK.match(text.flat, start)
    return Found(match.end(), target=match.group(1)) if match is not None else None


def address(text: Text, start: int) -> Found | None:
    """Read a bare web address."""
    return _plain(_ADDRESS, text, start)


def identifier(text: Text, start: int) -> Found | None:
    """Read a DOI or arXiv id that is introduced as such."""
    return _plain(_IDENTIFIER, text, start)


def _plain(pattern: re.Pattern[str], text: Text, start: int) -> Found | None:
    match = pattern.match(text.flat, start)
    if match is None:
        return None
    target = _trimmed(match.group())
    return (
        Found(start + len(target), target=target) if len(target) > len(match[match.lastindex or 1]) else None
    )


def _trimmed(address: str) -> str:
    """Remove trailing punctuation, and closing brackets that the address did not open."""
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


def destination(flat: str, start: int) -> tuple[str, int] | None:
    """Read `(address "title")`; return the address and the end of the bracket."""
    limit = min(len(flat), start + _LONGEST_ADDRESS)
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


def author_years(text: Text, bracket: int) -> Found | None:
    """Read the author-year citation whose opening bracket is at `bracket`; its keys are such as `Kim 2024`."""
    flat = text.flat
    close = _CLOSE.match(flat, bracket + 1)
    if close is None:
        return None
    content = close.group()[:-1]
    years = _ONLY_YEARS.fullmatch(content)
    if years is not None:
        return _narrative(flat, bracket, max(text.floor, bracket - 120), close.end(), years.group(1))
    keys: list[str] = []
    certain = False
    for part in re.split(r"[;；]", content):
        match = _LATIN.fullmatch(part) or _HAN.fullmatch(part)
        if match is None or match["name"] in _NO_AUTHORS:
            return None
        certain = certain or match["more"] is not None
        keys.extend(f"{match['name']} {year}" for year in _YEARS.findall(match["years"]))
    return Found(close.end(), tuple(keys), certain=certain)


def _narrative(flat: str, bracket: int, floor: int, end: int, years: str) -> Found | None:
    match = _NARRATIVE.search(flat, floor, bracket)
    if match is None or match["name"] in _NO_AUTHORS:
        return None
    name, more = match["name"] or match["han"], match["more"]
    certain = match["han"] is not None or (more is not None and more not in ("'s", "’s"))
    keys = tuple(f"{name} {year}" for year in _YEARS.findall(years))
    return Found(end, keys, certain=certain, start=match.start())
