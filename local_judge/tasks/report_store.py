"""Reports in LiveResearchBench's layout: a folder for each system, an index of several, a batch of indexes.

    <base>/<system>/qid_<id>_report.md     the report store
    reports_<time>.json                    an index: `metadata`, and `reports` of `model_name`, `query_id`, `query`,
                                           `report_file_path`
    batch.yaml                             `input_files`: indexes; `criteria`: metrics. Nothing else in it is read

Invariants: systems come in the order of their names and reports in that of their files, those of an index in its own;
an id has no `qid_` before it; a report that an index has twice is there once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from local_judge.errors import InputError, brief
from local_judge.rows import is_text, read_text
from serving.strict_yaml import load_yaml

_REPORT = re.compile(r"qid_(?P<id>.+)_report\.md", re.DOTALL)
PREFIX = "qid_"
BATCH_SUFFIXES = (".yaml", ".yml")


class StoredReport(NamedTuple):
    """One report; its bytes are not read here."""

    system: str
    task_id: str
    path: Path
    query: str | None = None
    """The request, where an index has it."""
    place: str = ""
    """Where an index has it, for messages; the file itself where there is none."""


class Batch(NamedTuple):
    """What a batch file says."""

    indexes: tuple[Path, ...]
    criteria: tuple[str, ...]
    """Names of metrics; none where the file says none."""


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True)

    model_name: str = Field(min_length=1)
    query_id: str = Field(min_length=1)
    query: str
    report_file_path: str = Field(min_length=1)


_ROWS = TypeAdapter(list[_Row])


def is_report_store(path: Path) -> bool:
    """Whether a folder is a report store, or one system's folder of it."""
    return path.is_dir() and (
        _holds(path) or any(_holds(inner) for inner in path.iterdir() if inner.is_dir())
    )


def _holds(folder: Path) -> bool:
    """Whether a folder has a report of a store in it; what cannot be looked into has none."""
    try:
        return any(_REPORT.fullmatch(file.name) for file in folder.iterdir())
    except OSError:
        return False


def stored_report(path: Path) -> StoredReport | None:
    """The report that a file of a store is, by its name; its folder's is that of the system. None for other files."""
    found = _REPORT.fullmatch(path.name)
    if found is None or not is_text(path.name):
        return None
    return StoredReport(path.absolute().parent.name, found["id"], path, place=str(path))


def stored_reports(path: Path) -> Iterator[StoredReport]:
    """The reports of a store, or of one system's folder of it; other files are passed over.

    Raises:
        InputError: a folder in it cannot be read.
    """
    own = list(_of_system(path))
    if own:
        yield from own
        return
    for folder in sorted(path.iterdir()):
        if folder.is_dir():
            yield from _of_system(folder)


def _of_system(folder: Path) -> Iterator[StoredReport]:
    try:
        files = sorted(folder.iterdir())
    except OSError as error:
        raise InputError(f"{folder}: {error.strerror or error}") from None
    for file in files:
        found = stored_report(file)
        if found is not None and file.is_file():
            yield found


def read_index(path: Path) -> list[StoredReport] | None:
    """The reports of an index, each system's report on a task once; None where the file is no index.

    A file path is read from the working folder, as it was written, or else from the index's own.

    Raises:
        InputError: a row is incomplete, names no file, or gives another file than an earlier one of the same report.
    """
    try:
        data: object = json.loads(read_text(path))
    except (ValueError, RecursionError):
        return None
    rows = cast("dict[str, Any]", data).get("reports") if isinstance(data, dict) else None
    if not isinstance(rows, list):
        return None
    found: dict[tuple[str, str], StoredReport] = {}
    for number, row in enumerate(_rows(path, cast("list[object]", rows))):
        place = f"{path}: reports[{number}]"
        key = (row.model_name, row.query_id.removeprefix(PREFIX))
        report = StoredReport(*key, _file(path, row.report_file_path, place), row.query, place)
        first = found.setdefault(key, report)
        if first.path != report.path:
            raise InputError(f"{place}: {key[0]}, {key[1]} has another file than at {first.place}")
    return list(found.values())


def _rows(path: Path, rows: Sequence[object]) -> list[_Row]:
    try:
        return _ROWS.validate_python(rows)
    except ValidationError as error:
        first = error.errors()[0]
        number, *key = first["loc"]
        where = ".".join(map(str, key))
        raise InputError(
            f"{path}: reports[{number}]: {where or 'the row'}: {first['msg']} (got {brief(first['input'])})"
        ) from None


def _file(index: Path, name: str, place: str) -> Path:
    given = Path(name)
    for candidate in (given, index.parent / given):
        try:
            if candidate.is_file():
                return candidate
        except OSError as error:  # a name too long for any file, or a folder that may not be looked into
            raise InputError(f"{place}: no file {brief(name)}: {error.strerror or error}") from None
    raise InputError(f"{place}: no file {name!r}, neither here nor beside the index")


def read_batch(path: Path) -> Batch:
    """A batch file. Files in it are read from the working folder, or else from the batch file's own.

    Raises:
        InputError: it is no mapping, or has no list of files.
    """
    try:
        data: object = load_yaml(read_text(path))
    except ValueError as error:
        raise InputError(f"{path}: {' '.join(str(error).split())}") from None
    found = cast("dict[str, object]", data) if isinstance(data, dict) else {}
    names = _texts(path, found, "input_files")
    if not names:
        raise InputError(f"{path}: no batch of LiveResearchBench (needs input_files)")
    files = tuple(_file(path, name, f"{path}: input_files") for name in names)
    return Batch(files, _texts(path, found, "criteria"))


def batched_reports(path: Path) -> Iterator[StoredReport]:
    """The reports of all indexes of a batch file.

    Raises:
        InputError: the file or one of its indexes is none.
    """
    for index in read_batch(path).indexes:
        reports = read_index(index)
        if reports is None:
            raise InputError(f"{index}: no index of reports (named in {path})")
        yield from reports


def _texts(path: Path, found: dict[str, object], key: str) -> tuple[str, ...]:
    value = found.get(key) or list[object]()
    listed = cast("list[object]", value) if isinstance(value, list) else [value]
    texts = [item for item in listed if isinstance(item, str)]
    if len(texts) < len(listed):
        raise InputError(f"{path}: {key} is no list of texts (got {brief(found[key])})")
    return tuple(texts)
