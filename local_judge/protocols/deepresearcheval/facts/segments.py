"""Segments of a report: sections, paragraphs, groups of sentences, divided by code or by the judge.

Invariants: a judge names sentences by their labels and never writes their text; its answer is a partition: labels of
the report, each once, in order. Segments partition the sentences of the body in the report's order, and their ranges do
not overlap. No text is copied, so none can change.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Annotated, Any, NamedTuple

from pydantic import AfterValidator, Field, create_model

from local_judge.base.failures import Failure
from local_judge.base.model import Frozen
from local_judge.documents.model import Document, Sentence, Span
from local_judge.judge.judge import Judge
from local_judge.prompts import Prompt, load_prompt
from local_judge.protocols.deepresearcheval.facts.findings import Segment, SegmentSettings
from local_judge.rubric.asking import report_prompt

REPLY_TOKENS = 12
"""Limit of a reply, for each label that may be named."""
MOST = 100
"""Maximum number of segments that a judge may name."""


def body_sentences(document: Document) -> tuple[Sentence, ...]:
    """Return the sentences of a report's body, without preamble and lists of references."""
    return tuple(
        sentence for sentence in document.sentences if document.blocks[sentence.block].role == "body"
    )


def cut_segments(
    document: Document, sizes: SegmentSettings, begins: Collection[str] | None = None
) -> tuple[Segment, ...]:
    """Divide a report into segments.

    A segment begins at a heading, unless the one before it has fewer than `least` sentences, or where the next
    paragraph, list item or table row does not fit into the sizes. A paragraph that does not fit by itself is divided
    between sentences.

    Args:
        document: the report.
        sizes: limits of a segment.
        begins: labels of sentences that begin a segment, instead of headings.
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
    """Group the sentences by block, and apart at each sentence that begins a segment."""
    units: list[list[Sentence]] = []
    for _, block in groupby(sentences, attrgetter("block")):
        units.append([])
        for sentence in block:
            if sentence.label in begins and units[-1]:
                units.append([])
            units[-1].append(sentence)
    return units


def _parts(unit: Sequence[Sentence], sizes: SegmentSettings) -> list[list[Sentence]]:
    """Return a unit whole, or in groups that fit."""
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


class Begins(Frozen):
    """Labels of the sentences that begin a segment; `answer_type` bounds them."""

    begins: list[str]


class Cut(NamedTuple):
    """Segments, and the failure of the judge if code divided the report in its place."""

    segments: tuple[Segment, ...]
    failure: Failure | None = None


def answer_type(labels: Sequence[str]) -> type[Begins]:
    """Return the type of a partition of these sentences."""
    label = Annotated[str, Field(max_length=12)]
    most = min(len(labels), MOST)
    begins: Any = Annotated[list[label], Field(max_length=most), AfterValidator(_in_order(labels))]
    return create_model("Begins", __base__=Begins, begins=(begins, ...))


def _in_order(labels: Sequence[str]) -> Callable[[list[str]], list[str]]:
    places = {label: place for place, label in enumerate(labels)}

    def check(begins: list[str]) -> list[str]:
        unknown = [label for label in begins if label not in places]
        if unknown:
            raise ValueError(f"{len(unknown)} labels of no sentence")
        named = [places[label] for label in begins]
        if named != sorted(set(named)):
            raise ValueError("labels twice or out of order")
        return begins

    return check


def cutting_prompt(document: Document) -> Prompt:
    """Return the prompt for the beginnings of all segments."""
    return report_prompt(document, [load_prompt("local_judge.protocols.deepresearcheval.facts", "segments")])


async def cut_report(document: Document, judge: Judge, sizes: SegmentSettings) -> Cut:
    """Divide a report as the settings say; code replaces a judge that fails."""
    labels = [sentence.label for sentence in body_sentences(document)]
    if sizes.by == "code" or not labels:
        return Cut(cut_segments(document, sizes))
    reply = await judge.ask(
        cutting_prompt(document), answer_type(labels), max_tokens=REPLY_TOKENS * min(len(labels), MOST)
    )
    if isinstance(reply, Failure):
        return Cut(cut_segments(document, sizes), reply)
    return Cut(cut_segments(document, sizes, {labels[0], *reply.value.begins}))
