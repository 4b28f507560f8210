"""Deletion of content that a report was asked for.

Invariant: the deleted part is one whole section with its heading, or one paragraph of a report without sections. It is
not a frame (introduction, summary, references), is at most two fifths of the sentences, and has no reference entry.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from random import Random
from typing import NamedTuple

from indexes.text.tokens import tokenise
from local_judge.documents import Document
from local_judge.lab.planting.flaws.places import Cut, Plan, is_shell, topic_of

_LEAST_SENTENCES = 2
_MOST_SHARE = 0.4


class _Part(NamedTuple):
    """A part of the report that can be deleted."""

    start: int
    end: int
    name: str
    labels: tuple[str, ...]


def dropped(document: Document, requirements: Sequence[str], rng: Random) -> Plan | str:
    """Plan the deletion of one part of the report; return the reason if no part can be deleted.

    Args:
        document: Report.
        requirements: Requirements on the report, such as checklist items. A part that answers one of them better than
            the other parts do is deleted; without such a part, a random one.
        rng: Source of randomness.
    """
    parts = _sections(document) or _paragraphs(document)
    if not parts:
        return "no section or paragraph of two or more sentences is a small enough part of the report to be dropped"
    part, requirement = rng.choice(parts), ""
    answered = [
        (item, found) for item in requirements if (found := _answering(document, parts, item)) is not None
    ]
    if answered:
        requirement, part = rng.choice(answered)
    detail = f"section {part.name!r}" + (f", which answers: {requirement}" if requirement else "")
    return Plan((Cut(part.start, part.end, ""),), part.labels, detail)


def _answering(document: Document, parts: Sequence[_Part], requirement: str) -> _Part | None:
    """Return the part with more words of a requirement than any other part; None if there is none."""
    wanted = frozenset(tokenise(requirement))
    words = [frozenset(tokenise(document.text[part.start : part.end])) for part in parts]
    # A word of all parts does not distinguish them.
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
