"""Reports and tasks from files.

Invariants: reports come in a stable order (file name, then line); every id is used once; a report's bytes are not
interpreted here, so that one unreadable report is that report's failure and not the run's.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from local_judge.errors import InputError
from local_judge.rows import is_text, read_jsonl, row_id

REPORT_SUFFIXES = (".md", ".markdown", ".txt")
TEXT_KEYS = ("report", "article", "text", "response")
TASK_KEYS = ("task", "prompt", "query", "question")


class RawReport(NamedTuple):
    """A report as it was found."""

    id: str
    content: bytes
    task: str | None
    place: str
    """File and line, for messages."""


def load_reports(paths: Sequence[Path], tasks: Path | None = None) -> list[RawReport]:
    """Reports of all `paths`: Markdown or text files, folders of them, JSONL files, DeepResearchEval's JSON files.

    A JSONL row has `id`, the report under `report`, `article` or `text`, and may have its task under `task`, `prompt`
    or `query`. `tasks` is a JSONL file of rows with `id` and a task; it is joined by id.

    Raises:
        InputError: nothing found, a malformed row, an id given twice, or a task file that names no report.
    """
    reports = [report for path in paths for report in _load(path)]
    if not reports:
        raise InputError(
            f"no reports in {', '.join(map(str, paths))}: expected {', '.join(REPORT_SUFFIXES)} or .jsonl"
        )
    places: dict[str, str] = {}
    for report in reports:
        if report.id in places:
            raise InputError(f"report id {report.id!r} stands twice: {places[report.id]} and {report.place}")
        places[report.id] = report.place
    if tasks is None:
        return reports
    by_id = load_tasks(tasks)
    if not any(report.id in by_id for report in reports):
        raise InputError(
            f"{tasks}: none of its {len(by_id)} task ids is a report id, such as {reports[0].id!r}"
        )
    return [report._replace(task=by_id.get(report.id, report.task)) for report in reports]


def load_tasks(path: Path) -> dict[str, str]:
    """Tasks of a JSONL file by id.

    Raises:
        InputError: a malformed row or an id given twice.
    """
    tasks: dict[str, str] = {}
    for place, row in read_jsonl(path):
        task = _first(row, TASK_KEYS)
        identity = row_id(row, place)
        if identity is None or task is None:
            raise InputError(f"{place}: a task needs `id` and one of {', '.join(TASK_KEYS)}")
        if identity in tasks:
            raise InputError(f"{place}: task id {identity!r} stands twice")
        tasks[identity] = task
    return tasks


def _load(path: Path) -> Iterator[RawReport]:
    if path.is_dir():
        for file in sorted(path.iterdir()):
            if file.suffix.lower() in REPORT_SUFFIXES and file.is_file():
                yield _file(file)
    elif not path.is_file():
        raise InputError(f"{path}: no such file or folder")
    elif path.suffix.lower() == ".jsonl":
        for place, row in read_jsonl(path):
            report = _first(row, TEXT_KEYS)
            identity = row_id(row, place)
            if identity is None or report is None:
                raise InputError(f"{place}: a report needs `id` and one of {', '.join(TEXT_KEYS)}")
            yield RawReport(identity, _encoded(report), _first(row, TASK_KEYS), place)
    elif path.suffix.lower() == ".json":
        yield _deep_research_eval(path)
    else:
        yield _file(path)


def _file(path: Path) -> RawReport:
    if not is_text(path.stem):
        raise InputError(f"{path!r}: the file's name is the report's id and is not UTF-8; rename it")
    try:
        return RawReport(path.stem, path.read_bytes(), None, str(path))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None


def _deep_research_eval(path: Path) -> RawReport:
    """One file of DeepResearchEval's `method_results`: the response of its first entry."""
    try:
        data = json.loads(path.read_bytes())
        identity, entry = row_id({"id": data["query_id"]}, str(path)), data["entries"][0]
        if identity is None:
            raise KeyError("query_id")
        return RawReport(identity, _encoded(entry["response"]), str(entry["query"]), str(path))
    except (OSError, ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        raise InputError(
            f"{path}: not a report of DeepResearchEval (needs query_id and entries[0].response)"
        ) from None


def _encoded(text: str) -> bytes:
    """JSON may hold lone surrogates; they become bytes that are not UTF-8, and the report is refused as such."""
    return text.encode("utf-8", "surrogatepass")


def _first(row: dict[str, Any], keys: Sequence[str]) -> str | None:
    for key in keys:
        if isinstance(row.get(key), str):
            return row[key]
    return None
