"""Lines of a text by character offset, and the blanks within them.

Invariant: lines are found by bisection, so that a text of one line costs no more than one of many.
"""

from __future__ import annotations

import re
from bisect import bisect_right

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
