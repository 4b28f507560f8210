"""Pages to plant in: what of a snapshot can be used, and which sentences of it admit what.

Invariant: which edits a sentence admits depends on its page, the other pages of its language, and the seed, and on
nothing that was drawn before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random

from indexes.model import Page
from local_judge.claims.evidence import estimate_tokens
from local_judge.lab.planting.alterations.alter import alterations
from local_judge.lab.planting.alterations.alteration_context import PageText
from local_judge.lab.planting.alterations.names import NamePool
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
    """What it admits, one of each kind."""


@dataclass(frozen=True)
class PlantPage:
    """A page with its candidates, in the order of its text."""

    page: Page
    language: Language
    length: Length
    candidates: tuple[Candidate, ...]

    @property
    def url(self) -> str:
        """Normalised."""
        return self.page.url

    @cached_property
    def text(self) -> PageText:
        """For look-ups."""
        return page_text(self.page)


def page_text(page: Page) -> PageText:
    """A page's title and text."""
    return PageText(page.url, f"{page.title}\n{page.text}")


def length_of(text: str) -> Length:
    """Into which class of lengths a page's text falls."""
    tokens = estimate_tokens(text)
    return next(length for length, most in LENGTHS.items() if most is None or tokens <= most)


def usable(pages: Iterable[Page], languages: Sequence[Language] = LANGUAGES) -> list[Page]:
    """Those that have a text in one of `languages`; of several captures of one URL the last."""
    last = {page.url: page for page in pages if page.status == "ok" and page.language in languages}
    return list(last.values())


def plant_pages(pages: Sequence[Page], seed: int) -> list[PlantPage]:
    """`usable` pages with what can be planted in them, in their order."""
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
