"""What a cleaning took away.

Invariant: removals do not overlap, come in the order of the text, and applied to the original they give the
cleaned text exactly: nothing is changed that they do not name.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import Literal

from local_judge.documents.model import Span
from serving.types import Frozen

RemovalKind = Literal["marker", "link", "bare_url", "reference_section", "footnote", "chatter"]
"""`marker` is a mark with no words of the report in it: `[1]`, `(Kim, 2024)`, `([Reuters](https://…))`. `link` is a
link whose text stays. `footnote` is the definition of one, outside a list of references. `chatter` is what stands
before the report or around it."""


class Removal(Frozen):
    """One stretch of the original that was taken away or replaced."""

    span: Span
    """In the original, with the white space, brackets and separators that went along."""
    kind: RemovalKind
    text: str
    """The original's text at `span`."""
    replacement: str = ""


class Cleaned(Frozen):
    """A report without its citations."""

    text: str
    removed: tuple[Removal, ...]


def applied(text: str, removed: Sequence[Removal]) -> str:
    """`text` with the removals applied."""
    parts: list[str] = []
    position = 0
    for removal in removed:
        parts += text[position : removal.span.start], removal.replacement
        position = removal.span.end
    return "".join(parts) + text[position:]


PREFIX = re.compile(r"[ \t>]*(?:(?:[-*+•]|\d{1,9}[.)])[ \t]+)?")
"""What containers put before a line's own text: indentation, quote and list markers."""
_LONGEST_PREFIX = 80


class Lines:
    """Where the lines of a text start."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts = [0, *(match.end() for match in re.finditer(r"\r\n?|\n", text))]

    def start(self, offset: int) -> int:
        """Where the line with this character starts."""
        return self._starts[bisect_right(self._starts, offset) - 1]

    def next(self, offset: int) -> int:
        """Where the line after it starts; the text's length if there is none."""
        line = bisect_right(self._starts, offset)
        return self._starts[line] if line < len(self._starts) else len(self._text)

    def opens(self, offset: int) -> bool:
        """Whether nothing but a container's marker stands before this character in its line."""
        start = self.start(offset)
        return offset - start <= _LONGEST_PREFIX and PREFIX.fullmatch(self._text, start, offset) is not None


def blanks_before(text: str, start: int, floor: int) -> int:
    """Where the blanks before `start` begin, line ends apart; not before `floor`."""
    while start > floor and text[start - 1].isspace() and text[start - 1] not in "\r\n":
        start -= 1
    return start


def blanks_after(text: str, end: int, limit: int) -> int:
    """Where the blanks from `end` on end, line ends apart; not behind `limit`."""
    while end < limit and text[end].isspace() and text[end] not in "\r\n":
        end += 1
    return end
