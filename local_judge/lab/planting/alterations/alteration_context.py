"""What an alteration is made on, and what must hold of every one.

Invariant: an edit that `fits` makes a sentence that the page does not have, in a stretch that the page has nowhere:
the new words do not stand there between the same neighbours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from random import Random

from local_judge.lab.planting.alterations.name_lists import words
from local_judge.lab.planting.alterations.names import NamePool
from local_judge.lab.planting.model import AlterationKind, Edit, Language

NUMBER_WORDS = {
    word: value
    for value, word in enumerate(words("two three four five six seven eight nine ten eleven twelve"), 2)
}
HAN_NUMBERS = dict(zip("两二三四五六七八九十", (2, 2, 3, 4, 5, 6, 7, 8, 9, 10), strict=True))
_DIGITS = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
_BLANK = re.compile(r"\s+")
_HAN = re.compile(r"[一二两三四五六七八九十百千万亿]+")
_WORD = re.compile(r"\b(?:" + "|".join(NUMBER_WORDS) + r")\b", re.IGNORECASE)
_BEFORE = {"en": re.compile(r"(?:\S+ )?$"), "zh": re.compile(r"[^，。；]{0,2}$")}
_BEHIND = {"en": re.compile(r"\S* ?(?:[^\s.]+ ?){0,2}"), "zh": re.compile(r"[^，。；]{0,4}")}


@dataclass(frozen=True)
class PageText:
    """A page's title and text, with what is looked up in them for each of its sentences."""

    url: str
    text: str

    @cached_property
    def folded(self) -> str:
        """In small letters, each run of white space one blank."""
        return _BLANK.sub(" ", self.text).casefold()

    @cached_property
    def numbers(self) -> frozenset[float]:
        """All numbers in it, in digits or in single words."""
        digits = {float(found.replace(",", "")) for found in _DIGITS.findall(self.text)}
        words = {float(NUMBER_WORDS[found.casefold()]) for found in _WORD.findall(self.text)}
        han = {float(HAN_NUMBERS[found]) for found in _HAN.findall(self.text) if found in HAN_NUMBERS}
        return frozenset(digits | words | han)

    def has(self, said: str) -> bool:
        """Whether `said` stands in it, in any case."""
        return _BLANK.sub(" ", said).casefold() in self.folded


@dataclass(frozen=True)
class AlterationContext:
    """A sentence to be altered."""

    sentence: str
    page: PageText
    names: NamePool
    language: Language
    rng: Random
    """Decides between places and values."""

    def edit(self, kind: AlterationKind, start: int, end: int, after: str) -> Edit:
        """The edit that puts `after` in the place of `[start, end)`."""
        return Edit(kind=kind, start=start, before=self.sentence[start:end], after=after)

    def fits(self, one: Edit) -> bool:
        """Whether the page has neither the altered sentence nor the altered stretch between its neighbours."""
        claim = one.applied(self.sentence)
        if one.after == one.before or self.page.has(claim):
            return False
        if not one.after:
            return True  # what is left stands in the page as a part of what was there
        before = _BEFORE[self.language].search(claim[: one.start])
        end = one.start + len(one.after)
        behind = _BEHIND[self.language].match(claim, end)
        assert before is not None and behind is not None
        return not self.page.has(claim[before.start() : behind.end()].rstrip(" .,;。，"))

    def chosen(self, found: Iterable[Edit]) -> Edit | None:
        """One of `found` that fits; None if none does."""
        fitting = [one for one in found if self.fits(one)]
        return self.rng.choice(fitting) if fitting else None
