"""Reports and tasks from files.

Invariants: reports come in a stable order (file name, then line); every id is used once; a report's bytes are not
interpreted here, so that one unreadable report is that report's failure and not the run's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from local_judge.errors import InputError
from local_judge.rows import attributes_of, is_text, read_jsonl, row_id
from local_judge.tasks.dataset import bare
from local_judge.tasks.dates import dated as with_date
from local_judge.tasks.files import Join, TaskFiles, joins
from local_judge.tasks.folders import deer_folder, is_deer_folder, task_folder_of
from local_judge.tasks.load import TASK_KEYS, load_tasks
from local_judge.tasks.method_results import MethodReport, is_method_folder, method_report, method_reports
from local_judge.tasks.model import Guidance, Task
from local_judge.tasks.report_store import (
    BATCH_SUFFIXES,
    StoredReport,
    batched_reports,
    is_report_store,
    read_index,
    stored_report,
    stored_reports,
)

REPORT_SUFFIXES = (".md", ".markdown", ".txt")
TEXT_KEYS = ("report", "article", "text", "response")

_NO_FILES = TaskFiles()


class RawReport(NamedTuple):
    """A report as it was found."""

    id: str
    content: bytes
    task: Task | None
    place: str
    """File and line, for messages."""
    system: str | None = None
    """The agent that wrote it, where the input says so."""
    task_id: str | None = None
    """Id of the task that it answers, where the input says so; the task itself may come from a file of tasks."""
    guidance: Guidance | None = None
    """That came with the report, for a task that has none of its own."""
    rows: Path | None = None
    """The JSONL file of which it is a row."""


def load_reports(
    paths: Sequence[Path],
    files: TaskFiles = _NO_FILES,
    *,
    system: str | None = None,
    open_dates: bool = False,
) -> list[RawReport]:
    """Reports of all `paths`: Markdown or text files, folders of them, JSONL files, the published projects' forms.

    A JSONL row has `id`, the report under `report`, `article`, `text` or `response`, and may have its task under
    `task`, `prompt`, `query` or `question`, the task's id under `task_id` (else it is the report's), its `guidance`,
    and the `system` that wrote it. Where one id stands in several JSONL files, each file holds the reports of one
    system, as DeepResearch Bench lays them out: its name is their system, and `SYSTEM/ID` their id. A folder in DEER's
    layout (`<id>/query.md`) gives reports with tasks and guidance.
    Of LiveResearchBench, report stores, indexes and batch files are read (see `tasks.report_store`); of
    DeepResearchEval, files and folders of its `method_results` (see `tasks.method_results`).

    Args:
        paths: files and folders.
        files: tasks, and what is joined to them.
        system: who wrote the reports that do not say it.
        open_dates: of LiveResearchBench's dataset, take the columns that leave dates open: `dated` fills them.

    Raises:
        InputError: nothing found, a malformed row, an id given twice, or one of `files` that names no report.
    """
    reports = [report for path in paths for report in _load(path)]
    if not reports:
        raise InputError(
            f"no reports in {', '.join(map(str, paths))}: expected {', '.join(REPORT_SUFFIXES)} or .jsonl"
        )
    if system is None and _share_ids(reports):
        reports = [_by_system(report) for report in reports]
    if system is not None:
        reports = [report._replace(system=report.system or system) for report in reports]
    _check_ids(reports)
    if files.tasks is not None:
        reports = _with_tasks(reports, files.tasks, open_dates)
    reports = [_with_own_guidance(report) for report in reports]
    for join in joins(files, open_dates=open_dates):
        reports = joined(reports, join)
    return reports


def dated(reports: Sequence[RawReport], today: date | None) -> list[RawReport]:
    """The reports with the dates filled that their tasks leave open.

    Raises:
        InputError: a task leaves one open, and there is no day to fill it from.
    """
    filled: dict[Task, Task] = {}
    for report in reports:
        if report.task is not None and report.task not in filled:
            filled[report.task] = with_date(report.task, today)
    return [report._replace(task=filled[report.task]) if report.task else report for report in reports]


def _share_ids(reports: Sequence[RawReport]) -> bool:
    """Whether an id stands in several JSONL files, in rows that name no system."""
    files: dict[str, set[Path]] = {}
    for report in reports:
        if report.rows is not None and report.system is None:
            files.setdefault(report.id, set()).add(report.rows)
    return any(len(found) > 1 for found in files.values())


def _by_system(report: RawReport) -> RawReport:
    """A row of a JSONL file whose name is the system that wrote its reports."""
    if report.rows is None or report.system is not None:
        return report
    system = report.rows.stem
    return report._replace(id=f"{system}/{report.id}", system=system, task_id=report.task_id or report.id)


def _check_ids(reports: Sequence[RawReport]) -> None:
    places: dict[str, str] = {}
    for report in reports:
        if report.id in places:
            raise InputError(f"report id {report.id!r} stands twice: {places[report.id]} and {report.place}")
        places[report.id] = report.place


def joined(reports: Sequence[RawReport], join: Join) -> list[RawReport]:
    """The reports with what `join` puts into their tasks; each task is joined once, so that reports share it.

    Raises:
        InputError: there is no task, or `join` has nothing for any.
    """
    found: dict[Task, Task | None] = {}
    for report in reports:
        if report.task is not None and report.task not in found:
            found[report.task] = join.of(report.task)
    if not found:
        raise InputError(f"{join.place}: no report has a task to join it to; give --tasks")
    if not any(found.values()):
        raise InputError(f"{join.place}: {join.unmatched}")
    return [
        report._replace(task=found[report.task] or report.task) if report.task else report
        for report in reports
    ]


def _with_own_guidance(report: RawReport) -> RawReport:
    if report.task is None or report.task.guidance is not None or report.guidance is None:
        return report
    return report._replace(task=report.task.model_copy(update={"guidance": report.guidance}))


def _with_tasks(reports: Sequence[RawReport], path: Path, open_dates: bool) -> list[RawReport]:
    by_id = load_tasks(path, open_dates=open_dates)
    ids = [_task_id(report) for report in reports]
    found = [by_id.get(identity) or by_id.get(bare(identity)) for identity in ids]
    if not any(found):
        raise InputError(f"{path}: none of its {len(by_id)} task ids is that of a report, such as {ids[0]!r}")
    return [report._replace(task=task or report.task) for report, task in zip(reports, found, strict=True)]


def _task_id(report: RawReport) -> str:
    return report.task_id or (report.task.id if report.task else report.id)


def _load(path: Path) -> Iterator[RawReport]:
    root = task_folder_of(path)
    if root is not None:
        yield from _of_deer(path, root)
    elif path.is_dir():
        yield from _folder(path)
    elif not path.is_file():
        raise InputError(f"{path}: no such file or folder")
    elif path.suffix.lower() == ".jsonl":
        yield from _rows(path)
    elif path.suffix.lower() == ".json":
        indexed = read_index(path)
        if indexed is None:
            own = method_report(path)
            yield _of_method(own, own.task_id)
        else:
            yield from map(_stored, indexed)
    elif path.suffix.lower() in BATCH_SUFFIXES:
        yield from map(_stored, batched_reports(path))
    else:
        stored = stored_report(path)
        yield _file(path) if stored is None else _stored(stored)


def _folder(path: Path) -> Iterator[RawReport]:
    if is_deer_folder(path):
        yield from _deer(path)
    elif is_report_store(path):
        yield from map(_stored, stored_reports(path))
    elif is_method_folder(path):
        for report in method_reports(path):
            yield _of_method(report, f"{report.system}/{report.task_id}")
    else:
        for file in sorted(path.iterdir()):
            if file.suffix.lower() in REPORT_SUFFIXES and file.is_file():
                yield _file(file)


def _rows(path: Path) -> Iterator[RawReport]:
    for place, row in read_jsonl(path):
        report = _first(row, TEXT_KEYS)
        identity = row_id(row, place)
        if identity is None or report is None:
            raise InputError(f"{place}: a report needs `id` and one of {', '.join(TEXT_KEYS)}")
        task_id = row_id({"id": row.get("task_id")}, place)
        task = _task(row, task_id or identity, place)
        guidance = _text(row, "guidance", place)
        yield RawReport(
            id=identity,
            content=_encoded(report),
            task=task,
            place=place,
            system=_text(row, "system", place),
            task_id=task_id,
            guidance=Guidance(text=guidance) if guidance else None,
            rows=path,
        )


def _deer(root: Path) -> Iterator[RawReport]:
    """Reports of DEER's folders, in the order of the tasks and then of the systems."""
    for folder in deer_folder(root):
        for report in folder.reports:
            yield _file(report.path)._replace(task=folder.task, system=report.system, task_id=folder.id)


def _of_deer(path: Path, root: Path) -> Iterator[RawReport]:
    """The reports of one task's folder in DEER's layout, or the one that `path` names."""
    found = [report for report in _deer(root) if Path(report.place).is_relative_to(path.absolute())]
    if not found:
        raise InputError(f"{path}: no report of its task; in DEER's layout it is called SYSTEM_ID.md")
    yield from found


def _stored(report: StoredReport) -> RawReport:
    """A report of LiveResearchBench's store or index: `SYSTEM/TASK` is its id."""
    task = _task({"query": report.query or None}, report.task_id, report.place)
    return _file(report.path)._replace(
        id=f"{report.system}/{report.task_id}", task=task, system=report.system, task_id=report.task_id
    )


def _file(path: Path) -> RawReport:
    if not is_text(path.stem):
        raise InputError(f"{path!r}: the file's name is the report's id and is not UTF-8; rename it")
    try:
        return RawReport(path.stem, path.read_bytes(), None, str(path))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None


def _of_method(report: MethodReport, identity: str) -> RawReport:
    """A report of DeepResearchEval."""
    place = str(report.path)
    task = _task({"query": report.query}, report.task_id, place)
    content = _encoded(report.response)
    return RawReport(identity, content, task, place, report.system, report.task_id)


def _encoded(text: str) -> bytes:
    """JSON may hold lone surrogates; they become bytes that are not UTF-8, and the report is refused as such."""
    return text.encode("utf-8", "surrogatepass")


def _first(row: dict[str, Any], keys: Sequence[str]) -> str | None:
    for key in keys:
        if isinstance(row.get(key), str):
            return row[key]
    return None


def _task(row: dict[str, Any], identity: str, place: str) -> Task | None:
    prompt = _first(row, TASK_KEYS)
    if prompt is None:
        return None
    if not (prompt.strip() and is_text(prompt)):
        raise InputError(f"{place}: its task is empty, or no text that can be written")
    used = {*TASK_KEYS, *TEXT_KEYS, "task_id", "system", "guidance"}
    return Task(id=identity, prompt=prompt, attributes=attributes_of(row, used))


def _text(row: dict[str, Any], key: str, place: str) -> str | None:
    value = row.get(key)
    if value is None or (isinstance(value, str) and is_text(value)):
        return value
    raise InputError(f"{place}: {key} {value!r} is no text")
