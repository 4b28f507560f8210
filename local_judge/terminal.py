"""Helpers shared by all terminal output.

Invariant: text from a report, a page or a judge is printed as plain text, with rich markup escaped and control
characters removed.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from local_judge.errors import plain

QUIET = "LOCAL_JUDGE_QUIET"
"""Environment variable that `--quiet` sets."""

NONE = "–"
"""Text printed for a missing number, which is never shown as zero."""


def safe(text: str, limit: int | None = None) -> str:
    """Return untrusted text for the terminal: no control characters, no markup, at most `limit` characters."""
    shown = plain(text)
    if limit is not None and len(shown) > limit:
        shown = shown[: limit - 1] + "…"
    return escape(shown)


def count(number: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun: `1 claim`, `2 claims`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def plain_table(
    title: str = "", texts: Sequence[str] = (), numbers: Sequence[str] = (), *, headings: bool = True
) -> Table:
    """Return an empty table with columns of texts, folded where they are long, and right-aligned columns of numbers."""
    made = Table(
        title=title or None, title_justify="left", show_edge=False, pad_edge=False, show_header=headings
    )
    for column in texts:
        made.add_column(column, overflow="fold")
    for column in numbers:
        made.add_column(column, justify="right", overflow="fold")
    return made


def item_table(*columns: str) -> Table:
    """Return an empty table of texts, with a line between rows and long cells folded."""
    table = Table(show_edge=False, pad_edge=False, show_lines=True)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


class _Output(Console):
    """Console that lets the command line handle a closed pipe."""

    def on_broken_pipe(self) -> None:
        """Re-raise the error; rich calls this where it handles one."""
        raise


def is_quiet() -> bool:
    """Check whether `--quiet` leaves out progress and summaries on standard error."""
    return QUIET in os.environ


def stdout() -> Console:
    """Return the console for results, wide enough for tables if the output is not a terminal.

    Text is printed unchanged: ":x:" in a claim does not become an emoji.
    """
    console = _Output(highlight=False, emoji=False)
    return console if console.is_terminal else _Output(highlight=False, emoji=False, width=160)
