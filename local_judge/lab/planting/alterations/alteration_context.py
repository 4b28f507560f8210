"""The sentence to alter and its page, and what holds of every edit.

Invariant: an edit that `fits` makes a sentence that the page does not contain; the new words do not occur on the page
between the same neighbours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from random import Random

from local_judge.lab.planting.alterations.names import NamePool
from local_judge.lab.planting.lexicon import lexicon
from local_judge.lab.planting.model import AlterationKind, Edit, Language

_NUMBER_WORDS = lexicon("en").tables["number_words"]
_HAN_NUMBERS = {**lexicon("zh").tables["number_words"], "二": 2, "十": 10}
_DIGITS = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
_BLANK = re.compile(r"\s+")
_HAN = re.compile(r"[一二两三四五六七八九十百千万亿]+")
_WORD = re.compile(r"\b(?:" + "|".join(_NUMBER_WORDS) + r")\b", re.IGNORECASE)


@dataclass(frozen=True)
class PageText:
    """Title and text of a page, with what is looked up in them for each of its sentences."""

    url: str
    text: str

    @cached_property
    def folded(self) -> str:
        """Text in lower case, each run of white space as one blank."""
        return _BLANK.sub(" ", self.text).casefold()

    @cached_property
    def numbers(self) -> frozenset[float]:
        """All numbers of the text, in digits or as single words."""
        digits = {float(found.replace(",", "")) for found in _DIGITS.findall(self.text)}
        words = {float(_NUMBER_WORDS[found.casefold()]) for found in _WORD.findall(self.text)}
        han = {float(_HAN_NUMBERS[found]) for found in _HAN.findall(self.text) if found in _HAN_NUMBERS}
        return frozenset(digits | words | han)

    def has(self, said: str) -> bool:
        """Check whether the page contains `said`, in any case."""
        return _BLANK.sub(" ", said).casefold() in self.folded


@dataclass(frozen=True)
class AlterationContext:
    """A sentence to alter."""

    sentence: str
    page: PageText
    names: NamePool
    language: Language
    rng: Random
    """Chooses between places and values."""

    def edit(self, kind: AlterationKind, start: int, end: int, after: str) -> Edit:
        """Return the edit that replaces `[start, end)` with `after`."""
        return Edit(kind=kind, start=start, before=self.sentence[start:end], after=after)

    def fits(self, one: Edit) -> bool:
        """Check that the page has neither the altered sentence nor the altered words between their neighbours."""
        claim = one.applied(self.sentence)
        if one.after == one.before or self.page.has(claim):
            return False
        if not one.after:
            return True  # what is left is on the page as a part of what was there
        patterns = lexicon(self.language).patterns
        before = patterns["neighbour_before"].search(claim[: one.start])
        behind = patterns["neighbour_behind"].match(claim, one.start + len(one.after))
        assert before is not None and behind is not None
        return not self.page.has(claim[before.start() : behind.end()].rstrip(" .,;。，"))

    def chosen(self, found: Iterable[Edit]) -> Edit | None:
        """Return one of `found` that fits; None if none does."""
        fitting = [one for one in found if self.fits(one)]
        return self.rng.choice(fitting) if fitting else None
