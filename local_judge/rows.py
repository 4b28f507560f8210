"""JSONL files of rows that people write: read with the place of each row, written whole.

Invariant: whatever is wrong with a file ends in one line that names the file and the line; a file that is written is
whole or as it was.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Collection, Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar, cast

from pydantic import BaseModel, ValidationError

from indexes.strict_json import strict_json
from local_judge.errors import InputError

M = TypeVar("M", bound=BaseModel)


def read_text(path: Path) -> str:
    """A text file that a person gave.

    Raises:
        InputError: it cannot be read or is not UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 (byte {error.start})") from None


def read_jsonl(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """`(place, row)` for each non-blank line.

    Raises:
        InputError: the file cannot be read, is not UTF-8, or has a line that is not a JSON object.
    """
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if not line.strip():
            continue
        place = f"{path}:{number}"
        try:
            row: object = strict_json(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{place}: not JSON ({error})") from None
        if not isinstance(row, dict):
            raise InputError(f"{place}: expected a JSON object")
        yield place, cast("dict[str, Any]", row)


def read_models(path: Path, model: type[M]) -> Iterator[tuple[str, M]]:
    """`(place, row)` for each non-blank line, as a model.

    Raises:
        InputError: as `read_jsonl`, or a row that the model refuses.
    """
    for place, row in read_jsonl(path):
        yield place, row_of(model, row, place)


def row_of(model: type[M], row: dict[str, Any], place: str) -> M:
    """A row as a model.

    Raises:
        InputError: the model refuses it; says `place`.
    """
    if not is_text(json.dumps(row, ensure_ascii=False)):
        raise InputError(f"{place}: holds half a character (a lone surrogate), which cannot be written")
    try:
        return model.model_validate_json(json.dumps(row))
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        if first["type"] == "extra_forbidden":
            raise InputError(f"{place}: unknown key {key!r}") from None
        raise InputError(f"{place}: {key}: {first['msg']}" if key else f"{place}: {first['msg']}") from None


def write_jsonl(path: Path, rows: Iterable[BaseModel]) -> None:
    """Write one JSON object a line, keys sorted; what was there stays until the new file is complete.

    Raises:
        InputError: it cannot be written.
    """
    write_lines(path, map(line_of, rows))


def line_of(row: BaseModel) -> str:
    """A row as one line of JSON, keys sorted."""
    return json.dumps(row.model_dump(mode="json"), ensure_ascii=False, sort_keys=True, allow_nan=False) + "\n"


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write lines; what was there stays until the new file is complete.

    Raises:
        InputError: it cannot be written.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with beside.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(lines)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror or error})") from None


@contextmanager
def alone(path: Path) -> Generator[None]:
    """Hold the lock of a file's folder: the file itself is replaced when it is written, and a lock on it with it.

    Raises:
        InputError: the folder cannot be made or opened.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror or error})") from None
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def row_id(row: dict[str, Any], place: str) -> str | None:
    """The `id` of a row, a text or a whole number; None where it has none.

    Raises:
        InputError: it is something else, or no text that can be written.
    """
    identity = row.get("id")
    if isinstance(identity, int) and not isinstance(identity, bool):
        return str(identity)
    if identity is not None and not (isinstance(identity, str) and is_text(identity)):
        raise InputError(f"{place}: id {identity!r} is neither a text nor a whole number")
    return identity


LONGEST_ATTRIBUTE = 100
"""Characters of an attribute's value: a longer text is no name of a group."""


def attributes_of(row: dict[str, Any], used: Collection[str]) -> tuple[tuple[str, str], ...]:
    """The values of a row by which results can be grouped, by name.

    Args:
        row: of a file of tasks, reports or attributes.
        used: keys that mean something else; `id` is always one.

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
    """A cell of a CSV file that no spreadsheet takes for a formula, without control characters; numbers as they are.

    A text that begins with `=`, `+`, `-`, `@`, a tab or a carriage return gets an apostrophe in front.
    """
    if not isinstance(value, str):
        return value
    mark = "'" if value.startswith(("=", "+", "-", "@", "\t", "\r")) else ""
    return mark + _CONTROL.sub(" ", value)


def is_text(text: str) -> bool:
    """Whether `text` can be written: JSON and file names may hold lone surrogates, UTF-8 none."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
