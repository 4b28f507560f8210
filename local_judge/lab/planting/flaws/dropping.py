"""A report that leaves something out which it was asked for.

Invariant: what goes is one whole section with its heading, or where there are none one paragraph, of the report's
matter: no frame (introduction, summary, references), no more than two fifths of it, and no reference entry.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from random import Random
from typing import NamedTuple

from indexes.text.tokens import tokenise
from local_judge.documents import Document
from local_judge.lab.planting.flaws.perturbed import Cut, Plan
from local_judge.lab.planting.flaws.places import is_shell, topic_of

_LEAST_SENTENCES = 2
_MOST_SHARE = 0.4


class _Part(NamedTuple):
    """What could be dropped."""

    start: int
    end: int
    name: str
    labels: tuple[str, ...]


def dropped(document: Document, requirements: Sequence[str], rng: Random) -> Plan | str:
    """One part of the report gone; why not, where there is none that could go.

    Args:
        document: the report.
        requirements: what it has to deliver, such as checklist items. One of them that a part answers better than
            the other parts do is dropped; without any, a part drawn at random.
        rng: draws.
    """
    parts = _sections(document) or _paragraphs(document)
    if not parts:
        return (
            "no section or paragraph of at least two sentences that could go without the report being another"
        )
    part, requirement = rng.choice(parts), ""
    answered = [
        (item, found) for item in requirements if (found := _answering(document, parts, item)) is not None
    ]
    if answered:
        requirement, part = rng.choice(answered)
    detail = f"section {part.name!r}" + (f", which answers: {requirement}" if requirement else "")
    return Plan((Cut(part.start, part.end, ""),), part.labels, detail)


def _answering(document: Document, parts: Sequence[_Part], requirement: str) -> _Part | None:
    """The part with the most words of a requirement that no other part has as many of; None if there is none."""
    wanted = frozenset(tokenise(requirement))
    words = [frozenset(tokenise(document.text[part.start : part.end])) for part in parts]
    # A word that all parts have does not tell them apart.
    telling = {word for word in wanted if 0 < sum(word in one for one in words) <= max(1, len(parts) // 2)}
    counts = [len(telling & one) for one in words]
    best = max(counts, default=0)
    return parts[counts.index(best)] if best and counts.count(best) == 1 else None


def _sections(document: Document) -> list[_Part]:
    headings = [block for block in document.blocks if block.kind == "heading" and block.role == "body"]
    found: list[_Part] = []
    for place, heading in enumerate(headings):
        if heading.level < 2 or is_shell(heading):
            continue
        after = next((one for one in headings[place + 1 :] if one.level <= heading.level), None)
        if after is None:
            continue  # the last one: what follows it may not belong to it
        start = document.text.rfind("\n", 0, heading.span.start) + 1
        end = document.text.rfind("\n", 0, after.span.start) + 1
        found.append(_part(document, start, end, heading.text.strip()))
    return [part for part in found if _may_go(document, part)]


def _paragraphs(document: Document) -> list[_Part]:
    body = [block for block in document.blocks if block.role == "body"]
    found: list[_Part] = []
    for block, after in pairwise(body):
        if block.kind == "paragraph" and block.index > body[0].index:
            start = document.text.rfind("\n", 0, block.span.start) + 1
            end = document.text.rfind("\n", 0, after.span.start) + 1
            found.append(_part(document, start, end, topic_of(document, block) or block.text[:40]))
    return [part for part in found if _may_go(document, part)]


def _part(document: Document, start: int, end: int, name: str) -> _Part:
    labels = [one.label for one in document.sentences if start <= one.span.start < end]
    return _Part(start, end, name, tuple(labels))


def _may_go(document: Document, part: _Part) -> bool:
    listed = any(part.start <= reference.span.start < part.end for reference in document.references)
    share = len(part.labels) / max(1, len(document.sentences))
    return (
        not listed and part.start < part.end and len(part.labels) >= _LEAST_SENTENCES and share <= _MOST_SHARE
    )
