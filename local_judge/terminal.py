"""What all terminal output has in common.

Invariant: everything that came from a report, a page or a judge is printed as plain text (rich markup escaped, control
characters removed).
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from local_judge.errors import plain

NONE = "–"
"""A number that does not exist is a dash and never a zero."""


def safe(text: str, limit: int | None = None) -> str:
    """Untrusted text for the terminal: no control characters, no markup, at most `limit` characters."""
    shown = plain(text)
    if limit is not None and len(shown) > limit:
        shown = shown[: limit - 1] + "…"
    return escape(shown)


def count(number: int, one: str, many: str | None = None) -> str:
    """`1 claim`, `2 claims`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def plain_table(
    title: str = "", texts: Sequence[str] = (), numbers: Sequence[str] = (), *, headings: bool = True
) -> Table:
    """An empty table with columns of texts, folded where they are long, and of numbers, to the right."""
    made = Table(
        title=title or None, title_justify="left", show_edge=False, pad_edge=False, show_header=headings
    )
    for column in texts:
        made.add_column(column, overflow="fold")
    for column in numbers:
        made.add_column(column, justify="right")
    return made


def item_table(*columns: str) -> Table:
    """An empty table whose rows hold texts: a line between rows, long cells folded."""
    table = Table(show_edge=False, pad_edge=False, show_lines=True)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


class _Output(Console):
    """A console that leaves it to the command line to end when nobody reads any more."""

    def on_broken_pipe(self) -> None:
        """Called where the error is handled: it goes on."""
        raise


def stdout() -> Console:
    """The console for results; wide enough for tables when it is not a terminal.

    A text is printed as it is: ":x:" in a claim is no emoji.
    """
    console = _Output(highlight=False, emoji=False)
    return console if console.is_terminal else _Output(highlight=False, emoji=False, width=160)
