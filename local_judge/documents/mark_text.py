"""Text of one block in which marks are read, and what a reader returns."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property


@dataclass(slots=True)
class Found:
    """Mark `flat[start:end]`; `start` is the position of the reader if it is None."""

    end: int
    keys: tuple[str, ...] = ()
    """Keys named by the mark: numbers, a footnote's label, `Kim 2024`."""
    target: str = ""
    """Address as written, without escapes."""
    shown: str = ""
    """Text of a link; the word before a number that follows one, with the punctuation after it; the names before a
    year in brackets."""
    certain: bool = True
    """False for a form that ordinary text has as well: `(Kim, 2024)`, `(1)`, `word.1`. The whole report decides."""
    start: int | None = None


@dataclass
class Text:
    """Text of one block, with the lookup tables of the readers."""

    flat: str
    labels: frozenset[str]
    """Keys of all reference entries."""
    floor: int = 0
    """End of the last mark; no mark starts before it."""

    @cached_property
    def closing(self) -> dict[int, int]:
        """Offset of the closing bracket of each `[`, without escaped brackets."""
        found: dict[int, int] = {}
        stack: list[int] = []
        for match in re.finditer(r"\\.|[\[\]]", self.flat, re.DOTALL):
            token = match.group()
            if token == "[":
                stack.append(match.start())
            elif token == "]" and stack:
                found[stack.pop()] = match.start()
        return found

    @cached_property
    def ticks(self) -> dict[int, list[int]]:
        """Offsets of runs of backticks, by their length."""
        found: dict[int, list[int]] = {}
        for match in re.finditer(r"`+", self.flat):
            found.setdefault(len(match.group()), []).append(match.start())
        return found

    def close_of(self, name: str, start: int, longest: int) -> int:
        """Return the offset of the closing tag of an element; -1 if none follows within the length."""
        return self.flat.find(f"</{name}>", start, start + longest)

    @cached_property
    def last_comment_end(self) -> int:
        """Offset of the last `-->`; -1 if there is none."""
        return self.flat.rfind("-->")


Reader = Callable[[Text, int], Found | None]
"""Function that reads the mark at an offset; None if there is none."""
