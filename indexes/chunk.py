"""A page's text cut into passages.

Invariant: chunks are stretches of the text (`text[start:end] == chunk.text`), in order, without overlap, each
without white space at its edges, and together they hold every other character. They end at sentence or line
ends; only a sentence longer than `MAX_SENTENCE` is cut inside.

No overlap: a quotation is looked for in the whole page, so neighbours need not repeat each other, and the
same sentence never costs a judge's context twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import sentencex  # pyright: ignore[reportMissingTypeStubs]

from indexes.model import Chunk

TARGET = 1_000
"""Characters that a chunk does not pass unless one sentence, alone or under its heading, does."""
MAX_SENTENCE = 1_500
_HEADING_BREAK = TARGET // 2
"""A heading opens a new chunk once the current one is this long."""
CHUNKING: dict[str, str | int] = {"target": TARGET, "max_sentence": MAX_SENTENCE, "overlap": 0, "version": 1}

_segmenter: Any = sentencex
_LINE = re.compile(r"[^\n]+")
_PIECE = 20_000
"""Longest stretch given to the sentence segmenter at once."""

Span = tuple[int, int]


def chunk_spans(text: str) -> list[Span]:
    """Offsets of the chunks of a text, `[start, end)` in characters."""
    spans: list[Span] = []
    current: list[Span] = []
    for unit in _units(text):
        while current and _closes(text, current, unit):
            # A heading belongs to what follows it.
            carried = [current.pop()] if len(current) > 1 and _is_heading(text, current[-1]) else []
            spans.append((current[0][0], current[-1][1]))
            current = carried
        current.append(unit)
    if current:
        spans.append((current[0][0], current[-1][1]))
    return spans


def make_chunks(text: str, text_digest: str, spans: list[Span] | tuple[Span, ...]) -> tuple[Chunk, ...]:
    """Chunks for the spans that `chunk_spans` gave, with their ids."""
    prefix = text_digest[:12]
    return tuple(
        Chunk(id=f"{prefix}:{start}-{end}", start=start, end=end, text=text[start:end])
        for start, end in spans
    )


def _closes(text: str, current: list[Span], unit: Span) -> bool:
    start = current[0][0]
    alone = len(current) == 1 and _is_heading(text, current[0])
    if unit[1] - start > (MAX_SENTENCE if alone else TARGET):
        return True
    return _is_heading(text, unit) and current[-1][1] - start >= _HEADING_BREAK


def _is_heading(text: str, unit: Span) -> bool:
    return text.startswith("#", unit[0]) and (unit[0] == 0 or text[unit[0] - 1] == "\n")


def _units(text: str) -> Iterator[Span]:
    """Sentences, none over a line end, without white space at the edges, none over `MAX_SENTENCE` long."""
    for line in _LINE.finditer(text):
        for start, end in _split(text, line.start(), line.end(), _PIECE):
            for a, b in _sentences(text, start, end):
                yield from _split(text, a, b, MAX_SENTENCE)


def _sentences(text: str, start: int, end: int) -> Iterator[Span]:
    if end - start <= TARGET // 5:
        yield start, end
        return
    for found in _segmenter.get_sentence_boundaries("en", text[start:end]):
        yield start + found["start_index"], start + found["end_index"]


def _split(text: str, start: int, end: int, limit: int) -> Iterator[Span]:
    """Trim `[start, end)` and cut it into pieces of up to `limit` characters, at white space if possible."""
    while True:
        while start < end and text[start].isspace():
            start += 1
        while start < end and text[end - 1].isspace():
            end -= 1
        if end - start <= limit:
            if start < end:
                yield start, end
            return
        cut = start + limit
        for position in range(cut, start + limit // 2, -1):
            if text[position].isspace():
                cut = position
                break
        last = cut
        while text[last - 1].isspace():
            last -= 1
        yield start, last
        start = cut
