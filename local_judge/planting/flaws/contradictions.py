"""A report that says two things of one matter.

Invariant: what is put in is a sentence of the report with one thing changed that cannot be true beside it (a number, a
date or a unit that is no bound, a direction, a negation), without citations, in another paragraph; the report nowhere
says the same.
"""

from __future__ import annotations

from random import Random

from local_judge.documents import Document, Sentence
from local_judge.planting.alterations.alter import alterations, contradicts
from local_judge.planting.alterations.ground import PageText
from local_judge.planting.alterations.names import NamePool
from local_judge.planting.flaws.places import bare, joined, places
from local_judge.planting.flaws.twin import Cut, Plan
from local_judge.planting.kinds import AlterationKind, Language
from local_judge.planting.model import Edit
from local_judge.planting.sentences import stands_alone

KINDS: tuple[AlterationKind, ...] = ("number", "date", "unit", "direction", "negation")


def contradictions(document: Document, language: Language, n: int, rng: Random) -> Plan | str:
    """Up to `n` sentences that contradict others; why not, where there is no place for any."""
    page = PageText("", document.text)
    nobody = NamePool((), language)
    sources: list[tuple[Sentence, Edit, str]] = []
    for sentence in document.sentences:
        text = bare(document, sentence)
        block = document.blocks[sentence.block]
        if block.kind not in ("paragraph", "list_item") or text is None or not stands_alone(text, language):
            continue
        made = alterations(text, page, nobody, language, Random(f"{rng.random()}:{sentence.label}"))
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
        return "no sentence that stands by itself and can be contradicted, or no paragraph to put it in"
    detail = "; ".join(f"{edit.kind}: {edit.before!r} -> {edit.after!r}" for _, edit, _ in taken)
    return Plan(tuple(sorted(cuts)), tuple(sentence.label for sentence, _, _ in taken), detail)
