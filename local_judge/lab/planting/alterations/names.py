"""Names by kind, and others of the same kind.

Invariant: a name is replaced by one of another page that is of the same kind (a person by a person with a given name of
the same gender and as many words, a country by a country, a university by a university) and has no word in common with
the page. A name whose kind no list and no head word identifies stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from random import Random
from typing import NamedTuple

from local_judge.lab.planting.lexicon import read_table
from local_judge.lab.planting.model import Language

_LISTS: dict[str, tuple[str, ...]] = {
    name: tuple(text.split()) for name, text in read_table("alterations/names.yaml").items()
}
COUNTRIES = (_LISTS["countries"], _LISTS["adjectives"])
"""Countries, and the adjectives of countries."""
PLACES_ZH = (*_LISTS["countries_zh"], *_LISTS["cities_zh"], *_LISTS["provinces_zh"])


class Name(NamedTuple):
    """A name in a text."""

    kind: str
    """Kind such as `country`, `male 2` (two words) or `head University`."""
    start: int
    end: int
    text: str


_WORD = r"[A-Z](?:[’'][A-Z])?[\w-]*[a-z]"
_CAPITALISED = re.compile(rf"(?<![\w.’'-]){_WORD}(?: (?:[A-Z]\. )*{_WORD})*(?![\w-])(?![’'](?!s\b))")
"""Excludes a possessive `’s`, which stays."""
_COUNTRIES = {name: f"country {adjective}" for adjective, names in enumerate(COUNTRIES) for name in names}
_CITIES = frozenset(_LISTS["cities"])
_JOINED = re.compile(r" (?:of|and the|&) [A-Z]| [A-Z]|[-–/]")
_STARTERS = [
    "The",
    "In",
    "On",
    "At",
    "By",
    "From",
    "During",
    "After",
    "Before",
    "Under",
    "Near",
    "Since",
    "Of",
    "With",
    "For",
    "To",
    "As",
]
_BOUND = re.compile(r"(?:\b(?!(?:" + "|".join(_STARTERS) + r")\b)[A-Z][\w’'-]*|\bof|\bof the|&) $")
_PLACING = re.compile(r"\b(?:in|from|to|near|of|across|outside|within|throughout) $", re.IGNORECASE)


def names_in(text: str, language: Language) -> Iterator[Name]:
    """Yield the names in `text` whose kind is known, in order."""
    yield from (_english if language == "en" else _chinese)(text)


def _english(text: str) -> Iterator[Name]:
    for found in _CAPITALISED.finditer(text):
        start, parts = found.start(), found[0].split(" ")
        opening = start == 0 or text[start - 2 : start] in (". ", "\n")
        if len(parts) > 1 and opening and parts[0] in _STARTERS:
            start += len(parts[0]) + 1
            parts = parts[1:]
        kind = _kind(parts, text[:start])
        joined = _JOINED.match(text, found.end()) or _BOUND.search(text[max(0, start - 30) : start])
        if kind is not None and not joined:
            yield Name(kind, start, found.end(), " ".join(parts))


def _kind(parts: Sequence[str], before: str) -> str | None:
    name = " ".join(parts)
    if name in _COUNTRIES:
        placed = _PLACING.search(before)
        adjective = _COUNTRIES[name] == "country 1"
        return _COUNTRIES[name] if adjective or placed else None
    if name in _CITIES and _PLACING.search(before):
        return "city"
    if len(parts) < 2:
        return None
    if parts[-1] in _LISTS["heads"]:
        return f"head {parts[-1]}"
    given = "male" if parts[0] in _LISTS["male"] else "female" if parts[0] in _LISTS["female"] else None
    if given and 2 <= len(parts) <= 3 and parts[-1] not in _COUNTRIES and parts[-1] not in _CITIES:
        return f"{given} {len(parts)}"
    return None


_KINDS_ZH = {"country": "countries_zh", "city": "cities_zh", "province": "provinces_zh"}
_ZH = {name: kind for kind, listed in _KINDS_ZH.items() for name in _LISTS[listed]}
_LISTED_ZH = re.compile("|".join(sorted(_ZH, key=len, reverse=True)))


def _chinese(text: str) -> Iterator[Name]:
    for found in _LISTED_ZH.finditer(text):
        yield Name(_ZH[found[0]], found.start(), found.end(), found[0])


class NamePool:
    """Names of many pages, by kind."""

    def __init__(self, texts: Iterable[str], language: Language) -> None:
        pool: dict[str, dict[str, None]] = {}
        for text in texts:
            for name in names_in(text, language):
                pool.setdefault(name.kind, {})[name.text] = None
        self._pool = {kind: tuple(names) for kind, names in pool.items()}

    def other(self, name: Name, folded: str, rng: Random) -> str | None:
        """Return a name of the same kind without a word of the page; None if a few tries find none.

        Args:
            name: Name to replace.
            folded: The page in lower case.
            rng: Source of randomness.
        """
        names = self._pool.get(name.kind, ())
        for other in rng.sample(names, min(len(names), 40)):
            head = other.split(" ")[-1] if name.kind.startswith("head") else ""
            own = [word for word in other.casefold().split() if len(word) > 3 or word >= "\u2e80"]
            own = [word for word in own if word != head.casefold()]
            if own and not any(word in folded for word in own):
                return other
        return None
