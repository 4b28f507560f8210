"""Result of a cleaning, and helpers for lines and blanks of a text.

Invariant: removals are in order, do not overlap, and turn the original into exactly the cleaned text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import Literal

from local_judge.base.model import Frozen
from local_judge.documents.model import Span

RemovalKind = Literal["marker", "link", "bare_url", "reference_section", "footnote", "chatter"]
"""Kind of a removal. `marker`: a mark without words of the report: `[1]`, `(Kim, 2024)`, `([Reuters](https://…))`.
`link`: a link whose text stays. `footnote`: a footnote definition outside a list of references. `chatter`: text before
or around the report."""


class Removal(Frozen):
    """Range of the original that was removed or replaced."""

    span: Span
    """Range in the original, with the white space, brackets and separators removed with it."""
    kind: RemovalKind
    text: str
    """Text of the original at `span`."""
    replacement: str = ""


class Cleaned(Frozen):
    """A report without its citations."""

    text: str
    removed: tuple[Removal, ...]


def applied(text: str, removed: Sequence[Removal]) -> str:
    """Return `text` with the removals applied."""
    parts: list[str] = []
    position = 0
    for removal in removed:
        parts += text[position : removal.span.start], removal.replacement
        position = removal.span.end
    return "".join(parts) + text[position:]


PREFIX = re.compile(r"[ \t>]*(?:(?:[-*+•]|\d{1,9}[.)])[ \t]+)?")
"""Prefix of a line from its containers: indentation, quote and list markers."""
_LONGEST_PREFIX = 80


class Lines:
    """Offsets of the lines of a text, found by bisection."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts = [0, *(match.end() for match in re.finditer(r"\r\n?|\n", text))]

    def start(self, offset: int) -> int:
        """Return the start of the line with this character."""
        return self._starts[bisect_right(self._starts, offset) - 1]

    def next(self, offset: int) -> int:
        """Return the start of the next line; the text's length if there is none."""
        line = bisect_right(self._starts, offset)
        return self._starts[line] if line < len(self._starts) else len(self._text)

    def opens(self, offset: int) -> bool:
        """Check whether only a container's prefix precedes this character in its line."""
        start = self.start(offset)
        return offset - start <= _LONGEST_PREFIX and PREFIX.fullmatch(self._text, start, offset) is not None


def blanks_before(text: str, start: int, floor: int) -> int:
    """Return the start of the blanks before `start`, without line ends; at least `floor`."""
    while start > floor and text[start - 1].isspace() and text[start - 1] not in "\r\n":
        start -= 1
    return start


def blanks_after(text: str, end: int, limit: int) -> int:
    """Return the end of the blanks at `end`, without line ends; at most `limit`."""
    while end < limit and text[end].isspace() and text[end] not in "\r\n":
        end += 1
    return end
