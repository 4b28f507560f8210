"""Reader of citations by author and year.

Invariant: a bracket is read as a whole or not at all, so that `(founded in Berlin, 2019)` is none, and a single name
with a year is marked as uncertain.
"""

from __future__ import annotations

import re

from indexes.resources import word_list
from local_judge.documents.mark_text import Found, Text

_NAME = r"(?<![\w-])(?:(?:van|von|de|der|den|di|du|la|le|al|el|bin|ibn)[ -]){0,2}[A-ZÀ-ÖØ-ÞĀ-Ž][\w'’‑-]{1,30}"
_MORE = rf"(?:,? et al\.?|(?:, {_NAME}){{0,4}},? (?:and|&|und|et|y) {_NAME})"
_YEAR = r"(?:(?:1[5-9]|20)\d\d[a-z]?|(?:n\.d|o\.J|s\.[df])\.)"
_PLACE = r"(?:[,:] ?(?:[^\W\d_]{1,5}\. ?|§ ?)?\d{1,4}(?:[-–]\d{1,4})?)?"
_SEE = r"(?:(?:see(?: also)?|e\.g\.|cf\.|also|in),? )?"
_LATIN = re.compile(
    rf"\s?{_SEE}(?P<name>{_NAME})(?P<more>{_MORE})?,? (?P<years>{_YEAR}(?:, {_YEAR}){{0,4}})"
    rf"{_PLACE}\s?"
)
_ORGANISATION = re.compile(
    rf"\s?{_SEE}(?P<name>[^\W\d_a-z][^,;()\d\n]{{2,80}}),? (?P<years>{_YEAR}(?:, {_YEAR}){{0,4}}){_PLACE}\s?"
)
"""Citation of an organisation: `World Health Organization, 2023`."""
_HAN = re.compile(
    rf"\s?(?P<name>[\u4e00-\u9fff]{{2,3}}?)(?P<more>等人?"
    rf"|[和与][\u4e00-\u9fff]{{2,3}})?[,，] ?(?P<years>{_YEAR})年?\s?"
)
_NARRATIVE = re.compile(
    rf"(?P<name>{_NAME})(?P<more>{_MORE}|(?:'s|’s))?\s?$|(?P<han>[\u4e00-\u9fff]{{2,3}})等人?\s?$"
)
_ONLY_YEARS = re.compile(rf"\s?({_YEAR}(?:[,;] ?{_YEAR}){{0,4}}){_PLACE}\s?")
_CLOSE = re.compile(r"[^()（）\n]{4,300}[)）]")
_YEARS = re.compile(_YEAR)
_FIRST_AUTHOR = re.compile(
    r"(?:[\[(（]?\^?\d{1,4}[\])）.、:]{0,2}\s*|[-*•]\s+)?[*_]{0,2}"
    r"(?:(?:van|von|de|der|den|di|du|la|le|el|bin|ibn)[ -]){0,2}"
    r"(?P<name>[^\W\d_a-z\u4e00-\u9fff][\w'’‑-]+|[\u4e00-\u9fff]{2,3}(?=[,，.、等 ]))"
)
_WHOLE = re.compile(
    r"[\w'’‑-]+(?: (?!(?:and|et|und|y|al)\b)[\w'’‑-]+){0,10}(?=[.,(（]| (?:and|&|et|und|y)\b)"
)
_ENTRY_YEAR = re.compile(rf"(?<!\d){_YEAR}(?!\d)")
_NO_AUTHORS = word_list("local_judge.documents", "no_authors")


_SAME = r"(?:ibid(?:em)?|ebd|ebenda|там же|同上|id(?=[.*_]))(?!\w)[*_.]*"
_AGAIN = re.compile(rf"[\[(（][*_\s]*{_SAME}(?:,? [^\[\]()\n]{{1,40}})?\s?[\])）]", re.IGNORECASE)
_ENTRY_AGAIN = re.compile(rf"\W*(?:\w{{1,5}}[\]:.)>\s]+)?[*_\s]*{_SAME}", re.IGNORECASE)
AGAIN = "ibid"
"""Key of a mark that names the same source as the mark before it."""


def again(text: Text, start: int) -> Found | None:
    """Read `(ibid., p. 4)`."""
    match = _AGAIN.match(text.flat, start)
    return Found(match.end(), (AGAIN,)) if match is not None else None


def is_again(entry: str) -> bool:
    """Check whether an entry names the same source as the entry before it: `2. Ibid., p. 4`."""
    return _ENTRY_AGAIN.match(entry) is not None


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
    organisation = ""
    for part in re.split(r"[;；]", content):
        match = _LATIN.fullmatch(part) or _HAN.fullmatch(part)
        if match is None and (match := _ORGANISATION.fullmatch(part)) is not None:
            organisation = match["name"]
        if match is None or match["name"] in _NO_AUTHORS:
            return None
        certain = certain or match.groupdict().get("more") is not None
        keys.extend(f"{match['name']} {year}" for year in _YEARS.findall(match["years"]))
    return Found(close.end(), tuple(keys), shown=organisation, certain=certain)


def _narrative(flat: str, bracket: int, floor: int, end: int, years: str) -> Found | None:
    match = _NARRATIVE.search(flat, floor, bracket)
    if match is None or match["name"] in _NO_AUTHORS:
        return None
    name, more = re.sub(r"['’]s$", "", match["name"] or match["han"]), match["more"]
    certain = match["han"] is not None or (more is not None and more not in ("'s", "’s"))
    keys = tuple(f"{name} {year}" for year in _YEARS.findall(years))
    return Found(end, keys, certain=certain, start=match.start())


def authors_and_years(text: str) -> tuple[list[str], list[str]]:
    """Return names that may stand for the author of an entry, likeliest first, in lower case, and its years.

    The names are the first word, the whole name (`world health organization`), and the last word of a person's name.
    """
    opening = _FIRST_AUTHOR.match(text)
    if opening is None:
        return [], []
    whole = _WHOLE.match(text, opening.start("name"))
    names = [opening["name"], *((whole.group(), whole.group().split()[-1]) if whole is not None else ())]
    return [name.lower() for name in names], list(dict.fromkeys(_ENTRY_YEAR.findall(text)[:8]))


def names_of(key: str) -> list[tuple[str, str]]:
    """Return the whole name and the last word of a citation's key, each with its year: `van Kim 2024`."""
    name, _, year = key.rpartition(" ")
    return [(name.lower(), year), (name.rpartition(" ")[2].lower(), year)]
