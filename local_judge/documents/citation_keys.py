"""Keys that a citation mark names, read from its content.

Invariant: what is ambiguous (a year, a zero, a large number, a word with a number) is a key only if a reference entry
has it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

Keys = Callable[[str, frozenset[str]], tuple[str, ...]]
"""Function from a mark's content and the keys of all reference entries to the keys named; empty for no citation."""

_LONGEST_RANGE = 100

CIRCLED = "[①-⑳㉑-㉟㊱-㊿❶-❿]"
RAISED_DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻˒", "0123456789-,")
_PLAIN_DIGITS = str.maketrans("０１２３４５６７８９٠١٢٣٤٥٦٧٨٩۰۱۲۳۴۵۶۷۸۹०१२३४५६७८९", 4 * "0123456789") | {
    ord(first) + number: str(low + number)
    for first, low, count in (("①", 1, 20), ("㉑", 21, 15), ("㊱", 36, 15), ("❶", 1, 10))
    for number in range(count)
}
DASH = re.compile(r"\s{0,2}[-–—−~～‑‐]\s{0,2}")
_SPAN = re.compile(r"(?<=\d)\s?(?:to|through|bis|[aà]|至|到|до)\s?(?=\d)")
_SEPARATOR = re.compile(r"\s*(?:[,，、;；،؛&]|\b(?:and|und|et|y|e|en|och)\b|[和与及])\s*|\s+")
_RANGE = re.compile(r"([^\W\d_]{0,12}:?)(\d{1,4})-(?:\1|\^)?(\d{1,4})\^?")
NUMBER = re.compile(r"\d{1,4}")
_LETTERS = re.compile(r"[A-Z]-[A-Z]|[a-z]-[a-z]")
_CODE = re.compile(r"([A-Za-z]{1,4}-?)\d{1,3}")
_CITING = re.compile(
    r"\A(?:(?:see|cf\.?)\s)?(?:citation|cite|source|ref(?:erence)?)s?\.?\s?[:：#]?\s?(?=[\^\d])",
    re.IGNORECASE,
)
_NAMING = re.compile(
    r"(?:\A|(?<=[;；])\s?)(?:(?:see(?: also)?|also|cf|e\.g|vgl|siehe(?: auch)?|z\.\s?b|voir(?: aussi)?|véase|ver|cfr|ср"
    r"|см|见|參見|参见|notes?|nota|przyp|fn|quellen?|fuentes?|fontes?|fonti|bron(?:nen)?|källa|kilder?"
    r"|(?:n[nr]?|nos?)(?=\.)|n[°º]|lähde|źródł[oa]|zdroje?|kaynak|источник|джерело|nguồn|sumber|来源|來源|文献|文獻|资料|資料|引用|参考|參考|注|出典|출처"
    r"|انظر|راجع|ראו|المصدر|مصدر|מקור|स्रोत)[.,:：]{0,2}\s?){1,2}(?=[#№\d])",
    re.IGNORECASE,
)
_LOCATOR = re.compile(
    r"(?:\s?[,，:：;]\s?(?:[^\W\d_]{1,5}\.(?=\s?[\dIVXivx])|(?:pp?|ss?|с|ch|chap|sec|fig|tab|para|art|page|pages|chapter|section|table|figure|lines?|l)\b\.?|§{1,2}|¶|第)"
    r"\s?[\w.–-]{1,12}(?:\s?(?:页|頁|章|节|ff?\.?))?){1,3}(?=\s?(?:$|[;；]))|[:：]\s\d{1,4}(?:[–-]\d{1,4})?$",
    re.IGNORECASE,
)
_TOOL_ID = re.compile(
    r"(?:(?:web|file|post|doc|url|news|search|memory|tool|browser|code_file)[:_]\d{1,4}"
    r"|turn\d{1,3}[a-z]{2,12}\d{1,4})"
)


def canonical(key: str) -> str:
    """Return a key as entries and marks share it: `1` for `^1^`, `#01`, `Source 1` and `①`."""
    key = key.strip().strip("^").translate(_PLAIN_DIGITS)
    key = _NAMING.sub("", _CITING.sub("", key)).lstrip("#№※@ ")
    return str(int(key)) if key.isascii() and key.isdigit() else key


def numbers(content: str, labels: frozenset[str]) -> tuple[str, ...]:
    """Read keys such as `1, 3`, `2–5`, `Source 1`, `S1, S2` or `1, p. 4; see 2`, with ranges expanded.

    A number beyond 1 to 999 and every other name needs an entry with that key; `S3` needs one such as `S1`.
    """
    content = content.strip()
    if content in labels:
        return (content,)
    written = _CITING.sub("", content.translate(_PLAIN_DIGITS | RAISED_DIGITS))
    named = _LOCATOR.sub("", _NAMING.sub("", written))
    content = DASH.sub("-", _SPAN.sub("-", named).lstrip("#№"))
    sure = named == written and not re.search(r"\d\s+\d", content) and not _SPAN.search(named)
    keys: list[str] = []
    for part in _SEPARATOR.split(content):
        span = _RANGE.fullmatch(part.strip("^"))
        if part in labels:
            keys.append(part)
        elif span is not None and 0 <= int(span[3]) - int(span[2]) <= _LONGEST_RANGE:
            keys.extend(f"{span[1]}{number}" for number in range(int(span[2]), int(span[3]) + 1))
        elif _LETTERS.fullmatch(part):
            keys.extend(map(chr, range(ord(part[0]), ord(part[2]) + 1)))
        else:
            keys.append(canonical(part))
    sure = sure and "0" not in keys  # the interval [0, 5]
    for key in keys:
        if key in labels:
            continue
        code = _CODE.fullmatch(key)
        if code is not None and code[1] in _series(labels):
            continue
        if not (sure and NUMBER.fullmatch(key) and 0 < int(key) < 1000):
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


def command(content: str, labels: frozenset[str]) -> tuple[str, ...]:
    r"""Read the keys of `\cite{a, b}`."""
    return tuple(canonical(key) for key in content.split(",") if key.strip())
