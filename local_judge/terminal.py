"""Helpers shared by all terminal output.

Invariant: text from a report, a page or a judge is printed as plain text, with rich markup escaped and control
characters removed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Column
from rich.table import Table as RichTable

from local_judge.base.errors import plain
from local_judge.base.output import Table, shorten


def safe(text: str, limit: int | None = None) -> str:
    """Return untrusted text for the terminal: no control characters, no markup, at most `limit` characters."""
    shown = plain(text)
    return escape(shown if limit is None else shorten(shown, limit))


_BETWEEN = 3
"""Width of what separates two columns."""
_LEAST_TEXT = 16
"""Width below which a column of texts does not shrink."""
_WHOLE_WORD = 24
"""Maximum length of a word, such as the name of a run, that keeps its column wide enough."""


class _PlainTable(RichTable):
    """Table that fits the terminal.

    If it is too wide, headings and cells wrap at blanks. Words of texts are broken if they are long, or if that does
    not suffice. If the table is still too wide, it is printed as several, each with the texts of the first columns. No
    number is broken.
    """

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines of the table, or several tables."""
        measured = [_measured(console, options, column) for column in self.columns]
        most, room = [max(one.head.maximum, one.cells.maximum) for one in measured], options.max_width
        n_texts = next((n for n, one in enumerate(self.columns) if one.justify == "right"), len(most))
        if _total(most) <= room or n_texts == len(most):
            yield from super().__rich_console__(console, options)
            return
        texts = [min(width, _LEAST_TEXT) for width in most[:n_texts]]
        words = [max(one.head.minimum, one.cells.minimum) for one in measured]
        whole = [
            max(text, word if word <= _WHOLE_WORD else 0) for text, word in zip(texts, words, strict=False)
        ]
        least = [*whole, *words[n_texts:]]
        if _total(least) > room:
            least = [*texts, *words[n_texts:]]
        parts = [list(range(n_texts, len(most)))]
        if _total(least) > room:
            least = [*texts, *(max(one.head.minimum, one.cells.maximum) for one in measured[n_texts:])]
            parts = _shared_out(least, n_texts, room)
        for number, part in enumerate(parts):
            places = [*range(n_texts), *part]
            widths = _widened([least[one] for one in places], [most[one] for one in places], n_texts, room)
            if number:
                yield ""
            yield self._part(places, widths, with_title=not number)

    def _part(self, places: Sequence[int], widths: Sequence[int], *, with_title: bool) -> RichTable:
        """Return a table with some of the columns."""
        made = RichTable(
            title=self.title if with_title else None,
            title_justify="left",
            show_edge=False,
            pad_edge=False,
            show_header=self.show_header,
        )
        for place, width in zip(places, widths, strict=True):
            one = self.columns[place]
            made.add_column(
                one.header, justify=one.justify, overflow=one.overflow, style=one.style, width=width
            )
        cells = [list(column.cells) for column in self.columns]
        for number, row in enumerate(self.rows):
            made.add_row(
                *(cells[place][number] for place in places), style=row.style, end_section=row.end_section
            )
        return made


class _Measured(NamedTuple):
    """Widths of a column's longest word and longest line."""

    head: Measurement
    cells: Measurement


def _measured(console: Console, options: ConsoleOptions, column: Column) -> _Measured:
    cells = [Measurement.get(console, options, cell) for cell in column.cells]
    words, lines = [one.minimum for one in cells], [one.maximum for one in cells]
    head = Measurement.get(console, options, column.header)
    return _Measured(head, Measurement(max(words, default=0), max(lines, default=0)))


def _shared_out(least: Sequence[int], n_texts: int, room: int) -> list[list[int]]:
    """Return the places of the columns after the first `n_texts`, in parts that fit beside those."""
    parts: list[list[int]] = [[]]
    for place in range(n_texts, len(least)):
        beside = [*least[:n_texts], *(least[one] for one in parts[-1])]
        if parts[-1] and _total([*beside, least[place]]) > room:
            parts.append([])
        parts[-1].append(place)
    return parts


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + _BETWEEN * (len(widths) - 1)


def _widened(least: Sequence[int], most: Sequence[int], n_texts: int, room: int) -> list[int]:
    """Return widths from `least` to `most`, together at most `room` where possible; numbers get the room first."""
    widths = list(least)
    for places in (range(n_texts, len(least)), range(n_texts)):
        while left := max(0, room - _total(widths)):
            narrow = [place for place in places if widths[place] < most[place]]
            if not narrow:
                break
            for place in narrow[:left]:
                widths[place] += 1
    return widths


def plain_table(
    title: str = "", texts: Sequence[str] = (), numbers: Sequence[str] = (), *, headings: bool = True
) -> RichTable:
    """Return an empty table with columns of texts, folded where they are long, and right-aligned columns of numbers."""
    made = _PlainTable(
        title=title or None, title_justify="left", show_edge=False, pad_edge=False, show_header=headings
    )
    for column in texts:
        made.add_column(column, overflow="fold")
    for column in numbers:
        made.add_column(column, justify="right", overflow="fold")
    return made


def render_table(table: Table) -> RichTable:
    """Return a table for the terminal: as plain text, and with long texts folded."""
    made = _PlainTable(
        title=safe(table.title) or None,
        title_justify="left",
        show_edge=False,
        pad_edge=False,
        show_header=table.headings,
        show_lines=table.ruled,
    )
    for column in table.columns:
        made.add_column(safe(column.heading), justify="right" if column.number else "left", overflow="fold")
    for line in table.lines:
        cells = ("\n".join(map(safe, cell.split("\n"))) for cell in line.cells)
        made.add_row(*cells, style="bold" if line.bold else None, end_section=line.ends_section)
    return made


class _Output(Console):
    """Console that lets the command line handle a closed pipe."""

    def on_broken_pipe(self) -> None:
        """Re-raise the error; rich calls this where it handles one."""
        raise

    def print(self, *objects: Any, **options: Any) -> None:
        """Print tables, and texts with markup."""
        super().print(*(render_table(one) if isinstance(one, Table) else one for one in objects), **options)


def print_parts(parts: Iterable[str | Table]) -> None:
    """Print tables and lines, one below the other, as plain text."""
    for part in parts:
        stdout().print(safe(part) if isinstance(part, str) else part, soft_wrap=isinstance(part, str))


def stdout() -> Console:
    """Return the console for results, wide enough for tables if the output is not a terminal.

    Text is printed unchanged: ":x:" in a claim does not become an emoji.
    """
    console = _Output(highlight=False, emoji=False)
    return console if console.is_terminal else _Output(highlight=False, emoji=False, width=160)
