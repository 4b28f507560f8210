"""A report divided into segments: sections, paragraphs, groups of sentences.

Invariant: segments partition the sentences of the body. Each sentence is in exactly one, they are in the order of the
report, and the stretches of text from their first to their last sentence do not overlap; no text is copied, so none can
be altered.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import groupby
from operator import attrgetter

from local_judge.documents.model import Document, Frozen, Sentence, Span
from local_judge.protocols.deepresearcheval.facts.settings import SegmentSettings


class Segment(Frozen):
    """Consecutive sentences of a report."""

    id: str
    """`g1`, `g2`, …"""
    span: Span
    """From the first sentence's start to the last one's end."""
    sentences: tuple[str, ...]
    """Labels."""


def body_sentences(document: Document) -> tuple[Sentence, ...]:
    """What a report states: neither chat around it nor lists of references."""
    return tuple(one for one in document.sentences if document.blocks[one.block].role == "body")


def cut_segments(
    document: Document, sizes: SegmentSettings, begins: Collection[str] | None = None
) -> tuple[Segment, ...]:
    """The segments of a report.

    A segment begins at a heading, unless the one before it has fewer than `least` sentences, or where the next
    paragraph, list item or table row does not fit into the sizes. A paragraph that does not fit by itself is divided
    between sentences.

    Args:
        document: the report.
        sizes: how large a segment may be.
        begins: labels of sentences that begin a segment, in place of headings.
    """
    groups: list[list[Sentence]] = []
    before: tuple[int, ...] | None = None
    for unit in _units(body_sentences(document), begins or ()):
        section = document.blocks[unit[0].block].section
        if begins is None:
            wanted = section != before and bool(groups) and len(groups[-1]) >= sizes.least
        else:
            wanted = unit[0].label in begins
        before = section
        for part in _parts(unit, sizes):
            if not groups or wanted or not _fits([*groups[-1], *part], sizes):
                groups.append([])
            groups[-1] += part
            wanted = False
    return tuple(
        Segment(
            id=f"g{number}",
            span=Span(start=group[0].span.start, end=group[-1].span.end),
            sentences=tuple(sentence.label for sentence in group),
        )
        for number, group in enumerate(groups, 1)
    )


def _units(sentences: Sequence[Sentence], begins: Collection[str]) -> list[list[Sentence]]:
    """The sentences by block, and apart where one begins a segment."""
    units: list[list[Sentence]] = []
    for _, block in groupby(sentences, attrgetter("block")):
        units.append([])
        for sentence in block:
            if sentence.label in begins and units[-1]:
                units.append([])
            units[-1].append(sentence)
    return units


def _parts(unit: Sequence[Sentence], sizes: SegmentSettings) -> list[list[Sentence]]:
    """A unit whole, or in groups that fit."""
    if _fits(unit, sizes):
        return [list(unit)]
    parts: list[list[Sentence]] = [[]]
    for sentence in unit:
        if parts[-1] and not _fits([*parts[-1], sentence], sizes):
            parts.append([])
        parts[-1].append(sentence)
    return parts


def _fits(sentences: Sequence[Sentence], sizes: SegmentSettings) -> bool:
    characters = sum(len(sentence.text) for sentence in sentences)
    return len(sentences) <= sizes.sentences and characters <= sizes.characters
