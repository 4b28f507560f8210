"""Detection of near-duplicate texts.

Invariant: texts with different numbers are never duplicates, however similar the rest is.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar

SAME = 0.9
"""Minimum Jaccard similarity of the character trigrams of two duplicates."""

T = TypeVar("T")


class Fingerprint(NamedTuple):
    """Features of a text that are compared."""

    numbers: tuple[str, ...]
    runs: frozenset[str]
    """Trigrams of its letters and digits, without case and punctuation."""


def fingerprint(text: str) -> Fingerprint:
    """Return the features of `text` that are compared."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    bare = "  " + " ".join(re.findall(r"[^\W_]+", folded)) + "  "
    runs = frozenset(bare[start : start + 3] for start in range(len(bare) - 2))
    return Fingerprint(tuple(re.findall(r"\d+", folded)), runs)


def alike(one: Fingerprint, other: Fingerprint) -> bool:
    """Check whether two texts are duplicates: the Jaccard similarity of their trigrams is at least `SAME`."""
    if one.numbers != other.numbers:
        return False
    return len(one.runs & other.runs) >= SAME * len(one.runs | other.runs)


def overlap(one: Fingerprint, other: Fingerprint) -> float:
    """Return the Jaccard similarity of the trigrams of two texts, 0 to 1; 0 if a number differs."""
    every = one.runs | other.runs
    if one.numbers != other.numbers or not every:
        return 0.0
    return len(one.runs & other.runs) / len(every)


def firsts(texts: Iterable[str]) -> list[int]:
    """Return for each text the position of its first duplicate, which is its own if no earlier text is one."""
    seen: list[Fingerprint] = []
    found: list[int] = []
    for position, text in enumerate(texts):
        own = fingerprint(text)
        same = (at for at, other in enumerate(seen) if found[at] == at and alike(own, other))
        found.append(next(same, position))
        seen.append(own)
    return found


def distinct(items: Sequence[T], text_of: Callable[[T], str]) -> list[T]:
    """Return the items without those whose text is a duplicate of an earlier one."""
    same = firsts(map(text_of, items))
    return [item for position, item in enumerate(items) if same[position] == position]
