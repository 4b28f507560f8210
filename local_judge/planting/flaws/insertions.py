"""Flawed reasoning and padding, from lists of sentences that come with the package.

Invariant: what is put in holds no number, no name and no citation, so that it adds no claim that a source could bear
out; fallacies are sentences at the end of paragraphs, padding is paragraphs of its own.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from random import Random

from local_judge.documents import Document
from local_judge.documents.words import count_words
from local_judge.judge.layout import fill
from local_judge.planting.flaws.places import Place, joined, places
from local_judge.planting.flaws.twin import Cut, Plan
from local_judge.planting.kinds import Language
from serving.types import Frozen

SENTENCES_IN_PARAGRAPH = 3


class Passage(Frozen):
    """A sentence to put in. One line of `reasoning.jsonl` or `padding.jsonl`."""

    kind: str
    """The fallacy, or `padding`."""
    language: Language
    text: str
    """May have a place `{{topic}}` for the heading of the section."""


@cache
def passages(name: str, language: Language) -> tuple[Passage, ...]:
    """The sentences of a list in one language."""
    text = files("local_judge.planting.flaws").joinpath(f"{name}.jsonl").read_text(encoding="utf-8")
    rows = [Passage.model_validate_json(line) for line in text.splitlines() if line]
    return tuple(row for row in rows if row.language == language)


def _said(passage: Passage, place: Place, language: Language) -> str:
    topic = place.topic or {"en": "this matter", "zh": "这一问题"}[language]
    return fill(passage.text, {"topic": topic} if "{{topic}}" in passage.text else {})


def reasoning(document: Document, language: Language, n: int, rng: Random) -> Plan | str:
    """Up to `n` different fallacies; why not, where there is no place for any."""
    ends = places(document)
    chosen = sorted(rng.sample(ends, min(n, len(ends))), key=lambda place: place.end)
    fallacies = rng.sample(passages("reasoning", language), len(chosen))
    if not chosen:
        return "no paragraph that ends with a whole sentence"
    cuts = [
        Cut(place.end, place.end, joined(_said(one, place, language), language))
        for place, one in zip(chosen, fallacies, strict=True)
    ]
    return Plan(tuple(cuts), (), ", ".join(one.kind for one in fallacies))


def padding(document: Document, language: Language, share: float, rng: Random) -> Plan | str:
    """Paragraphs with no content that make the body longer by a share of its words; why not, where there is no place.

    Each place gets paragraphs in turn; no sentence stands twice at one place.
    """
    ends = places(document)
    if not ends:
        return "no paragraph that ends with a whole sentence"
    body = sum(count_words(block.text) for block in document.blocks if block.role == "body")
    wanted, added = share * body, 0
    put: dict[int, list[str]] = {}
    stock: dict[int, list[Passage]] = {}
    order = rng.sample(ends, len(ends))
    turn = 0
    while added < wanted and turn < 6 * len(order):
        place = order[turn % len(order)]
        turn += 1
        left = stock.setdefault(
            place.end, rng.sample(passages("padding", language), len(passages("padding", language)))
        )
        sentences = [
            _said(left.pop(), place, language) for _ in range(min(len(left), SENTENCES_IN_PARAGRAPH))
        ]
        if sentences:
            paragraph = {"en": " ", "zh": ""}[language].join(sentences)
            put.setdefault(place.end, []).append(paragraph)
            added += count_words(paragraph)
    cuts = [
        Cut(end, end, "".join(f"\n\n{one}" for one in paragraphs)) for end, paragraphs in sorted(put.items())
    ]
    return Plan(tuple(cuts), (), f"{added} words without content put into {body}")
