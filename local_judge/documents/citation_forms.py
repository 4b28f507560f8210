"""Readers of citation marks at one position of a text, and of the keys that a mark names.

Invariants: every look-ahead is bounded. Forms that are ambiguous (a year, a zero, a large number, a word with a number,
a raised digit after a unit) are citations only if a reference entry has that key. Forms that ordinary text has as well
(`(1)`, `①`, a digit after a word) are marked as uncertain.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from local_judge.documents.addresses import TAG, link
from local_judge.documents.mark_text import Found, Reader, Text

Keys = Callable[[str, frozenset[str]], tuple[str, ...]]
"""Function from a mark's content and the keys of all reference entries to the keys named; empty for no citation."""

_LONGEST_RANGE = 100
_LONGEST_ELEMENT = 4096
_LONGEST_LABEL = 60

_RAISED_RUN = r"[⁰¹²³⁴-⁹]{1,4}"
RAISED = rf"{_RAISED_RUN}(?:[\s,，⁻˒]{{0,2}}{_RAISED_RUN}){{0,20}}"
CIRCLED = "[①-⑳㉑-㉟㊱-㊿❶-❿]"
_RAISED_DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_PLAIN_DIGITS = str.maketrans("０１２３４５６７８９", "0123456789") | {
    ord(first) + number: str(low + number)
    for first, low, count in (("①", 1, 20), ("㉑", 21, 15), ("㊱", 36, 15), ("❶", 1, 10))
    for number in range(count)
}
_RAISED_LIST = re.compile(RAISED)
_CIRCLED_LIST = re.compile(rf"{CIRCLED}(?:[\s,，、]?{CIRCLED}){{0,20}}")
_SUP = re.compile(r"<sup>\s{0,3}(\[?\^?\d[\d\s,，、;–-]{0,60}\]?)\s{0,3}</sup>", re.IGNORECASE)
_CARETS = re.compile(r"\^(\[?\d{1,3}(?:\s?[,–-]\s?\d{1,3}){0,20}\]?)\^")
_TEX_RAISED = re.compile(r"\$\s?\^\s?(?:\{\s?)?(\[?\d[\d\s,–-]{0,60}\]?)\s?\}?\s?\$")
_GLUED = re.compile(r"(\d{1,3}(?:\s?[,–]\s?\d{1,3}){0,10})(?=\s|$|[*_|]{1,3}(?:\s|$))")
_SPACED = re.compile(
    r"(\d{1,3}(?:, ?\d{1,3}){0,10})(?=[*_\"”’»)]{0,3}[.,;:!?)。，；：！？](?:\D|$)|\s*(?:$|\n\n|\|))"
)
_BEFORE_GLUED = re.compile(
    r"(?:[^\W\d_]|[%)\]”\"’'»*_）】」』]|(?<!\d)(?:19|20)\d\d)([.,;:!?…。，；：！？؟।])[\"”’'»)*_）」』]{0,4}$"
)
_SMALL = re.compile(r"[*_\s]{0,4}[a-zß-öø-ÿ]")
_LAST_WORD = re.compile(r"([^\W\d_]+|%)[?!\"”’'»)*_）」』]{0,4}$")

_DASH = re.compile(r"\s{0,2}[-–—−~～‑‐]\s{0,2}")
_SEPARATOR = re.compile(r"\s*(?:[,，、;；&]|\b(?:and|und|et|y|e|en|och)\b|[和与及])\s*|\s+")
_RANGE = re.compile(r"([^\W\d_]{0,12}:?)(\d{1,4})-(?:\1|\^)?(\d{1,4})\^?")
_NUMBER = re.compile(r"\d{1,4}")
_CODE = re.compile(r"([A-Za-z]{1,4}-?)\d{1,3}")
_CITING = re.compile(r"\A(?:citation|cite|source|ref(?:erence)?)s?\.?\s?[:：#]?\s?(?=[\^\d])", re.IGNORECASE)
_NAMING = re.compile(
    r"\A(?:(?:see|cf|vgl|siehe|voir|见|參見|参见|note|fn|quellen?|fuentes?|fontes?|fonti|bron(?:nen)?|källa|kilder?"
    r"|lähde|źródł[oa]|zdroje?|kaynak|источник|джерело|nguồn|sumber|来源|來源|文献|文獻|资料|資料|引用|参考|參考|注|出典|출처"
    r"|المصدر|مصدر|מקור|स्रोत)[.:：]?\s?){1,2}(?=[#№\d])",
    re.IGNORECASE,
)
_LOCATOR = re.compile(
    r"\s?[,，:：;]\s?(?:(?:pp?|ss?|ch|chap|sec|fig|tab|para|art|page|pages|chapter|section|table|figure|lines?|l)\b\.?|§|¶|第)"
    r"\s?[\w.–-]{1,12}(?:\s?(?:页|頁|章|节))?$|[:：]\s\d{1,4}(?:[–-]\d{1,4})?$",
    re.IGNORECASE,
)
_TOOL_ID = re.compile(
    r"(?:(?:web|file|post|doc|url|news|search|memory|tool|browser|code_file)[:_]\d{1,4}"
    r"|turn\d{1,3}[a-z]{2,12}\d{1,4})"
)
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
_INDEXED = re.compile(r"[A-Za-z0-9_})\]]")
_SUBSCRIPTED = re.compile(
    r"""(?:[a-z0-9]_[a-z0-9]{1,40}|\w\[["'][^"'\[\]\n]{1,40}["']\]|(?<!\w)[a-z_]\w{0,40}\((?!e?s\))[\w., ]{0,40}\))"""
    r"(?:\[\d{1,4}\]){0,3}$",
    re.ASCII,
)
"""Text of code before an index: `my_costs`, `df["a"]`, `f(x)`; but not `mill(s)`."""
_BRACKETS = re.compile(r"(?:\[\d{1,4}\]){0,4}")
_ASSIGNED = re.compile(r"\s?(?:[-+*/]?=|[<>]=?\s|\.[a-z]+\()")
_ENDS_CLAUSE = re.compile(r"[*_\"”’)]{0,3}\s{0,1}(?:[.,;:!?)。，；：！？|]|\n|$)")
_BEFORE_INTERVAL = re.compile(
    r"(?:\b(?:lies?|lying|rang(?:e[sd]?|ing)|intervals?|scales?|between|within)(?: (?:in|of|from|between|within|over))?"
    r"(?: (?:the|an?) (?:interval|range))?|∈)\s?\\?$",
    re.IGNORECASE,
)
"""Words before an interval such as `[1, 5]`."""
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


def plain_digits(raised: str) -> str:
    """Return raised digits as ordinary ones."""
    return raised.translate(_RAISED_DIGITS)


def canonical(key: str) -> str:
    """Return a key as entries and marks share it: `1` for `^1^`, `#01`, `Source 1` and `①`."""
    key = key.strip().strip("^").translate(_PLAIN_DIGITS)
    key = _NAMING.sub("", _CITING.sub("", key)).lstrip("#№@ ")
    return str(int(key)) if key.isascii() and key.isdigit() else key


def numbers(content: str, labels: frozenset[str]) -> tuple[str, ...]:
    """Read keys such as `1, 3`, `2–5`, `Source 1`, `S1, S2` or `1, p. 4`, with ranges expanded.

    A number beyond 1 to 999 and every other name needs an entry with that key; `S3` needs one such as `S1`.
    """
    content = content.strip()
    if content in labels:
        return (content,)
    written = _CITING.sub("", content.translate(_PLAIN_DIGITS))
    named = _LOCATOR.sub("", _NAMING.sub("", written))
    content = _DASH.sub("-", named.lstrip("#№"))
    sure = named == written and not re.search(r"\d\s+\d", content)
    keys: list[str] = []
    for part in _SEPARATOR.split(content):
        span = _RANGE.fullmatch(part.strip("^"))
        if part in labels:
            keys.append(part)
        elif span is not None and 0 <= int(span[3]) - int(span[2]) <= _LONGEST_RANGE:
            keys.extend(f"{span[1]}{number}" for number in range(int(span[2]), int(span[3]) + 1))
        else:
            keys.append(canonical(part))
    sure = sure and "0" not in keys  # the interval [0, 5]
    for key in keys:
        if key in labels:
            continue
        code = _CODE.fullmatch(key)
        if code is not None and code[1] in _series(labels):
            continue
        if not (sure and _NUMBER.fullmatch(key) and 0 < int(key) < 1000):
            return ()
    return tuple(keys)


@lru_cache(maxsize=4)
def _series(labels: frozenset[str]) -> frozenset[str]:
    """Return the letters before the numbers of keys: `S` of `S1`."""
    return frozenset(code[1] for code in map(_CODE.fullmatch, labels) if code is not None)


def known(content: str, labels: frozenset[str]) -> tuple[str, ...]:
    """Read the keys as `numbers` does, if entries have them all."""
    keys = numbers(content, labels)
    return keys if all(key in labels for key in keys) else ()


def name(content: str, labels: frozenset[str]) -> tuple[str, ...]:
    """Read the content as a key, whether or not an entry has it."""
    return (canonical(content),)


def tools(content: str, labels: frozenset[str]) -> tuple[str, ...]:
    """Read an agent's ids of its sources: `web:12`, `turn0search3`."""
    parts = re.split(r"[\s,，、;\ue202]+", content.strip())
    return tuple(parts) if all(_TOOL_ID.fullmatch(part) for part in parts) else ()


def before_dagger(content: str, labels: frozenset[str]) -> tuple[str, ...]:
    """Read the key before a dagger: `12` of `12†L3-L9`, `12` of `12:0†source`."""
    key = re.split(r"[:：](?!//)", content.strip())[0] if content.strip()[:1].isdigit() else content.strip()
    return numbers(key, labels) or (key,)


def bracketed(pattern: str, keys: Keys) -> Reader:
    """Return a reader of brackets that are no index, and of ranges over two of them: `[1]–[3]`."""
    one = matching(pattern, keys)

    def read(text: Text, start: int) -> Found | None:
        found = one(text, start)
        if found is None or _is_index(text.flat, start, found.end):
            return None
        unlisted = any(key not in text.labels for key in found.keys)
        if unlisted and _BEFORE_INTERVAL.search(text.flat, max(0, start - 40), start):
            return None
        dash = _DASH.match(text.flat, found.end)
        last = one(text, dash.end()) if dash is not None else None
        if last is not None and len(found.keys) == len(last.keys) == 1:
            keys = numbers(f"{found.keys[0]}-{last.keys[0]}", text.labels)
            return Found(last.end, keys) if keys else found
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
    """Read `(Source 1)`, and, with doubt, `(1)` at the end of a clause."""
    match = _ROUND.match(text.flat, start)
    keys = known(match.group(1), text.labels) if match is not None else ()
    if match is None or not keys:
        return None
    bare = _ONLY_NUMBER.match(match.group(1)) is not None
    if bare and not _closes_clause(text.flat, start, match.end()):
        return None
    word = (
        _LAST_WORD.search(text.flat, max(0, start - 40), start - 1)
        if text.flat[start - 1 : start] == " "
        else None
    )
    return Found(match.end(), keys, shown=word.group(1) if word is not None else "", certain=not bare)


_ONLY_NUMBER = re.compile(r"(?:(?:see|cf|vgl|siehe|voir|见|參見|参见)[.:：]?)?\s?\d", re.IGNORECASE)
_ROUND = re.compile(r"[(（]\s?([^()（）\[\]\n]{1,40})[)）]")


def circled(text: Text, start: int) -> Found | None:
    """Read `①②` at the end of a clause, with doubt: lists within a sentence begin their items so."""
    match = _CIRCLED_LIST.match(text.flat, start)
    if match is None or not _closes_clause(text.flat, start, match.end()):
        return None
    keys = tuple(canonical(sign) for sign in re.findall(CIRCLED, match.group()))
    return Found(match.end(), keys, certain=False) if all(key in text.labels for key in keys) else None


def _closes_clause(flat: str, start: int, end: int) -> bool:
    """Check whether a mark ends a clause, or follows a full stop directly."""
    before = flat[max(0, start - 40) : start].rstrip(" \t")
    if not before or before[-1] in ":：;；(（\n":
        return False
    return (before[-1] in _TERMINATED and flat[start - 1] in _TERMINATED) or _ENDS_CLAUSE.match(
        flat, end
    ) is not None


def superscript(text: Text, start: int) -> Found | None:
    """Read raised digits that are a note's number: `¹,²`, where `¹²` is 12."""
    match = _RAISED_LIST.match(text.flat, start)
    keys = (
        tuple(canonical(plain_digits(run)) for run in re.findall(_RAISED_RUN, match.group()))
        if match is not None
        else ()
    )
    return (
        Found(match.end(), keys)
        if match is not None and _may_be_note(text, start, match.end(), keys)
        else None
    )


def raised_number(pattern: re.Pattern[str]) -> Reader:
    """Return a reader of raised numbers in markup: `<sup>1, 2</sup>`, `<sup>[1]</sup>`."""

    def read(text: Text, start: int) -> Found | None:
        match = pattern.match(text.flat, start)
        keys = numbers(match.group(1).strip("[]"), text.labels) if match is not None else ()
        if match is None or not keys:
            return None
        sure = match.group(1).startswith("[") or _may_be_note(text, start, match.end(), keys)
        return Found(match.end(), keys) if sure else None

    return read


sup_element = raised_number(_SUP)
carets = raised_number(_CARETS)
tex_raised = raised_number(_TEX_RAISED)


def opens_word(flat: str, start: int, end: int) -> bool:
    """Check whether raised digits are the first characters of a word, as in `¹H`."""
    after, before = flat[end : end + 1], flat[max(0, start - 1) : start]
    return after.isalpha() and after < "\u2e80" and (not before or before.isspace() or before in "([{/–—-*_$")


def _may_be_note(text: Text, start: int, end: int, keys: tuple[str, ...]) -> bool:
    """Check whether raised digits are a note's number and not an exponent or a unit's power.

    They are at the end of a sentence and do not open a word. After a word they are if entries have all the numbers and
    the word is no unit or symbol: it has four letters or more, not all of them capitals, or it is Chinese or Japanese.
    """
    if opens_word(text.flat, start, end):
        return False
    before = text.flat[max(0, start - 40) : start].rstrip(" *_")
    if before[-1:] in (")", "）"):
        inner = before[max(before.rfind("("), before.rfind("（")) + 1 : -1]
        return all(key in text.labels for key in keys) and re.search(r"[^\W\d_]{4}", inner) is not None
    if before[-1:] and before[-1] in ".,;:!?。，；：！？、”\"'’]":
        return True
    word = re.search(r"[^\W\d_\u2070-\u209f\u2e80-\uffff]*$", before)
    letters = word.group() if word is not None else ""
    long = len(letters) >= 4 and not letters.isupper()
    return (long or before[-1:] > "\u2e7f" or before.endswith("%")) and all(
        key in text.labels for key in keys
    )


def glued(text: Text, start: int) -> Found | None:
    """Read, with doubt, a digit directly after a full stop: `word.1 Next`."""
    match = _GLUED.match(text.flat, start)
    stop = _BEFORE_GLUED.search(text.flat, max(0, start - 12), start) if match is not None else None
    if match is None or stop is None or (stop.group(1) in ".!?" and _SMALL.match(text.flat, match.end())):
        return None
    keys = numbers(match.group(1), text.labels)
    return Found(match.end(1), keys, certain=False) if keys else None


def spaced(text: Text, start: int) -> Found | None:
    """Read, with doubt, a number between a word and a full stop: `word 1.`; the text keeps its blank."""
    match = _SPACED.match(text.flat, start) if text.labels else None
    word = _LAST_WORD.search(text.flat, max(0, start - 40), start - 1) if match is not None else None
    keys = known(match.group(1), text.labels) if match is not None and word is not None else ()
    if match is None or word is None or not keys:
        return None
    short = (
        len(word.group(1)) < 3
        and word.group(1) != "%"
        and not word.group(1).isupper()
        and word.group(1)[-1] < "\u2e80"
    )
    return None if short else Found(match.end(1), keys, shown=word.group().rstrip("*_"), certain=False)


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
    return (
        Found(match.end(), tuple(re.findall(r"turn\d+[a-z]+\d+", match.group(1))))
        if match is not None
        else None
    )


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
    if identity is None and not (keys and all(_NUMBER.fullmatch(key) for key in keys)):
        return None
    whole = close >= 0 and (":" in match["name"] or not re.search(r"[^\W\d_]", content))
    return Found(close + len(match["name"]) + 3 if whole else match.end(), keys)


def _of_id(written: str, labels: frozenset[str]) -> str:
    digits = written.rpartition("_")[2]
    return digits if written not in labels and digits in labels else canonical(written)


def pandoc(text: Text, start: int) -> Found | None:
    """Read citations of pandoc, `[see @kim2024, p. 4; @lee]`; a name without a year needs an entry."""
    match = _PANDOC.match(text.flat, start)
    keys = tuple(key.rstrip(".:") for key in _PANDOC_KEY.findall(match.group(1))) if match is not None else ()
    if match is None or not all(key in text.labels or _YEAR.search(key) for key in keys):
        return None
    return Found(match.end(), keys)


def command(content: str, labels: frozenset[str]) -> tuple[str, ...]:
    r"""Read the keys of `\cite{a, b}`."""
    return tuple(canonical(key) for key in content.split(",") if key.strip())
