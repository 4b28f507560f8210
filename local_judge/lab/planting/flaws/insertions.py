"""Insertions into a report: flawed reasoning and padding from packaged sentences, and contradictions.

Invariants: fallacies and padding contain no number, no name and no citation, so that they add no claim that a source
could support; fallacies are sentences at the end of paragraphs, padding is whole paragraphs. A contradiction is a
sentence of the report with one altered detail that cannot be true at the same time (a number, a date or a unit that is
not a bound, a direction, a negation), without citations, in another paragraph; the report does not state it elsewhere.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from random import Random

from local_judge.base.model import Frozen
from local_judge.documents import Document, Sentence
from local_judge.documents.words import count_words
from local_judge.lab.planting.alterations.alter import alterations, contradicts
from local_judge.lab.planting.alterations.alteration_context import PageText
from local_judge.lab.planting.alterations.names import NamePool
from local_judge.lab.planting.flaws.places import Cut, Place, Plan, bare, joined, places
from local_judge.lab.planting.model import AlterationKind, Edit, Language
from local_judge.lab.planting.sentences import stands_alone
from local_judge.prompts import fill

KINDS: tuple[AlterationKind, ...] = ("number", "date", "unit", "direction", "negation")


def contradictions(document: Document, language: Language, n: int, rng: Random) -> Plan | str:
    """Plan up to `n` sentences that contradict others; return the reason if none fits."""
    page = PageText("", document.text)
    no_names = NamePool((), language)
    sources: list[tuple[Sentence, Edit, str]] = []
    for sentence in document.sentences:
        text = bare(document, sentence)
        block = document.blocks[sentence.block]
        if block.kind not in ("paragraph", "list_item") or text is None or not stands_alone(text, language):
            continue
        made = alterations(text, page, no_names, language, Random(f"{rng.random()}:{sentence.label}"))
        edits = [made[kind] for kind in KINDS if kind in made and contradicts(text, made[kind], language)]
        if edits:
            edit = rng.choice(edits)
            sources.append((sentence, edit, edit.applied(text)))
    ends = places(document)
    rng.shuffle(sources)
    rng.shuffle(ends)
    cuts: list[Cut] = []
    taken: list[tuple[Sentence, Edit, str]] = []
    for sentence, edit, claim in sources:
        section = document.blocks[sentence.block].section
        far = [place for place in ends if place.block.index != sentence.block]
        far.sort(key=lambda place: place.block.section == section)
        if len(cuts) == n or not far:
            break
        ends.remove(far[0])
        cuts.append(Cut(far[0].end, far[0].end, joined(claim, language)))
        taken.append((sentence, edit, claim))
    if not cuts:
        return "no sentence that stands alone and can be contradicted, or no paragraph to insert it into"
    detail = "; ".join(f"{edit.kind}: {edit.before!r} -> {edit.after!r}" for _, edit, _ in taken)
    return Plan(tuple(sorted(cuts)), tuple(sentence.label for sentence, _, _ in taken), detail)


SENTENCES_IN_PARAGRAPH = 3


class Passage(Frozen):
    """A sentence to insert. One line of `reasoning.jsonl` or `padding.jsonl`."""

    kind: str
    """Name of the fallacy, or `padding`."""
    language: Language
    text: str
    """Text; `{{topic}}` stands for the heading of the section."""


@cache
def passages(name: str, language: Language) -> tuple[Passage, ...]:
    """Return the sentences of a list in one language."""
    text = files("local_judge.lab.planting.flaws").joinpath(f"{name}.jsonl").read_text(encoding="utf-8")
    rows = [Passage.model_validate_json(line) for line in text.splitlines() if line]
    return tuple(row for row in rows if row.language == language)


def _said(passage: Passage, place: Place, language: Language) -> str:
    topic = place.topic or {"en": "this matter", "zh": "这一问题"}[language]
    return fill(passage.text, {"topic": topic} if "{{topic}}" in passage.text else {})


def reasoning(document: Document, language: Language, n: int, rng: Random) -> Plan | str:
    """Plan up to `n` different fallacies; return the reason if none fits."""
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
    """Plan paragraphs without content that lengthen the body by a share of its words; return the reason if none fits.

    Places receive paragraphs in turn; no sentence occurs twice at one place.
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
