"""Texts that say the same in almost the same words.

Invariant: two texts that differ in a number never say the same, however alike the rest is.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar

SAME = 0.9
"""Two texts with the same numbers say the same if their runs of three characters overlap by this share."""

T = TypeVar("T")


class Fingerprint(NamedTuple):
    """What of a text is compared."""

    numbers: tuple[str, ...]
    runs: frozenset[str]
    """Of three letters or digits, whatever its case and punctuation."""


def fingerprint(text: str) -> Fingerprint:
    """What of `text` is compared."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    bare = "  " + " ".join(re.findall(r"[^\W_]+", folded)) + "  "
    runs = frozenset(bare[start : start + 3] for start in range(len(bare) - 2))
    return Fingerprint(tuple(re.findall(r"\d+", folded)), runs)


def alike(one: Fingerprint, other: Fingerprint) -> bool:
    """Whether two texts say the same: Jaccard of their runs, shared / all, is at least `SAME`."""
    if one.numbers != other.numbers:
        return False
    return len(one.runs & other.runs) >= SAME * len(one.runs | other.runs)


def overlap(one: Fingerprint, other: Fingerprint) -> float:
    """Jaccard of the runs of two texts with the same numbers, 0 to 1; 0 where a number differs."""
    every = one.runs | other.runs
    if one.numbers != other.numbers or not every:
        return 0.0
    return len(one.runs & other.runs) / len(every)


def firsts(texts: Iterable[str]) -> list[int]:
    """For each text the position of the first that says the same: its own if none before it does."""
    seen: list[Fingerprint] = []
    found: list[int] = []
    for position, text in enumerate(texts):
        own = fingerprint(text)
        same = (at for at, other in enumerate(seen) if found[at] == at and alike(own, other))
        found.append(next(same, position))
        seen.append(own)
    return found


def distinct(items: Sequence[T], text_of: Callable[[T], str]) -> list[T]:
    """The items without those whose text says what that of an earlier one says."""
    same = firsts(map(text_of, items))
    return [item for position, item in enumerate(items) if same[position] == position]
