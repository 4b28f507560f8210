"""Search queries that give away the content of a claim.

A query is refused if it contains

    number      a number in digits that is not part of a name (COVID-19, GPT-4, PM2.5), the claim's or another
    value       a number word, unit, month or word of direction (rose, fell, more, first, not ...) of the claim, or
                another word for it: a month's short form, "declined" for "fell", any number word for its figures
    wording     consecutive words of the claim: three with an auxiliary verb among them (is, has, will ...), or six that
                are not a name; eight characters in Chinese, Japanese and other scripts without spaces
    everything  all content words of the claim, at least three
    nothing     no word that could find a page

Invariant: decided by code alone, from the two texts. An accepted query has no figure of the claim in any spelling with
digits or in the number words listed, and no month of it. Other verbs that give the answer away, beyond the words of
direction, are not detected.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from importlib.resources import files

from local_judge.claims.extract import NUMBER_WORDS

RUN = 6
"""Consecutive words that count as wording and not as the name of a subject."""
VERB_RUN = 3
"""Consecutive words that count as wording if an auxiliary verb is among them."""
UNSPACED_RUN = 8
CONTENT = 3
"""Minimum number of content words of a claim that a query may not repeat in full."""


_LISTS = files("local_judge.protocols.dream.factuality").joinpath("leakage_words.txt").read_text("utf-8")
_WORDS = {
    name: frozenset(words.split()) for name, _, words in (line.partition(":") for line in _LISTS.splitlines())
}
_MONTHS, _RISING, _FALLING, _FUNCTION = (_WORDS[name] for name in ("months", "rising", "falling", "function"))
_DIRECTIONS = _RISING | _FALLING | _WORDS["directions"]
_NUMBERS = {form: word for word in NUMBER_WORDS for form in (word, f"{word}s")}
_VALUES = _MONTHS | _DIRECTIONS | _WORDS["units"] | _NUMBERS.keys()
_UNSPACED_NUMBER = re.compile(
    r"百分之[〇零一二两三四五六七八九十百]+|[〇零一二两三四五六七八九十百千万亿]+(?=[年月日个倍成%％元人次家项种级])"
)
_UNSPACED_VALUES = re.compile(
    rf"{_UNSPACED_NUMBER.pattern}|增长|下降|增加|减少|上升|下跌|超过|低于|高于|最大|最小|最高|最低|首次|没有"
)
_UNSPACED_BREAK = re.compile(rf"\d+|(?:{_UNSPACED_VALUES.pattern})|[的了在是和与为被将]")
_BEFORE_AMOUNTS = _WORDS["before_amounts"] | {month.capitalize() for month in _MONTHS}
"""Words before an amount or a day, without a space between them."""
_NAME_WITH_NUMBER = re.compile(
    rf"(?<![\w.])(?!(?:{'|'.join(sorted(_BEFORE_AMOUNTS))})-?\d)[^\W\d_]*[A-Z][^\W\d_]*-?\d[\w.]*(?<!\.)"
)
_DIGITS = re.compile(r"\d+(?:[.,]\d+)*")
_MARKS = (
    "\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u0900-\u0963"
    "\u0966-\u096f\u0971-\u0df3\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u200c\u200d"
)
"""Vowel signs and other marks within words, which Python does not count as letters."""
_LETTERS = rf"[^\W_](?:[^\W_]|[{_MARKS}])*"
_WORD = re.compile(rf"{_LETTERS}(?:['’]{_LETTERS})?")
_UNSPACED = re.compile("[\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]+")


def given_away(query: str, claim: str) -> tuple[str, ...]:
    """Return the parts of the claim that a query gives away, or the whole of an empty query; otherwise nothing."""
    query, claim = unicodedata.normalize("NFKC", query), unicodedata.normalize("NFKC", claim)
    found = [*_numbers(query, claim), *_values(query, claim), *_wording(query, claim)]
    if not found and (_says_all(query, claim) or _says_nothing(query)):
        found = [query]
    return tuple(dict.fromkeys(found))


def query_without_answer(claim: str, longest: int = 8) -> str | None:
    """Return a query of the claim's own words, in their order, that gives nothing away; None if too little is left.

    Numbers, values and function words go; then words from the end.
    """
    claim = unicodedata.normalize("NFKC", claim)
    if _UNSPACED.search(claim):
        pieces = (piece for piece in _words(_UNSPACED_BREAK.sub(" ", claim)) if len(piece) > 1)
        words = [piece[: UNSPACED_RUN - 1] for piece in pieces]
        return _safe_start(words, claim, 1, longest)
    bare = _NAME_WITH_NUMBER.sub(" ", claim)
    gone = {word.casefold() for word in _words(claim) if word.casefold() in _VALUES or _DIGITS.search(word)}
    gone -= {word.casefold() for name in _NAME_WITH_NUMBER.findall(claim) for word in _words(name)}
    words = [word for word in _tokens(claim) if word.casefold() not in _FUNCTION | gone]
    words = [word for word in words if not _DIGITS.fullmatch(word) or word in bare]
    return _safe_start(words, claim, 2, longest)


def _safe_start(words: list[str], claim: str, least: int, most: int) -> str | None:
    """Return the longest start of the words that gives nothing away."""
    queries = (" ".join(words[:n]) for n in range(min(len(words), most), least - 1, -1))
    return next((query for query in queries if not given_away(query, claim)), None)


def _tokens(text: str) -> Iterator[str]:
    """Yield words, with names that contain numbers whole."""
    end = 0
    for name in _NAME_WITH_NUMBER.finditer(text):
        yield from _words(text[end : name.start()])
        yield name.group()
        end = name.end()
    yield from _words(text[end:])


def _words(text: str) -> list[str]:
    return _WORD.findall(text)


def _figures(text: str) -> list[str]:
    """Return the numbers in digits that are not part of a name."""
    return _DIGITS.findall(_NAME_WITH_NUMBER.sub(" ", text))


def _numbers(query: str, claim: str) -> Iterator[str]:
    yield from _figures(query)
    figures, names = set(_figures(claim)), set(_NAME_WITH_NUMBER.findall(claim))
    for name in _NAME_WITH_NUMBER.findall(query):
        if name not in names and not figures.isdisjoint(_DIGITS.findall(name)):
            yield name  # "Year-2020" is a name by its form alone
    if figures:
        yield from (word for word in _words(query) if word.casefold() in _NUMBERS)
        yield from _UNSPACED_NUMBER.findall(query)


def _values(query: str, claim: str) -> Iterator[str]:
    verbs = ("may", "march")  # months have a capital letter
    known = {_sense(word) for word in _words(claim) if word.casefold() in _VALUES and word not in verbs}
    yield from (word for word in _words(query) if word.casefold() in _VALUES and _sense(word) in known)
    unspaced = set(_UNSPACED_VALUES.findall(claim))
    yield from (value for value in _UNSPACED_VALUES.findall(query) if value in unspaced)


def _sense(word: str) -> str:
    """Return a key for words with the same value."""
    word = word.casefold()
    if word in _RISING or word in _FALLING:
        return "rise" if word in _RISING else "fall"
    return word[:3] if word in _MONTHS else _NUMBERS.get(word, word)


def _wording(query: str, claim: str) -> Iterator[str]:
    for length in (VERB_RUN, RUN):
        telling = {tuple(map(str.casefold, run)) for run in _runs(_words(claim), length) if _tells(run)}
        runs = _runs(_words(query), length)
        yield from (" ".join(run) for run in runs if tuple(map(str.casefold, run)) in telling)
    for text in _UNSPACED.findall(query):
        stretches = (text[start : start + UNSPACED_RUN] for start in range(len(text) - UNSPACED_RUN + 1))
        yield from (stretch for stretch in stretches if stretch in claim)


def _runs(words: list[str], length: int) -> Iterator[list[str]]:
    return (words[start : start + length] for start in range(len(words) - length + 1))


def _tells(run: list[str]) -> bool:
    """Check whether consecutive words state something about a subject instead of naming it."""
    if len(run) == VERB_RUN:
        return not _WORDS["auxiliaries"].isdisjoint(map(str.casefold, run))
    return not all(word[0].isupper() or word.casefold() in _FUNCTION for word in run)


def _says_all(query: str, claim: str) -> bool:
    content = {word.casefold() for word in _words(claim)} - _FUNCTION
    return len(content) >= CONTENT and content <= {word.casefold() for word in _words(query)}


def _says_nothing(query: str) -> bool:
    return all(word.casefold() in _FUNCTION | _VALUES | {"yes"} for word in _words(query))
