"""Tables of measures: one row for each measure, one column for each subject.

Invariant: a measure that a subject does not have is a dash.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from rich.table import Table

from local_judge.base.output import NONE
from local_judge.terminal import plain_table, safe

T = TypeVar("T")
MeasureRows = Iterable[tuple[str, Callable[[T], str]]]
"""Names of measures, each with the text of its figure."""


def figure(value: float | None, form: str = ".3f") -> str:
    """Format a number, or a dash."""
    return NONE if value is None else format(value, form)


def add_measures(table: Table, rows: MeasureRows[T], subjects: Sequence[T | None]) -> None:
    """Add a row for each measure that some subject has; a subject of None has none."""
    for name, text in rows if any(one is not None for one in subjects) else ():
        table.add_row(name, *(NONE if one is None else text(one) for one in subjects))


def measures_table(title: str, rows: MeasureRows[T], subjects: dict[str, T | None]) -> Table:
    """Return a table of measures with a column for each named subject."""
    table = plain_table(title, [""], [safe(name) for name in subjects])
    add_measures(table, rows, list(subjects.values()))
    return table
