"""Parts of output that need no terminal: counts, missing numbers, and tables as data.

Invariant: a table holds texts as they are; whoever prints or writes it escapes them.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

QUIET = "LOCAL_JUDGE_QUIET"
"""Environment variable that `--quiet` sets."""

NONE = "–"
"""Text printed for a missing number, which is never shown as zero."""


def is_quiet() -> bool:
    """Check whether `--quiet` leaves out progress and summaries on standard error."""
    return QUIET in os.environ


def count(number: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun: `1 claim`, `2 claims`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def shorten(text: str, limit: int) -> str:
    """Return a text of at most `limit` characters."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


class Column(NamedTuple):
    """Column of a table."""

    heading: str
    number: bool = False
    """True for numbers, which are aligned to the right and never broken."""


class Line(NamedTuple):
    """Line of a table."""

    cells: tuple[str, ...]
    bold: bool = False
    ends_section: bool = False
    """True if a rule separates the next line."""


class Table:
    """Table of texts and numbers.

    Args:
        title: text above the table.
        texts: headings of the first columns.
        numbers: headings of the columns of numbers behind them.
        headings: whether the headings are shown.
        ruled: whether a rule separates all lines, as for cells of several lines.
    """

    def __init__(
        self,
        title: str = "",
        texts: Sequence[str] = (),
        numbers: Sequence[str] = (),
        *,
        headings: bool = True,
        ruled: bool = False,
    ) -> None:
        self.title, self.headings, self.ruled = title, headings, ruled
        self.columns = [*map(Column, texts), *(Column(heading, number=True) for heading in numbers)]
        self.lines: list[Line] = []

    def add_column(self, heading: str, *, number: bool = True) -> None:
        """Add a column behind the others, of numbers or of texts."""
        self.columns.append(Column(heading, number))

    def add_row(self, *cells: str, bold: bool = False) -> None:
        """Add a line."""
        self.lines.append(Line(cells, bold))

    def add_section(self) -> None:
        """Separate the next line from those before it."""
        if self.lines:
            self.lines[-1] = self.lines[-1]._replace(ends_section=True)
