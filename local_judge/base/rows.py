"""Text and JSONL files that people write, and atomic replacement of such files.

Invariant: every problem of a file is reported in one line with the file and the line number; a file is written
completely or keeps its old content.
"""

from __future__ import annotations

import csv
import fcntl
import io
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

from pydantic import BaseModel, ValidationError

from local_judge.base.errors import InputError, first_problem, not_json, os_errors
from local_judge.base.files import read_utf8, replacing
from local_judge.base.strict_json import strict_json

M = TypeVar("M", bound=BaseModel)


def read_text(path: Path) -> str:
    """Read a UTF-8 text file, with or without a byte order mark.

    Raises:
        InputError: it cannot be read or is not UTF-8.
    """
    try:
        with os_errors(InputError, f"{path}: cannot be read"):
            return read_utf8(path)
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 (byte {error.start})") from None


def parse_object(text: str, place: str) -> dict[str, Any]:
    """Parse a JSON object.

    Raises:
        InputError: the text is not JSON, or not an object; names `place`.
    """
    try:
        found: object = strict_json(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{place}: {not_json(error)}") from None
    return object_of(found, place)


def object_of(value: object, place: str) -> dict[str, Any]:
    """Return a value of a JSON file that has to be an object.

    Raises:
        InputError: it is none; names `place`.
    """
    if not isinstance(value, dict):
        raise InputError(f"{place}: expected a JSON object")
    return cast("dict[str, Any]", value)


def read_jsonl(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield `(place, row)` for each non-blank line.

    Raises:
        InputError: the file cannot be read, is not UTF-8, or has a line that is not a JSON object.
    """
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if line.strip():
            place = f"{path}:{number}"
            yield place, parse_object(line, place)


def read_csv(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield `(place, cells by column)` for each row of a CSV file that is not empty; missing cells are empty.

    Raises:
        InputError: the file cannot be read, is not UTF-8 or not CSV, two columns have the same name, or a row has more
            cells than there are columns.
    """
    lines = _csv_lines(path)
    top, header = next(lines, (str(path), list[str]()))
    check_columns(header, top)
    for place, cells in lines:
        if len(cells) > len(header):
            raise InputError(f"{place}: {len(cells)} cells under {len(header)} columns")
        yield place, dict(zip(header, [*cells, *[""] * (len(header) - len(cells))], strict=True))


def _csv_lines(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield place and cells of each line of a CSV file that is not empty."""
    text = read_text(path)
    limit = csv.field_size_limit(max(csv.field_size_limit(), len(text)))  # a cell may hold a page
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    line = 1
    try:
        for cells in reader:
            place, line = f"{path}:{line}", reader.line_num + 1
            if any(cell.strip() for cell in cells):
                yield place, cells
    except csv.Error as error:
        raise InputError(f"{path}:{reader.line_num}: not CSV ({error})") from None
    finally:
        csv.field_size_limit(limit)


def check_columns(header: Sequence[str], place: str) -> None:
    """Check that no two columns of a table have the same name, but for case and white space.

    Raises:
        InputError: Two have; names `place`.
    """
    names = Counter(name.strip().lower() for name in header if name.strip())
    if twice := next((name for name, times in names.items() if times > 1), None):
        raise InputError(f"{place}: two columns are named {twice!r}; remove or rename one")


class Cells(NamedTuple):
    """Rows of texts by column, from a table or from JSON objects."""

    is_table: bool
    """Flag: the columns are those of a header, which all rows share."""
    place: str
    """Place of the header or of the first row, for messages."""
    names: tuple[str, ...]
    """Columns of the header, or keys of the first row."""
    rows: tuple[tuple[str, dict[str, str]], ...]
    """Place and cells of each row that is not empty; a missing cell is an empty text."""


def read_cells(path: Path, columns: Collection[str], numbers: Collection[str] = ()) -> Cells:
    """Read a CSV file (`.csv`) or a JSONL file (any other name), in which every cell is text.

    Args:
        path: the file.
        columns: columns that are read; a file may have others, in any order.
        numbers: columns in which JSON numbers may have a fraction.

    Raises:
        InputError: the file cannot be read, is not CSV or JSONL, has a column twice or another number of cells in a
            row, or a JSON value is neither a text nor an ordinary number.
    """
    if path.suffix.lower() == ".csv":
        return _table(path)
    given = list(read_jsonl(path))
    rows = tuple(
        (place, {name: _cell(row.get(name), name, name in numbers, place) for name in columns})
        for place, row in given
    )
    place, first = given[0] if given else (str(path), {})
    return Cells(False, place, tuple(first), rows)


def _table(path: Path) -> Cells:
    lines = _csv_lines(path)
    top, cells = next(lines, (str(path), list[str]()))
    header = tuple(cell.strip().lower() for cell in cells)
    check_columns(header, top)
    rows: list[tuple[str, dict[str, str]]] = []
    for place, cells in lines:
        if len(cells) != len(header):
            raise InputError(f"{place}: {len(cells)} cells under {len(header)} columns")
        rows.append((place, {name: cell.strip() for name, cell in zip(header, cells, strict=True)}))
    return Cells(True, top, header, tuple(rows))


def _cell(value: object, name: str, is_number: bool, place: str) -> str:
    """Return a JSON value as the text of a CSV cell."""
    if value is None:
        return ""
    if isinstance(value, str) and is_text(value):
        return value.strip()
    if isinstance(value, float) and is_number:
        return repr(value)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**15:
        return str(value)
    raise InputError(f"{place}: {name} {str(value)[:40]!r} is neither a text nor an ordinary number")


def read_models(path: Path, model: type[M]) -> Iterator[tuple[str, M]]:
    """Yield `(place, row)` for each non-blank line, with the row as a model.

    Raises:
        InputError: as `read_jsonl`, or a row does not fit the model.
    """
    for place, row in read_jsonl(path):
        yield place, row_of(model, row, place)


def row_of(model: type[M], row: dict[str, Any], place: str) -> M:
    """Return a row as a model.

    Raises:
        InputError: the row does not fit the model; names `place`.
    """
    if not is_text(json.dumps(row, ensure_ascii=False)):
        raise InputError(f"{place}: contains a lone surrogate, which cannot be written as UTF-8")
    try:
        return model.model_validate_json(json.dumps(row))
    except ValidationError as error:
        raise InputError(f"{place}: {first_problem(error, 'the row', model)}") from None


def write_jsonl(path: Path, rows: Iterable[BaseModel]) -> None:
    """Replace a file by one JSON object per line, with sorted keys.

    Raises:
        InputError: it cannot be written.
    """
    write_lines(path, map(line_of, rows))


def line_of(row: BaseModel) -> str:
    """Return a row as one line of JSON with sorted keys."""
    return json.dumps(row.model_dump(mode="json"), ensure_ascii=False, sort_keys=True, allow_nan=False) + "\n"


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Replace a file; its old content stays until the new file is complete.

    Raises:
        InputError: it cannot be written.
    """
    with os_errors(InputError, f"{path}: cannot be written"), replacing(path) as file:
        file.writelines(line.encode() for line in lines)


@contextmanager
def alone(path: Path) -> Generator[None]:
    """Hold an exclusive lock for writing a file.

    The lock is on the file's folder, because the file itself is replaced, and a lock on it would go with it.

    Raises:
        InputError: the folder cannot be made or opened.
    """
    with os_errors(InputError, f"{path}: cannot be written"):
        path.parent.mkdir(parents=True, exist_ok=True)
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def row_id(row: dict[str, Any], place: str, key: str = "id") -> str | None:
    """Return the `id` of a row, a text or a whole number, as text; None if the row has none.

    Args:
        row: from a file.
        place: file and line of the row.
        key: name of the id in the row.

    Raises:
        InputError: the id has another type, or cannot be written as UTF-8.
    """
    identity = row.get(key)
    if isinstance(identity, int) and not isinstance(identity, bool):
        return str(identity)
    if identity is not None and not (isinstance(identity, str) and is_text(identity)):
        raise InputError(f"{place}: {key} {identity!r} must be a text or a whole number")
    return identity


def number_in(
    value: object, low: float = -sys.float_info.max, high: float = sys.float_info.max
) -> float | None:
    """Return a number of a JSON file as a float; None for another value, and for a number outside of two finite bounds.

    Without bounds, NaN, infinity and integers that no float can hold are left out.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        return None
    return float(value)


def optional_text(row: dict[str, Any], key: str, place: str) -> str | None:
    """Return a text of a row; None if the row has none.

    Raises:
        InputError: the value is not a text, or cannot be written as UTF-8.
    """
    value = row.get(key)
    if value is None or (isinstance(value, str) and is_text(value)):
        return value
    raise InputError(f"{place}: `{key}` must be a text (got {value!r})")


def first_text(row: dict[str, Any], keys: Iterable[str]) -> str | None:
    """Return the text under the first of `keys` that holds one; None if none does."""
    return next((row[key] for key in keys if isinstance(row.get(key), str)), None)


LONGEST_ATTRIBUTE = 100
"""Maximum number of characters of an attribute's value; a longer text does not name a group."""


def attributes_of(row: dict[str, Any], used: Collection[str]) -> tuple[tuple[str, str], ...]:
    """Return the values of a row by which results can be grouped, with their names.

    Args:
        row: from a file of tasks, reports or attributes.
        used: keys with another meaning; `id` is always one.

    Returns:
        Whole numbers, and texts of one line and at most `LONGEST_ATTRIBUTE` characters; sorted by name.
    """
    found: list[tuple[str, str]] = []
    for name, value in sorted(row.items()):
        if name == "id" or name in used or isinstance(value, bool) or not isinstance(value, str | int):
            continue
        text = str(value).strip()
        if is_text(name + text) and 0 < len(text) <= LONGEST_ATTRIBUTE and len(text.splitlines()) == 1:
            found.append((name, text))
    return tuple(found)


Cell = TypeVar("Cell")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def harmless_cell(value: Cell) -> Cell | str:
    """Return a CSV cell that no spreadsheet reads as a formula, without control characters; numbers stay as they are.

    A text that begins with `=`, `+`, `-`, `@`, a tab or a carriage return gets an apostrophe in front.
    """
    if not isinstance(value, str):
        return value
    mark = "'" if value.startswith(("=", "+", "-", "@", "\t", "\r")) else ""
    return mark + _CONTROL.sub(" ", value)


def is_text(text: str) -> bool:
    """Check whether `text` can be written as UTF-8: JSON and file names may contain lone surrogates."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
