"""A page's text cut into passages.

Invariant: chunks are stretches of the text (`text[start:end] == chunk.text`), each beginning and ending after the one
before it, without white space at their edges, and together they hold every other character. They begin and end where
sentences or lines do; only a sentence longer than `MAX_SENTENCE` is cut inside.

A chunk opens with the last whole sentences of the one before, up to `OVERLAP` characters: a statement and the sentence
that it leans on are found together. It does not where a heading opens it, nor where that would make it too long. Who
shows several chunks joins them by their offsets, so that no sentence is shown twice.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Any

import sentencex  # pyright: ignore[reportMissingTypeStubs]

from indexes.model import Chunk

TARGET = 1_000
"""Characters that a chunk does not pass unless one sentence, alone or under its heading, does."""
MAX_SENTENCE = 1_500
_HEADING_BREAK = TARGET // 2
"""A heading opens a new chunk once the current one is this long."""
OVERLAP = 200
"""Characters at most that a chunk shares with the one before."""
CHUNKING: dict[str, str | int] = {
    "target": TARGET,
    "max_sentence": MAX_SENTENCE,
    "overlap": OVERLAP,
    "version": 2,
}

_segmenter: Any = sentencex
_LINE = re.compile(r"[^\n]+")
# Scripts without blanks end a clause by the sign alone; in the others a sign inside a number ends nothing.
_ENDS = tuple(map(re.compile, (r"[。！？।]|[.!?](?=\s)", r"[，、；：]|[,;:،؛](?=\s)", r"(?=\s)")))
_JOINERS = "\u200d\ufe0e\ufe0f"
"""Zero-width joiner and variation selectors: they make one sign of their neighbours."""
_PIECE = 20_000
"""Longest stretch given to the sentence segmenter at once."""

Span = tuple[int, int]


def chunk_spans(text: str) -> list[Span]:
    """Offsets of the chunks of a text, `[start, end)` in characters."""
    spans: list[Span] = []
    current: list[Span] = []
    for unit in _units(text):
        if current and _closes(text, current, unit):
            # A heading belongs to what follows it.
            carried = [current.pop()] if len(current) > 1 and _is_heading(text, current[-1]) else []
            spans.append((current[0][0], current[-1][1]))
            if carried and _closes(text, carried, unit):
                spans.append(carried[0])
                current = []
            else:
                current = carried or _find_overlap(text, current, unit)
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


def _find_overlap(text: str, closed: list[Span], unit: Span) -> list[Span]:
    """The last units of a chunk that the next one, which goes on with `unit`, opens with."""
    if _is_heading(text, unit):
        return []
    earliest = max(closed[-1][1] - OVERLAP, unit[1] - TARGET)
    first = len(closed)
    while first > 1 and closed[first - 1][0] >= earliest and not _is_heading(text, closed[first - 1]):
        first -= 1
    return closed[first:]


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
    """Trim `[start, end)` and cut it into pieces of up to `limit` characters, where it hurts least."""
    while True:
        while start < end and text[start].isspace():
            start += 1
        while start < end and text[end - 1].isspace():
            end -= 1
        if end - start <= limit:
            if start < end:
                yield start, end
            return
        cut = _find_cut(text, start + limit // 2, start + limit)
        last = cut
        while text[last - 1].isspace():
            last -= 1
        yield start, last
        start = cut


def _find_cut(text: str, low: int, high: int) -> int:
    """Return the cut position in `[low, high]`: after the last sentence, else clause, else word, else between signs."""
    for pattern in _ENDS:
        found = [match.end() for match in pattern.finditer(text, low, high)]
        if found:
            return found[-1]
    cut = high
    while cut > low and (
        unicodedata.combining(text[cut]) or text[cut] in _JOINERS or text[cut - 1] in _JOINERS
    ):
        cut -= 1
    return cut if cut > low else high
