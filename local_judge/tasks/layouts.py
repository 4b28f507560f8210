"""Reports in the files and folders of published projects.

DEER: one folder per task, named by a whole number.

    <root>/<id>/query.md            the request
    <root>/<id>/core_criteria.md    the expert's guidance; optional
    <root>/<id>/<system>_<id>.md    a report; any number of systems

LiveResearchBench: a folder per system, an index of reports, or a batch of indexes.

    <base>/<system>/qid_<id>_report.md     the report store
    reports_<time>.json                    an index: `metadata`, and `reports` of `model_name`, `query_id`, `query`,
                                           `report_file_path`
    batch.yaml                             `input_files`: indexes; `criteria`: metrics; other keys are ignored

DeepResearchEval: a folder per system, a JSON file per report.

    <base>/<system>/deep_research_<id>_<time>.json    or <id>.json
        entries[0]: response, the report; query, the request; the task's id under query_id or in the file's name
    a file with only response and query (or user_query) is read too

Invariants: reports are in the order of their systems' names and tasks' ids, DEER's by task first, those of an index in
its own order; ids have no `qid_` prefix; a report listed twice in an index is returned once; nothing outside a DEER
root is read, wherever a link leads.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from local_judge.base.errors import InputError, brief, first_problem, os_errors
from local_judge.base.files import read_file
from local_judge.base.rows import is_text, read_text, row_id
from local_judge.base.strict_json import strict_json
from local_judge.base.strict_yaml import load_yaml
from local_judge.documents import Source
from local_judge.documents.kinds import REPORT_SUFFIXES
from local_judge.tasks.model import Guidance, Task


class FoundReport(NamedTuple):
    """One report of a published project."""

    id: str
    task_id: str
    system: str | None
    """Agent that wrote it, if the layout shows it."""
    path: Path
    place: str
    """File, or entry of an index, for messages."""
    query: str | None = None
    """Request, if it comes with the report."""
    text: str | None = None
    """Report, if it is part of a JSON file; otherwise the file itself is the report."""
    task: Task | None = None
    """Task, if its folder has one."""
    sources: tuple[Source, ...] = ()
    """Sources that accompany the text."""


def published_reports(path: Path) -> Iterator[FoundReport] | None:
    """Return the reports of a file or folder in a published project's layout; None for other files and folders.

    Raises:
        InputError: a file or folder of such a layout is invalid or cannot be read.
    """
    root = task_folder_of(path)
    if root is not None:
        return _of_task_folder(path, root)
    if path.is_dir():
        if is_deer_folder(path):
            return (report for folder in deer_folder(path) for report in folder.reports)
        return (
            stored_reports(path)
            if is_report_store(path)
            else method_reports(path)
            if is_method_folder(path)
            else None
        )
    if path.suffix.lower() == ".json":
        indexed = read_index(path)
        return iter([method_report(path)] if indexed is None else indexed)
    if path.suffix.lower() in BATCH_SUFFIXES:
        return batched_reports(path)
    stored = stored_report(path)
    return None if stored is None else iter([stored])


def _any_holds(path: Path, holds: Callable[[Path], bool]) -> bool:
    """Check whether a folder, or a folder in it, holds reports of a layout."""
    return path.is_dir() and (holds(path) or any(holds(inner) for inner in path.iterdir() if inner.is_dir()))


# DEER

QUERY, CRITERIA = "query.md", "core_criteria.md"

MAX_BYTES = 4 << 20
"""Size limit of a request or a guidance."""

_NUMBER = re.compile(r"[0-9]+")
_DEER_REPORT = re.compile(r"(?P<system>.+)_(?P<number>[0-9]+)\.md", re.DOTALL)


class TaskFolder(NamedTuple):
    """One task of DEER with its reports."""

    id: str
    """Number of the folder, without leading zeros."""
    task: Task | None
    """None without a request."""
    reports: tuple[FoundReport, ...]


def task_folder_of(path: Path) -> Path | None:
    """Return the DEER root of a task's folder or of a report in it; None for other paths."""
    folder = path if path.is_dir() else path.parent
    folder = folder.absolute()
    return folder.parent if _NUMBER.fullmatch(folder.name) and (folder / QUERY).is_file() else None


def is_deer_folder(path: Path) -> bool:
    """Check whether `path` is a folder of numbered folders, at least one with a request or a report."""
    if not path.is_dir():
        return False
    return any(
        (folder / QUERY).exists() or any(_report_number(file.name) == number for file in folder.iterdir())
        for number, folder in _numbered(path)
    )


def deer_folder(root: Path) -> Iterator[TaskFolder]:
    """Yield the numbered folders of `root` in order; other entries are ignored.

    Raises:
        InputError: two folders have one number, or two reports one system and number; a link leads out of `root`; or a
            request or guidance is not a file, not UTF-8 or longer than `MAX_BYTES`.
    """
    bounds = root.resolve()
    seen: dict[int, Path] = {}
    for number, folder in _numbered(root):
        if number in seen:
            raise InputError(f"{folder}: task {number} has two folders; the other is {seen[number].name}")
        seen[number] = folder
        _check_inside(folder, bounds)
        query = _short_text(folder / QUERY, bounds)
        criteria = _short_text(folder / CRITERIA, bounds)
        guidance = Guidance(text=criteria) if criteria else None
        task = Task(id=str(number), prompt=query, guidance=guidance) if query else None
        yield TaskFolder(str(number), task, _deer_reports(folder, number, task, bounds))


def _of_task_folder(path: Path, root: Path) -> Iterator[FoundReport]:
    """Yield the reports of one task's folder, or the one report at `path`."""
    found = [
        report
        for folder in deer_folder(root)
        for report in folder.reports
        if report.path.is_relative_to(path.absolute())
    ]
    if not found:
        raise InputError(f"{path}: contains no report of its task; name the file SYSTEM_ID.md, as DEER does")
    yield from found


def _numbered(root: Path) -> list[tuple[int, Path]]:
    with os_errors(InputError, f"{root}: cannot be read"):
        entries = [entry for entry in root.iterdir() if _NUMBER.fullmatch(entry.name) and entry.is_dir()]
    return sorted((int(entry.name), entry) for entry in entries)


def _report_number(name: str) -> int | None:
    match = _DEER_REPORT.fullmatch(name)
    return int(match["number"]) if match else None


def _deer_reports(folder: Path, number: int, task: Task | None, bounds: Path) -> tuple[FoundReport, ...]:
    """Return the reports of one folder in the order of their systems."""
    found: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        match = _DEER_REPORT.fullmatch(path.name)
        if match is None or not path.is_file() or int(match["number"]) != number:
            continue
        system = match["system"]
        if not is_text(system):
            raise InputError(f"{path!r}: the file's name is not UTF-8; rename it")
        if system in found:
            raise InputError(
                f"{path}: a second report of system {system!r}; the other is {found[system].name}"
            )
        _check_inside(path, bounds)
        found[system] = path
    return tuple(
        FoundReport(path.stem, str(number), system, path, str(path), task=task)
        for system, path in sorted(found.items())
    )


def _check_inside(path: Path, bounds: Path) -> None:
    """Refuse a path that a link leads out of the root."""
    try:
        real = path.resolve()
    except (OSError, RuntimeError) as error:
        raise InputError(f"{path}: {error}") from None
    if not real.is_relative_to(bounds):
        raise InputError(f"{path}: leads out of {bounds}, to {real}; copy the file instead")


def _short_text(path: Path, bounds: Path) -> str | None:
    """Return the text of a file without surrounding white space; None for a missing file."""
    if not path.exists():
        if path.is_symlink():
            raise InputError(f"{path}: a link that leads nowhere")
        return None
    _check_inside(path, bounds)
    if not path.is_file():
        raise InputError(f"{path}: not a file")
    if path.stat().st_size > MAX_BYTES:
        raise InputError(f"{path}: longer than {MAX_BYTES:,} bytes, too long for a request or guidance")
    return read_text(path).strip()


# LiveResearchBench

PREFIX = "qid_"
BATCH_SUFFIXES = (".yaml", ".yml")
_STORED = re.compile(r"qid_(?P<id>.+)_report\.md", re.DOTALL)


class Batch(NamedTuple):
    """Content of a batch file."""

    indexes: tuple[Path, ...]
    criteria: tuple[str, ...]
    """Names of metrics; may be empty."""


class _IndexRow(BaseModel):
    model_config = ConfigDict(frozen=True)

    model_name: str = Field(min_length=1)
    query_id: str = Field(min_length=1)
    query: str
    report_file_path: str = Field(min_length=1)


_INDEX_ROWS = TypeAdapter(list[_IndexRow])


def is_report_store(path: Path) -> bool:
    """Check whether a folder is a report store, or one system's folder of it."""
    return _any_holds(path, _holds_stored)


def _holds_stored(folder: Path) -> bool:
    try:
        return any(_STORED.fullmatch(file.name) for file in folder.iterdir())
    except OSError:  # a folder that cannot be read counts as empty
        return False


def stored_report(path: Path) -> FoundReport | None:
    """Return the report that a file of a store is by its name, and its folder's name as the system; None for others."""
    found = _STORED.fullmatch(path.name)
    if found is None or not is_text(path.name):
        return None
    system = path.absolute().parent.name
    return FoundReport(f"{system}/{found['id']}", found["id"], system, path, str(path))


def stored_reports(path: Path) -> Iterator[FoundReport]:
    """Yield the reports of a store, or of one system's folder of it; other files are ignored.

    Raises:
        InputError: a folder cannot be read.
    """
    own = list(_of_system(path))
    yield from own
    if not own:
        for folder in sorted(path.iterdir()):
            if folder.is_dir():
                yield from _of_system(folder)


def _of_system(folder: Path) -> Iterator[FoundReport]:
    with os_errors(InputError, f"{folder}: cannot be read"):
        files = sorted(folder.iterdir())
    for file in files:
        found = stored_report(file)
        if found is not None and file.is_file():
            yield found


def read_index(path: Path) -> list[FoundReport] | None:
    """Return the reports of an index, each system's report on a task once; None if the file is not an index.

    A file path is relative to the working folder or, if there is no such file, to the index's folder.

    Raises:
        InputError: a row is incomplete, names a missing file, or names another file for a report that is listed before.
    """
    try:
        data: object = json.loads(read_text(path))
    except (ValueError, RecursionError):
        return None
    rows = cast("dict[str, Any]", data).get("reports") if isinstance(data, dict) else None
    if not isinstance(rows, list):
        return None
    found: dict[str, FoundReport] = {}
    for number, row in enumerate(_index_rows(path, cast("list[object]", rows))):
        place = f"{path}: reports[{number}]"
        task_id = row.query_id.removeprefix(PREFIX)
        file = _named_file(path, row.report_file_path, place)
        key = f"{row.model_name}/{task_id}"
        report = FoundReport(key, task_id, row.model_name, file, place, query=row.query)
        first = found.setdefault(key, report)
        if first.path != report.path:
            raise InputError(f"{place}: {row.model_name}, {task_id} has another file than at {first.place}")
    return list(found.values())


def _index_rows(path: Path, rows: Sequence[object]) -> list[_IndexRow]:
    try:
        return _INDEX_ROWS.validate_python(rows)
    except ValidationError as error:
        raise InputError(f"{path}: {first_problem(error, below='reports')}") from None


def _named_file(index: Path, name: str, place: str) -> Path:
    given = Path(name)
    for candidate in (given, index.parent / given):
        with os_errors(InputError, f"{place}: no file {brief(name)}"):  # such as a name that is too long
            if candidate.is_file():
                return candidate
    raise InputError(f"{place}: no file {name!r}, neither here nor beside the index")


def read_batch(path: Path) -> Batch:
    """Read a batch file; its file paths are relative to the working folder, else to the batch file's folder.

    Raises:
        InputError: the file is not a mapping, or has no list of files.
    """
    try:
        data: object = load_yaml(read_text(path))
    except ValueError as error:
        raise InputError(f"{path}: {' '.join(str(error).split())}") from None
    found = cast("dict[str, object]", data) if isinstance(data, dict) else {}
    names = _texts(path, found, "input_files")
    if not names:
        raise InputError(f"{path}: not a batch file of LiveResearchBench (needs input_files)")
    files = tuple(_named_file(path, name, f"{path}: input_files") for name in names)
    return Batch(files, _texts(path, found, "criteria"))


def batched_reports(path: Path) -> Iterator[FoundReport]:
    """Yield the reports of all indexes of a batch file.

    Raises:
        InputError: the batch file or one of its indexes is invalid.
    """
    for index in read_batch(path).indexes:
        reports = read_index(index)
        if reports is None:
            raise InputError(f"{index}: not an index of reports (named in {path})")
        yield from reports


def _texts(path: Path, found: dict[str, object], key: str) -> tuple[str, ...]:
    value = found.get(key) or list[object]()
    listed = cast("list[object]", value) if isinstance(value, list) else [value]
    texts = [item for item in listed if isinstance(item, str)]
    if len(texts) < len(listed):
        raise InputError(f"{path}: {key} must be a list of texts (got {brief(found[key])})")
    return tuple(texts)


# DeepResearchEval

_METHOD = re.compile(r"(?:deep_research_(?P<task>\d+)_.*|(?P<plain>\d+))\.json", re.DOTALL)
SOURCES = "deep_research_sources"
"""Field with the sources of a response, as links in Markdown: first those that its numbers refer to, in their order."""
_ONLY_READ = "Sources read but not used"
_LINK = re.compile(r"\]\((https?://[^\s\[\]]{1,4096})\)")
_NUMBERED_LINK = re.compile(r"\[(\d{1,4})\]\((https?://[^\s\[\]]{1,4096})\)")
BASE = "method_results"
"""Name of the folder of all systems in the published project."""


def is_method_folder(path: Path) -> bool:
    """Check whether a folder has JSON files of systems, or of one system, and no report of another form."""
    return _any_holds(path, _holds_method)


def _holds_method(folder: Path) -> bool:
    try:
        files = [file for file in folder.iterdir() if file.is_file()]
    except OSError:  # a folder that cannot be read counts as empty
        return False
    return any(_METHOD.fullmatch(file.name) for file in files) and not any(
        file.suffix.lower() in REPORT_SUFFIXES for file in files
    )


def method_reports(path: Path) -> Iterator[FoundReport]:
    """Yield the reports of a folder of systems, or of one system's; other files are ignored.

    Raises:
        InputError: a file is not such a report.
    """
    folders = [path] if _holds_method(path) else [one for one in sorted(path.iterdir()) if _holds_method(one)]
    for folder in folders:
        found = [method_report(file) for file in folder.iterdir() if _METHOD.fullmatch(file.name)]
        system = folder.absolute().name
        for report in sorted(found, key=lambda one: (len(one.task_id), one.task_id, one.path.name)):
            yield report._replace(id=f"{system}/{report.task_id}", system=system)


def method_report(path: Path) -> FoundReport:
    """Return the report of one file.

    Raises:
        InputError: it cannot be read, is not such a report, or its name and its `query_id` give different ids.
    """
    named = _METHOD.fullmatch(path.name)
    by_name = (named["task"] or named["plain"]) if named else None
    try:
        data: Any = strict_json(read_file(path))
        identity = row_id(data, str(path), "query_id") or by_name
        entry = cast("dict[str, Any]", data["entries"][0] if "entries" in data else data)
        query = entry.get("query", entry.get("user_query"))
        response = entry["response"]
        if identity is None or not isinstance(query, str) or not isinstance(response, str):
            raise TypeError
    except (OSError, ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        raise InputError(
            f"{path}: not a report of DeepResearchEval (needs query_id and entries[0].response), nor a list of reports"
        ) from None
    if by_name is not None and identity != by_name:
        raise InputError(f"{path}: its query_id is {identity!r}, and its name says {by_name!r}; correct one")
    above = path.absolute().parent
    system = above.name if above.parent.name == BASE else None
    sources = _numbered_sources(entry.get(SOURCES), response)
    return FoundReport(identity, identity, system, path, str(path), query, response, sources=sources)


def _numbered_sources(listed: object, response: str) -> tuple[Source, ...]:
    """Return the sources to which the numbers in a response refer; none if a number that is a link contradicts them."""
    used = listed.partition(_ONLY_READ)[0] if isinstance(listed, str) else ""
    addresses = [match[1] for match in _LINK.finditer(used)]
    for number, address in _NUMBERED_LINK.findall(response):
        if not 0 < int(number) <= len(addresses) or addresses[int(number) - 1] != address:
            return ()
    return tuple(Source(key=str(number), address=address) for number, address in enumerate(addresses, 1))
