"""Ratings by people, from a file.

Invariants: every cell is data, whatever it looks like; nobody rates a report twice; whatever is wrong with a file ends
in one line that names the file and the line. A rating without a score is missing: it is counted, and is no number.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

from local_judge.errors import InputError
from local_judge.runs.inputs import is_text, read_jsonl
from local_judge.stats.numeric import exact

COLUMNS = ("task", "system", "report", "annotator", "score")
"""Those that are read; a file may have others, in any order."""

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)


class Rating(NamedTuple):
    """One person's rating of one report, which is known by its id, or by its task and its system."""

    report: str | None
    task: str | None
    system: str | None
    annotator: str
    score: Fraction
    place: str
    """File and line, for messages."""

    @property
    def unit(self) -> tuple[str, ...]:
        """What was rated."""
        return (self.report,) if self.report is not None else (self.task or "", self.system or "")


class Ratings(NamedTuple):
    """The ratings of a file, in its order."""

    rows: tuple[Rating, ...]
    n_empty: int
    """Rows without a score."""
    by_report: bool
    """Whether reports are known by their ids."""


def load_ratings(path: Path) -> Ratings:
    """Ratings of a CSV file (`.csv`) or a JSONL file (any other name).

    Each row has `annotator`, `score`, and `report` (the report's id) or `task` and `system`; rows with `report` may
    have `task` and `system` too. A score is a number such as `7`, `7.5` or `1e-2`, or empty (JSON: null).

    Raises:
        InputError: the file cannot be read, or one of its rows.
    """
    rows: list[Rating] = []
    seen: dict[tuple[tuple[str, ...], str], str] = {}
    n_empty = 0
    cells = _csv(path) if path.suffix.lower() == ".csv" else _jsonl(path)
    by_report: bool | None = None
    for place, row in cells:
        rating = _rating(row, place)
        if by_report is None:
            by_report = rating.report is not None
        if by_report is not (rating.report is not None):
            raise InputError(f"{place}: some rows name a report, others a task and a system; name all alike")
        before = seen.setdefault((rating.unit, rating.annotator), place)
        if before != place:
            unit = " by ".join(map(repr, rating.unit))
            raise InputError(f"{place}: {rating.annotator!r} has rated {unit} already, in {before}")
        if not row.get("score"):
            n_empty += 1
        else:
            rows.append(rating)
    if not rows:
        raise InputError(f"{path}: no ratings in it")
    return Ratings(tuple(rows), n_empty, bool(by_report))


def _rating(row: Mapping[str, str], place: str) -> Rating:
    report, task, system, annotator = (
        row.get(key) or None for key in ("report", "task", "system", "annotator")
    )
    if annotator is None:
        raise InputError(f"{place}: a rating needs `annotator`")
    if report is None and (task is None or system is None):
        raise InputError(f"{place}: a rating needs `report`, or `task` and `system`")
    return Rating(report, task, system, annotator, _score(row.get("score", ""), place), place)


def _score(text: str, place: str) -> Fraction:
    """The number; 0 for an empty cell, whose row is not kept."""
    if not text:
        return Fraction(0)
    if len(text) > 40 or not _NUMBER.fullmatch(text) or not math.isfinite(float(text)):
        raise InputError(f"{place}: score {text[:40]!r} is not a number such as 7 or 7.5")
    return exact(float(text))


def _csv(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """`(place, cells by column)` of each row that is not empty."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 (byte {error.start})") from None
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    header: list[str] | None = None
    line = 1
    try:
        for cells in reader:
            place, line = f"{path}:{line}", reader.line_num + 1
            if not any(cell.strip() for cell in cells):
                continue
            if header is None:
                header = _header([cell.strip().lower() for cell in cells], place)
            elif len(cells) != len(header):
                raise InputError(f"{place}: {len(cells)} cells under {len(header)} columns")
            else:
                yield place, {name: cell.strip() for name, cell in zip(header, cells, strict=True)}
    except csv.Error as error:
        raise InputError(f"{path}:{reader.line_num}: not CSV ({error})") from None


def _header(names: list[str], place: str) -> list[str]:
    known = [name for name in names if name in COLUMNS]
    twice = next((name for name in known if known.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"{place}: column {twice!r} stands twice")
    if not {"annotator", "score"} <= {*known} or not ("report" in known or {"task", "system"} <= {*known}):
        listed = ", ".join(map(repr, names[:10]))
        raise InputError(
            f"{place}: needs columns annotator, score, and report or task and system; has {listed}"
        )
    return names


def _jsonl(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    for place, row in read_jsonl(path):
        yield place, {name: _text(row.get(name), name, place) for name in COLUMNS}


def _text(value: object, name: str, place: str) -> str:
    """A JSON value as it would stand in a CSV file."""
    if value is None:
        return ""
    if isinstance(value, str) and is_text(value):
        return value.strip()
    if isinstance(value, float) and name == "score":
        return repr(value)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**15:
        return str(value)
    raise InputError(f"{place}: {name} {str(value)[:40]!r} is neither a text nor an ordinary number")
