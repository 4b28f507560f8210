"""Numbers as citation markers write them: lists, ranges, raised digits.

Invariant: what cannot be a citation by its form alone (a year, a zero, an interval of a thousand) is
one only if a reference entry bears that number.
"""

from __future__ import annotations

import re

_LIST = re.compile(
    r"\^?\d{1,4}(?:\s{0,2}(?:[,，、;；]|[-–—−~～‑‐])\s{0,2}\^?\d{1,4}){0,60}",
)
_PART = re.compile(r"(\d{1,4})(?:\s{0,2}[-–—−~～‑‐]\s{0,2}\^?(\d{1,4}))?")
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_WIDE = str.maketrans("０１２３４５６７８９", "0123456789")
_LONGEST_RANGE = 100


def numbers_of(content: str, known: frozenset[str]) -> tuple[str, ...]:
    """The numbers that a marker's content names, ranges expanded; empty if it is no citation.

    Args:
        content: What stands between the brackets, such as `1, 3` or `2–5`.
        known: The keys of all entries.
    """
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
        if not 0 < int(key) < 1000 and key not in known:
            return ()
    return tuple(keys)


def superscript_digits(text: str) -> tuple[str, ...]:
    """The numbers of raised digits: `¹,²` names 1 and 2, `¹²` names 12."""
    return tuple(str(int(run.translate(_RAISED))) for run in re.findall(r"[⁰¹²³⁴-⁹]+", text))
