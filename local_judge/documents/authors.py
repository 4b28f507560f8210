"""Author-year citations: `(Kim, 2024; Lee et al., 2023a)`, `Kim et al. (2024)`, `（王明等，2023）`.

Invariant: a bracket is read as a whole or not at all, so that `(founded in Berlin, 2019)` is none, and
what one name and a year alone cannot tell (a place, a product) is marked as uncertain.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


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
_CALENDAR = _words(
    """
    January February March April May June July August September October November December Jan Feb Mar Apr
    Jun Jul Aug Sep Sept Oct Nov Dec Spring Summer Autumn Fall Winter Since Until Through Early Late Mid Q1
    Q2 Q3 Q4 H1 H2 Section Figure Table Chapter Year Version Released Published Updated Accessed As Of In
    """
)


@dataclass(frozen=True, slots=True)
class AuthorYears:
    """A citation by names and years, `flat[start:end]`."""

    start: int
    end: int
    keys: tuple[str, ...]
    """`Kim 2024`, one for each work."""
    certain: bool


def author_years(flat: str, bracket: int, floor: int) -> AuthorYears | None:
    """The author-year citation whose opening bracket stands at `bracket`, if there is one.

    Args:
        flat: The text.
        bracket: Where the opening bracket is.
        floor: No mark may start before this offset.
    """
    close = _CLOSE.match(flat, bracket + 1)
    if close is None:
        return None
    content = close.group()[:-1]
    years = _ONLY_YEARS.fullmatch(content)
    if years is not None:
        return _narrative(flat, bracket, max(floor, bracket - 120), close.end(), years.group(1))
    keys: list[str] = []
    certain = False
    for part in re.split(r"[;；]", content):
        match = _LATIN.fullmatch(part) or _HAN.fullmatch(part)
        if match is None or match["name"] in _CALENDAR:
            return None
        certain = certain or match["more"] is not None
        keys.extend(f"{match['name']} {year}" for year in _YEARS.findall(match["years"]))
    return AuthorYears(bracket, close.end(), tuple(keys), certain)


def _narrative(flat: str, bracket: int, floor: int, end: int, years: str) -> AuthorYears | None:
    match = _NARRATIVE.search(flat, floor, bracket)
    if match is None or match["name"] in _CALENDAR:
        return None
    name, more = match["name"] or match["han"], match["more"]
    certain = match["han"] is not None or (more is not None and more not in ("'s", "’s"))
    keys = tuple(f"{name} {year}" for year in _YEARS.findall(years))
    return AuthorYears(match.start(), end, keys, certain)
