"""Pages to plant in, the alterations that their sentences admit, and sentences of other pages that they do not support.

Invariants: the edits of a sentence depend on its page, the other pages of its language and the seed, and on nothing
that was drawn before. A page that a sentence of another page is attributed to has neither the sentence nor most of its
words. For `attribution` it shares a name with the sentence, and lacks the first name or number in it and half or more
of all of them; for `foreign` it has none of them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random

from indexes.model import Page
from indexes.text.tokens import tokenise
from local_judge.claims.evidence import estimate_tokens
from local_judge.lab.planting.alterations.alter import alterations
from local_judge.lab.planting.alterations.alteration_context import PageText
from local_judge.lab.planting.alterations.names import PLACES_ZH, NamePool
from local_judge.lab.planting.model import (
    LANGUAGES,
    LENGTHS,
    AlterationKind,
    Edit,
    Language,
    Length,
    SourceSentence,
)
from local_judge.lab.planting.sentences import standalone_sentences


@dataclass(frozen=True)
class Candidate:
    """A sentence that can be a claim."""

    source: SourceSentence
    edits: Mapping[AlterationKind, Edit]
    """Possible alterations, one of each kind."""


@dataclass(frozen=True)
class PlantPage:
    """A page with its candidates, in the order of its text."""

    page: Page
    language: Language
    length: Length
    candidates: tuple[Candidate, ...]

    @property
    def url(self) -> str:
        """Normalised URL of the page."""
        return self.page.url

    @cached_property
    def text(self) -> PageText:
        """Title and text for look-ups."""
        return page_text(self.page)


def page_text(page: Page) -> PageText:
    """Return title and text of a page."""
    return PageText(page.url, f"{page.title}\n{page.text}")


def length_of(text: str) -> Length:
    """Return the length class of a page's text."""
    tokens = estimate_tokens(text)
    return next(length for length, most in LENGTHS.items() if most is None or tokens <= most)


def usable(pages: Iterable[Page], languages: Sequence[Language] = LANGUAGES) -> list[Page]:
    """Return the pages with a text in one of `languages`; of several captures of one URL, the last."""
    last = {page.url: page for page in pages if page.status == "ok" and page.language in languages}
    return list(last.values())


def plant_pages(pages: Sequence[Page], seed: int) -> list[PlantPage]:
    """Return `usable` pages with their candidates, in the given order."""
    found: list[PlantPage] = []
    for language in LANGUAGES:
        mine = [page for page in pages if page.language == language]
        names = NamePool([page.text for page in mine], language)
        found += [_plant_page(page, language, names, seed) for page in mine]
    order = {page.url: place for place, page in enumerate(pages)}
    return sorted(found, key=lambda one: order[one.url])


def _plant_page(page: Page, language: Language, names: NamePool, seed: int) -> PlantPage:
    text = page_text(page)
    candidates: dict[str, Candidate] = {}
    for found in standalone_sentences(page.text, language):
        rng = Random(f"{seed}:{page.url}:{found.start}")
        edits = alterations(found.text, text, names, language, rng)
        if edits and found.text not in candidates:
            source = SourceSentence(
                url=page.url, text_digest=page.text_digest, start=found.start, end=found.end, text=found.text
            )
            candidates[found.text] = Candidate(source, edits)
    return PlantPage(page, language, length_of(page.text), tuple(candidates.values()))


_TRIES = 60
_COMMON = 60
"""A name on more pages than this does not relate them to each other."""
_MOST_SHARED = {"attribution": 0.6, "foreign": 0.4}
"""Maximum share of a sentence's words that the other page contains."""
_LEAST_MISSING = 0.5
_PARTICULAR: dict[Language, re.Pattern[str]] = {
    "en": re.compile(
        r"\b(?!(?:The|An?|In|On|At|By|Of|For|From|With|To|As|During|After|Before|Under|According|Until|Like|Unlike|Some|"
        r"Many|Most|All|More|About|Over|Two|Three|Among|Between|Throughout|Through|Although|Mr|Mrs|Dr)\b)"
        r"[A-Z][\w’-]+|\d[\d,.]*\d|\d"
    ),
    "zh": re.compile(r"[A-Za-z][A-Za-z0-9-]+|\d[\d,.]*\d|\d|《[^》]+》|" + "|".join(PLACES_ZH)),
}


def particulars(sentence: str, language: Language) -> frozenset[str]:
    """Return the names and numbers of a sentence, as written."""
    return frozenset(_PARTICULAR[language].findall(sentence))


class Misplacer:
    """Finds sentences of other pages in the same language that a page does not support."""

    def __init__(self, pages: Sequence[PlantPage], seed: int) -> None:
        self._seed = seed
        self._candidates = [(page, one) for page in pages for one in page.candidates]
        self._by_name: dict[str, list[int]] = {}
        for number, (page, one) in enumerate(self._candidates):
            for name in particulars(one.source.text, page.language):
                if not name[0].isdigit():
                    self._by_name.setdefault(name, []).append(number)

    def attributions(self, page: PlantPage, used: Collection[str]) -> Iterator[Candidate]:
        """Yield sentences of related pages, those that share most names first, without those in `used`."""
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
        """Yield sentences of unrelated pages, without those in `used`."""
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
