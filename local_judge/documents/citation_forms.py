"""Readers of citation marks in brackets, links, elements and commands, at one position of a text.

Invariants: every look-ahead is bounded. Forms that ordinary text has as well (`(1)`, `①`, `word[1]`) are marked as
uncertain.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

from local_judge.documents.addresses import TAG, link
from local_judge.documents.citation_keys import CIRCLED, DASH, NUMBER, Keys, canonical, known, numbers
from local_judge.documents.mark_text import Found, Reader, Text
from local_judge.documents.raised_digits import LAST_WORD, LOOSE

_LONGEST_ELEMENT = 4096
_LONGEST_LABEL = 60

_CIRCLED_LIST = re.compile(rf"{CIRCLED}(?:[\s,，、]?{CIRCLED}){{0,20}}")
_TURNS = re.compile(r"(?:file)?cite ?((?:turn\d{1,3}[a-z]{2,12}?\d{1,4}){1,20})")
_CARD = re.compile(
    r"\[[^\[\]]{0,20}\]\(grok_render_citation_card_json=\{\"cardIds\":\[([^\]\n]{1,400})\]\}\)"
)
_ELEMENT = re.compile(
    r"<(?P<name>(?:[a-z]{2,12}:)?(?:cite|citation|ref|source|render|co))\b(?P<given>[^<>]{0,400}?)(?P<empty>/?)>",
    re.IGNORECASE,
)
_IDENTITY = re.compile(
    r"\b(?:id|ids|card_id|index|ref|source|doc|sources?_ids?)\s?=\s?[\"']?([\w][\w:., -]{0,80})",
    re.IGNORECASE,
)
_PANDOC_KEY = re.compile(r"-?@([\w][\w:.+/-]{0,60})")
_PANDOC = re.compile(r"\[(?:[^\[\]@\n]{0,30}\s)?(-?@[^\[\]\n]{1,200})\]")
_YEAR = re.compile(r"(?<!\d)(?:1[89]|20)\d\d(?!\d)")
_NAMED_YEAR = re.compile(rf"[^\W\d_][\w:.+/-]{{0,50}}?{_YEAR.pattern}")
_TO = re.compile(rf"{DASH.pattern}|\s(?:bis|through)\s|[至到]")
"""Between two marks that are a range; not `to`, as in "compared [1] to [3]"."""
_WORD_BEFORE = re.compile(r"[A-Za-zÀ-ɏ]\w*$")
_INDEXED = re.compile(r"[A-Za-z0-9_})\]]")
_SUBSCRIPTED = re.compile(
    r"""(?:[a-z0-9]_[a-z0-9]{1,40}|\w\[["'][^"'\[\]\n]{1,40}["']\]|(?<!\w)[a-z_]\w{0,40}\((?!e?s\))[\w., ]{0,40}\))"""
    r"(?:\[\d{1,4}\]){0,3}$",
    re.ASCII,
)
"""Text of code before an index: `my_costs`, `df["a"]`, `f(x)`; but not `mill(s)`."""
_BRACKETS = re.compile(r"(?:\[\d{1,4}\]){0,4}")
_CAPITAL_NUMBER = re.compile(r"\[\s?No")
_ASSIGNED = re.compile(r"\s?(?:[-+*/]?=|[<>]=?\s|\.[a-z]+\()")
_ENDS_CLAUSE = re.compile(r"[*_\"”’)]{0,3}\s{0,1}(?:[.,;:!?)。，；：！？،؛؟।|]|\n|$)")
_BEFORE_INTERVAL = re.compile(
    r"(?:\b(?:lies?|lying|rang(?:e[sd]?|ing)|intervals?|scales?|between|within)(?: (?:in|of|from|between|within|over))?"
    r"(?: (?:the|an?) (?:interval|range))?|∈)\s?\\?$",
    re.IGNORECASE,
)
"""Words before an interval such as `[1, 5]`."""
_AFTER_INTERVAL = re.compile(
    r"\[(?:0|[-−]\d+|\d*\.\d+),\s?[-−]?[\d.]+[\])]\s(?:and|or|to|und|oder|et|ou|[×∪∩])\s$"
)
"""Interval and a word that joins it to another one."""
_TERMINATED = '.!?。！？”"'


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


def bracketed(pattern: str, keys: Keys) -> Reader:
    """Return a reader of brackets that are no index, and of ranges over two of them: `[1]–[3]`."""
    one = matching(pattern, keys)

    def read(text: Text, start: int) -> Found | None:
        found = one(text, start)
        if found is None or _is_index(text.flat, start, found.end):
            return None
        if any(key == other for key, other in pairwise(found.keys)) or _AFTER_INTERVAL.search(
            text.flat, max(0, start - 40), start
        ):
            return None
        if _CAPITAL_NUMBER.match(text.flat, start) and not _closes_clause(text.flat, start, found.end):
            return None  # "the [No. 3] mill"
        plain = text.flat[start] == "["
        word = _WORD_BEFORE.search(text.flat, max(0, start - 40), start) if plain else None
        if word is not None:
            found.shown, found.certain = word.group(), False
        unlisted = any(key not in text.labels for key in found.keys)
        if unlisted and _BEFORE_INTERVAL.search(text.flat, max(0, start - 40), start):
            return None
        dash = _TO.match(text.flat, found.end)
        last = one(text, dash.end()) if dash is not None else None
        if last is not None and len(found.keys) == len(last.keys) == 1:
            keys = numbers(f"{found.keys[0]}-{last.keys[0]}", text.labels)
            return replace(found, end=last.end, keys=keys) if keys else found
        return found

    return read


def _is_index(flat: str, start: int, end: int) -> bool:
    """Check whether a bracket is an index: `x[1]`, `rows[1] = 2`, `my_costs[1] and`."""
    before = flat[max(0, start - 2) : start]
    if not before or not _INDEXED.match(before[-1]):
        return False
    alone = len(before) < 2 or not (before[0].isalnum() or before[0] in "_'’.-")
    if alone and before[-1].isascii() and before[-1].islower():
        return True
    if before[-1] != "]" and _ASSIGNED.match(flat, end) is not None:
        return True
    last = _BRACKETS.match(flat, end)
    closes = last is not None and _ENDS_CLAUSE.match(flat, last.end()) is not None
    return not closes and _SUBSCRIPTED.search(flat, max(0, start - 100), start) is not None


def linked_twice(text: Text, start: int) -> Found | None:
    """Read a link with a number of the same source: `[[site](https://…)][1]`."""
    close = text.closing.get(start)
    if close is None or not text.flat.startswith("[", start + 1) or not text.flat.startswith("[", close + 1):
        return None
    inner, after = link(text, start + 1), text.closing.get(close + 1)
    if inner is None or inner.end != close or after is None or after - close > _LONGEST_LABEL:
        return None
    keys = known(text.flat[close + 2 : after], text.labels)
    return Found(after + 1, keys) if keys else None


def rounded(text: Text, start: int) -> Found | None:
    """Read `(Source 1)`, and, with doubt, `(1)` at the end of a clause or, loosely, after a word."""
    match = _ROUND.match(text.flat, start)
    keys = known(match.group(1), text.labels) if match is not None else ()
    if match is None or not keys or _ONLY_HERE.match(match.group(1)):
        return None
    bare = _ONLY_NUMBER.match(match.group(1)) is not None
    if bare and not _closes_clause(text.flat, start, match.end()):
        inside = LAST_WORD.search(text.flat, max(0, start - 40), start - 1)
        return Found(match.end(), keys, shown=LOOSE, certain=False) if inside else None
    apart = text.flat[start - 1 : start] == " "
    word = LAST_WORD.search(text.flat, max(0, start - 40), start - 1) if apart else None
    return Found(match.end(), keys, shown=word.group(1) if word is not None else "", certain=not bare)


_ONLY_NUMBER = re.compile(r"(?:(?:see|cf|vgl|siehe|voir|见|參見|参见)[.:：]?)?\s?[\d¹²³⁴-⁹]", re.IGNORECASE)
_ONLY_HERE = re.compile(r"[A-Za-z]$|n(?:os?|[nr])?[.:°º\s]", re.IGNORECASE)
"""Keys that ordinary text has in round brackets: `(A)`, `(Nr. 3)`."""
_ROUND = re.compile(r"[(（]\s?([^()（）\[\]\n]{1,40})[)）]")


def circled(text: Text, start: int) -> Found | None:
    """Read `①②` at the end of a clause, with doubt: lists within a sentence begin their items so."""
    match = _CIRCLED_LIST.match(text.flat, start)
    if match is None or not _closes_clause(text.flat, start, match.end()):
        return None
    keys = tuple(canonical(sign) for sign in re.findall(CIRCLED, match.group()))
    return Found(match.end(), keys, certain=False) if all(key in text.labels for key in keys) else None


def signed(text: Text, start: int) -> Found | None:
    """Read `※1` within a line, with doubt: lines that begin so are notes of any kind."""
    match = _SIGNED.match(text.flat, start) if start and text.flat[start - 1] != "\n" else None
    keys = known(match.group(1), text.labels) if match is not None else ()
    return Found(match.end(), keys, certain=False) if match is not None and keys else None


_SIGNED = re.compile(r"※(\d{1,3})")


def _closes_clause(flat: str, start: int, end: int) -> bool:
    """Check whether a mark ends a clause, or follows a full stop directly."""
    before = flat[max(0, start - 40) : start].rstrip(" \t")
    if not before or before[-1] in ":：;；(（\n":
        return False
    return (before[-1] in _TERMINATED and flat[start - 1] in _TERMINATED) or _ENDS_CLAUSE.match(
        flat, end
    ) is not None


def anchored(text: Text, start: int) -> Found | None:
    """Read a link within the report whose text is a number or whose target is an entry: `[1](#ref1)`."""
    found = link(text, start)
    return None if found is None else _within(text, found, found.shown)


def anchor_element(text: Text, start: int) -> Found | None:
    """Read `<a href="#ref1">1</a>`."""
    match = TAG.match(text.flat, start)
    href = _PLACE.search(match.group(2)) if match is not None and match.group(1).lower() == "a" else None
    end = text.flat.find("</a>", match.end(), match.end() + _LONGEST_LABEL) if match is not None else -1
    if match is None or href is None or end < 0:
        return None
    return _within(text, Found(end + 4, target=href.group(1)), text.flat[match.end() : end])


_PLACE = re.compile(r"""\shref\s?=\s?["']?(#[^\s"'<>]+)""", re.IGNORECASE)
_NOTE_TARGET = re.compile(
    r"#(?:user-content-)?(?:(?:cite_?)?refs?|references?|cit(?:e|ation)?|fn|footnote|note|sources?|bib|r|s)?[-_:.]?\d",
    re.IGNORECASE,
)
_PART = re.compile(r"#(?:sec|chap|part|step|fig|tab|eq|toc)", re.IGNORECASE)
_MARKUP_OF_NUMBER = re.compile(r"</?[a-z]{1,6}>|[\\\[\](){}（）【】^*_]|\s+$|^\s+", re.IGNORECASE)


def _within(text: Text, found: Found, shown: str) -> Found | None:
    if "://" in found.target[:12] or len(shown) > _LONGEST_LABEL or _PART.match(found.target):
        return None
    named = numbers if _NOTE_TARGET.match(found.target) else known
    keys = named(_MARKUP_OF_NUMBER.sub("", shown), text.labels)
    if not keys and found.target.startswith("#") and found.target in text.labels:
        keys = (found.target,)
    return Found(found.end, keys) if keys else None


def turns(text: Text, start: int) -> Found | None:
    """Read the ids that a chat's export leaves: `citeturn0search0turn0search3`."""
    match = _TURNS.match(text.flat, start)
    keys = re.findall(r"turn\d+[a-z]+\d+", match.group(1)) if match is not None else ()
    return Found(match.end(), tuple(keys)) if match is not None else None


def card(text: Text, start: int) -> Found | None:
    """Read a card of Grok, `[](grok_render_citation_card_json={"cardIds":["3bb883"]})`."""
    match = _CARD.match(text.flat, start)
    return Found(match.end(), tuple(re.findall(r"\w+", match.group(1)))) if match is not None else None


def element(text: Text, start: int) -> Found | None:
    """Read an element that names a source: `<qwen:cite id="id_2">its text</qwen:cite>`, `<cite index="2-1">`.

    The content is part of the mark if the element has a prefix, which marks quotations of the source, or holds only
    numbers; else it is text of the report.
    """
    match = _ELEMENT.match(text.flat, start)
    if match is None:
        return None
    identity = _IDENTITY.search(match["given"])
    close = -1 if match["empty"] else text.close_of(match["name"], match.end(), _LONGEST_ELEMENT)
    content = text.flat[match.end() : close] if close >= 0 else ""
    named = identity.group(1) if identity is not None else content
    keys = tuple(_of_id(part, text.labels) for part in re.split(r"[,\s]+", named.strip()) if part)
    if identity is None and not (keys and all(NUMBER.fullmatch(key) for key in keys)):
        return None
    whole = close >= 0 and (":" in match["name"] or not re.search(r"[^\W\d_]", content))
    return Found(close + len(match["name"]) + 3 if whole else match.end(), keys)


def _of_id(written: str, labels: frozenset[str]) -> str:
    digits = written.rpartition("_")[2]
    return digits if written not in labels and digits in labels else canonical(written)


def narrative(text: Text, start: int) -> Found | None:
    """Read `@kim2024` of pandoc; a key without an entry is a name with a year, as some entry's key is."""
    match = _PANDOC_KEY.match(text.flat, start)
    key = match.group(1).rstrip(".:") if match is not None else ""
    named = key in text.labels or (_YEAR.search(key) and any(map(_NAMED_YEAR.match, text.labels)))
    return Found(start + 1 + len(key), (key,)) if named else None


def pandoc(text: Text, start: int) -> Found | None:
    """Read citations of pandoc, `[see @kim2024, p. 4; @lee]`; a name without a year needs an entry."""
    match = _PANDOC.match(text.flat, start)
    keys = tuple(key.rstrip(".:") for key in _PANDOC_KEY.findall(match.group(1))) if match is not None else ()
    if match is None or not all(key in text.labels or _YEAR.search(key) for key in keys):
        return None
    return Found(match.end(), keys)
