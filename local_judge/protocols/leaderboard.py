"""DeepResearch Bench's means of systems: text files that its scripts print, and leaderboards.

A leaderboard is a CSV file, or a table in a Markdown file, with one row per system.

Invariants: a column is read only under a name that is listed here; a cell without a number has no value; a text that
the CSV reader refuses is no table.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from local_judge.base.errors import InputError
from local_judge.base.rows import check_columns, read_text
from local_judge.protocols.file_formats import folder_system, printed_lines

COLUMNS = {
    "overall_score": ("overall_score", "overall", "race overall"),
    "comprehensiveness": ("comprehensiveness", "comp.", "race comp."),
    "insight": ("insight", "depth", "race depth", "race insight"),
    "instruction_following": ("instruction_following", "inst.", "race inst."),
    "readability": ("readability", "read.", "race read."),
    "citation_accuracy": ("citation_accuracy", "c. acc.", "fact c. acc."),
    "effective_citations": ("effective_citations", "e. cit.", "fact e. cit."),
}
"""Columns by the published names of their scores; RACE's scores and the accuracy are from 0 to 100."""

_COUNTS = ("citations", "effective_citations")
"""Scores that are no shares: they may be small in all rows, and above 100."""

NAMES = {alias: name for name, aliases in COLUMNS.items() for alias in aliases}
_RULE = re.compile(r"[|:\s-]+")


class Means(NamedTuple):
    """Means over the reports of one system."""

    case: str
    """Name of the system, or of the file if it names none."""
    system: str | None
    values: dict[str, float | None]
    """Means by score; None for a cell without a number."""
    percent: bool
    """True if shares are from 0 to 100, as in a leaderboard, and not from 0 to 1."""


def read_means(path: Path, kind: str, printed: Mapping[str, str]) -> Iterator[Means]:
    """Yield the means in a text file that a published script prints, or in a leaderboard.

    Args:
        path: the file.
        kind: folder of the project's results in which each system has a folder.
        printed: scores by their name in the text file, in lower case and with `_` for a blank.

    Raises:
        InputError: the file cannot be read or has another form; names the place and the fault.
    """
    if path.suffix != ".txt":
        yield from read_leaderboard(path, [id for id in printed.values() if id in COLUMNS])
        return
    lines = {name.lower().replace(" ", "_"): text for name, text in printed_lines(path).items()}
    if set(lines) != set(printed):
        raise InputError(f"{path}: expected one line for each of {', '.join(printed)}")
    values = {
        id: _number(lines[name], f"{path}: {name}", most=None if id in _COUNTS else 1)
        for name, id in printed.items()
    }
    if None in values.values():
        raise InputError(f"{path}: a line has no number")
    system = folder_system(path, kind)
    yield Means(system or path.stem, system, values, percent=False)


def columns(text: str) -> frozenset[str]:
    """Return the names of the scores in a leaderboard; none if the text has no such table."""
    header = next(iter(_tables(text)), None)
    return frozenset() if header is None else frozenset(_known_columns(header[0]))


def read_leaderboard(path: Path, names: Sequence[str]) -> list[Means]:
    """Return the rows of a leaderboard with the scores of these names.

    Raises:
        InputError: it cannot be read, has no such columns, names a system twice, has a cell that is no number, or has
            shares instead of scores from 0 to 100, or a score above 100.
    """
    table = next(
        (rows for rows in _tables(read_text(path)) if set(names) & set(_known_columns(rows[0]))), None
    )
    if table is None:
        raise InputError(f"{path}: no table with a column `model` and one of {', '.join(names)}")
    check_columns([_plain(cell) for cell in table[0]], str(path))
    places = {name: place for name, place in _known_columns(table[0]).items() if name in names}
    found: dict[str, Means] = {}
    at = _model(table[0]) or 0
    for cells in table[1:]:
        system = _plain(cells[at]) if at < len(cells) else ""
        if not any(_plain(cell) for place, cell in enumerate(cells) if place != at):
            continue  # a heading between rows
        if len(cells) != len(table[0]) or not system:
            raise InputError(f"{path}: row {system!r} has {len(cells)} cells instead of {len(table[0])}")
        if system in found:
            raise InputError(f"{path}: system {system!r} occurs twice")
        values = {
            name: _number(cells[place], f"{path}: {system}: {name}", most=None if name in _COUNTS else 100)
            for name, place in places.items()
        }
        found[system] = Means(system, system, values, percent=True)
    if not found:
        raise InputError(f"{path}: no rows in it")
    scores = [
        value for row in found.values() for name, value in row.values.items() if value and name not in _COUNTS
    ]
    if scores and max(scores) <= 1:
        raise InputError(f"{path}: no score above {max(scores):g}; a leaderboard has scores from 0 to 100")
    return list(found.values())


def _tables(text: str) -> Iterator[list[list[str]]]:
    """Yield the tables of a text whose header has a known column, each with its header first."""
    lines = [line.strip() for line in text.split("\n")]
    piped = any(line.startswith("|") for line in lines)
    try:
        rows = (
            [_cells(line) for line in lines] if piped else list(csv.reader(lines, delimiter=_delimiter(text)))
        )
    except csv.Error:  # such as a line of a JSON file, which is longer than a cell may be
        return
    table: list[list[str]] = []
    for row in [*rows, []]:
        if row:
            table.append(row)
            continue
        if table and _model(table[0]) is not None and _known_columns(table[0]):
            yield [cells for cells in table if not _RULE.fullmatch("|".join(cells))]
        table = []


def _delimiter(text: str) -> str:
    return ";" if text.count(";") > text.count(",") else ","


def _model(header: Sequence[str]) -> int | None:
    """Return the place of the column that names the systems."""
    return next((place for place, cell in enumerate(header) if _plain(cell).lower() == "model"), None)


def _cells(line: str) -> list[str]:
    return line.strip("|").split("|") if line.startswith("|") else []


def _known_columns(header: Sequence[str]) -> dict[str, int]:
    plain = [_plain(cell).lower() for cell in header]
    return {NAMES[name]: place for place, name in enumerate(plain) if name in NAMES}


def _plain(cell: str) -> str:
    return cell.replace("*", "").strip()


def _number(cell: str, place: str, most: float | None) -> float | None:
    text = _plain(cell)
    if text in ("", "-", "–", "—", "N/A"):
        return None
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not 0 <= value < float("inf"):
        raise InputError(f"{place}: {text[:40]!r} is not a number of at least 0")
    if most is not None and value > most:
        raise InputError(f"{place}: {value:g} is above {most:g}")
    return value
