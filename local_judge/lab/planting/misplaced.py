"""Sentences of one page that another page does not bear out.

Invariant: the other page has neither the sentence nor most of its words. For `attribution` it shares a name with the
sentence, and lacks the one that the sentence opens with and half at least of all names and numbers in it; for `foreign`
it has none of them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from random import Random

from indexes.text.tokens import tokenise
from local_judge.lab.planting.alterations.name_lists import CITIES_ZH, COUNTRIES_ZH, PROVINCES_ZH
from local_judge.lab.planting.model import Language
from local_judge.lab.planting.pages import Candidate, PlantPage

_TRIES = 60
_COMMON = 60
"""A name on more pages than this makes none of them kindred."""
_MOST_SHARED = {"attribution": 0.6, "foreign": 0.4}
"""Greatest share of a sentence's words that the other page may have."""
_LEAST_MISSING = 0.5
_PARTICULAR: dict[Language, re.Pattern[str]] = {
    "en": re.compile(
        r"\b(?!(?:The|An?|In|On|At|By|Of|For|From|With|To|As|During|After|Before|Under|According|Until|Like|Unlike|Some|"
        r"Many|Most|All|More|About|Over|Two|Three|Among|Between|Throughout|Through|Although|Mr|Mrs|Dr)\b)"
        r"[A-Z][\w’-]+|\d[\d,.]*\d|\d"
    ),
    "zh": re.compile(
        r"[A-Za-z][A-Za-z0-9-]+|\d[\d,.]*\d|\d|《[^》]+》|"
        + "|".join((*COUNTRIES_ZH, *CITIES_ZH, *PROVINCES_ZH))
    ),
}


def particulars(sentence: str, language: Language) -> frozenset[str]:
    """The names and numbers that a sentence is about, as written."""
    return frozenset(_PARTICULAR[language].findall(sentence))


class Misplacer:
    """Finds for a page sentences of the others of its language."""

    def __init__(self, pages: Sequence[PlantPage], seed: int) -> None:
        self._seed = seed
        self._candidates = [(page, one) for page in pages for one in page.candidates]
        self._by_name: dict[str, list[int]] = {}
        for number, (page, one) in enumerate(self._candidates):
            for name in particulars(one.source.text, page.language):
                if not name[0].isdigit():
                    self._by_name.setdefault(name, []).append(number)

    def attributions(self, page: PlantPage, used: Collection[str]) -> Iterator[Candidate]:
        """Sentences of kindred pages, those that share most names first; none whose text is in `used`."""
        names = dict.fromkeys(_PARTICULAR[page.language].findall(page.text.text))
        rare = [name for name in names if 1 < len(self._by_name.get(name, ())) <= _COMMON]
        shared = Counter(number for name in rare for number in self._by_name[name])
        for number, _ in sorted(shared.items(), key=lambda item: (-item[1], item[0]))[:_TRIES]:
            source, one = self._candidates[number]
            about = _PARTICULAR[page.language].findall(one.source.text)
            missing = [word for word in about if not page.text.has(word)]
            if (
                source.url != page.url
                and one.source.text not in used
                and missing[:1] == about[:1]
                and len(missing) >= _LEAST_MISSING * len(about)
                and _unsaid(one, page, "attribution")
            ):
                yield one

    def foreign(self, page: PlantPage, used: Collection[str]) -> Iterator[Candidate]:
        """Sentences of pages that have nothing to do with it; none whose text is in `used`."""
        rng = Random(f"{self._seed}:foreign:{page.url}")
        for source, one in rng.sample(self._candidates, min(_TRIES, len(self._candidates))):
            if source.url == page.url or source.language != page.language or one.source.text in used:
                continue
            about = particulars(one.source.text, page.language)
            if about and not any(page.text.has(word) for word in about) and _unsaid(one, page, "foreign"):
                yield one


def _unsaid(one: Candidate, page: PlantPage, kind: str) -> bool:
    words = frozenset(tokenise(one.source.text))
    shared = words & frozenset(tokenise(page.text.text))
    return len(shared) <= _MOST_SHARED[kind] * len(words) and not page.text.has(one.source.text.rstrip(".。"))
