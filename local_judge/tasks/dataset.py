"""LiveResearchBench's dataset: one row for each item of a question's checklist, as JSONL or CSV.

Invariants: the rows of a question agree on it; its items stand in the order of the rows; a question's id is without the
prefix `qid_`, whether the file has it or not.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from local_judge.errors import InputError
from local_judge.rows import is_text, read_jsonl, read_text, row_id

PREFIX = "qid_"
COLUMNS = ("question", "checklist", "question_no_placeholder", "checklist_no_placeholder")
"""Beside `qid`. Those without `_no_placeholder` leave dates open (see `tasks.dates`)."""


class Form(NamedTuple):
    """A question in one of the two forms in which it is published."""

    request: str
    items: tuple[str, ...]


class Question(NamedTuple):
    """A question with its checklist."""

    place: str
    """Of its first row."""
    id: str
    open: Form
    """With placeholders for dates."""
    fixed: Form
    """With the dates of its publication."""

    def form(self, open_dates: bool) -> Form:
        """The form for a run that fills dates, or for one that does not."""
        return self.open if open_dates else self.fixed


def bare(identity: str) -> str:
    """A question's id without its prefix."""
    return identity.removeprefix(PREFIX)


def is_dataset(path: Path) -> bool:
    """Whether a file is a CSV file, or its first row has `qid` and no `id`. Raises InputError."""
    if path.suffix.lower() == ".csv":
        return True
    first = next((row for _, row in read_jsonl(path)), None)
    return first is not None and "qid" in first and "id" not in first


def read_questions(path: Path) -> list[Question]:
    """The questions of a dataset file, in the order of their first rows.

    A cell that is empty in one form is taken from the other.

    Raises:
        InputError: the file cannot be read, a row without `qid` or question, or rows of a question that disagree on it.
    """
    requests: dict[str, tuple[str, str, str]] = {}
    items: dict[str, list[tuple[str, str]]] = {}
    for place, row in _csv(path) if path.suffix.lower() == ".csv" else read_jsonl(path):
        identity = row_id({"id": row.get("qid")}, place)
        cells = {column: _cell(row, column, place) for column in COLUMNS}
        question = _either(cells["question"], cells["question_no_placeholder"])
        if not identity or not all(question):
            raise InputError(f"{place}: a row of the dataset needs `qid` and `question`")
        key = bare(identity)
        known = requests.setdefault(key, (place, *question))
        if known[1:] != question:
            raise InputError(f"{place}: question {key!r} reads otherwise than at {known[0]}")
        item = _either(cells["checklist"], cells["checklist_no_placeholder"])
        items.setdefault(key, []).extend([item] if all(item) else [])
    return [
        Question(
            place,
            key,
            Form(question, tuple(first for first, _ in items[key])),
            Form(fixed, tuple(second for _, second in items[key])),
        )
        for key, (place, question, fixed) in requests.items()
    ]


def _either(one: str, other: str) -> tuple[str, str]:
    return one or other, other or one


def _cell(row: dict[str, Any], column: str, place: str) -> str:
    value = row.get(column)
    if value is not None and not (isinstance(value, str) and is_text(value)):
        raise InputError(f"{place}: {column} is no text")
    return (value or "").strip()


def _csv(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    reader = csv.DictReader(io.StringIO(read_text(path)), strict=True)
    try:
        for row in reader:
            if None in row:
                raise InputError(f"{path}:{reader.line_num}: has more cells than columns")
            yield f"{path}:{reader.line_num}", row
    except csv.Error as error:
        raise InputError(f"{path}:{reader.line_num}: no CSV ({error})") from None
