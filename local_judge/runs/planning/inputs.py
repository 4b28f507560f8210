"""Reports and tasks from files.

Invariants: reports are in a stable order (file name, then line); ids are unique; a report's bytes are not parsed here,
so that an unreadable report fails alone and not the run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple, cast

from local_judge.base.errors import InputError, os_errors
from local_judge.base.files import read_file
from local_judge.base.rows import (
    attributes_of,
    first_text,
    is_text,
    object_of,
    optional_text,
    read_jsonl,
    read_text,
    row_id,
)
from local_judge.base.strict_json import strict_json
from local_judge.documents import Document, Source, UnreadableReport, parse_report
from local_judge.documents.kinds import DOCTYPE, REPORT_SUFFIXES, is_html, markdown_of, why_not_read
from local_judge.runs.planning.report_files import left_out, report_files
from local_judge.runs.planning.report_sources import read_sources
from local_judge.tasks.dates import dated as with_date
from local_judge.tasks.files import Join, TaskFiles, joins
from local_judge.tasks.layouts import FoundReport, published_reports
from local_judge.tasks.load import TASK_KEYS, bare, load_tasks
from local_judge.tasks.model import Guidance, Task

TEXT_KEYS = ("report", "article", "text", "response")

_NO_FILES = TaskFiles()


class RawReport(NamedTuple):
    """Report with its unparsed content, as Markdown; one that cannot be converted keeps its own."""

    id: str
    content: bytes
    task: Task | None
    place: str
    """File and line, for messages."""
    system: str | None = None
    """Agent that wrote it, if the input names one."""
    task_id: str | None = None
    """Id of the task that it answers, if the input names one; the task itself may come from a file of tasks."""
    guidance: Guidance | None = None
    """Guidance that came with the report, used if its task has none."""
    rows: Path | None = None
    """JSONL file that it is a row of."""
    sources: tuple[Source, ...] = ()
    """Sources that came with the report, for marks whose entry the text lacks."""

    def parse(self) -> Document:
        """Return the report as a document. Raises UnreadableReport."""
        name = Path(self.place).name if self.format in ("md", "markdown", "txt") else ""
        return parse_report(markdown_of(self.content, name), self.sources)

    def digest(self) -> str:
        """Return the SHA-256 of the content and of the sources, in hex digits."""
        sources = (source.model_dump_json().encode() for source in self.sources)
        return hashlib.sha256(b"\0".join((self.content, *sources))).hexdigest()

    @property
    def format(self) -> str:
        """Ending of the file that it comes from, such as `md`; `row` for a row that no file has."""
        name, _, _ = self.place.partition(":")
        return (self.rows or Path(name)).suffix.lstrip(".").lower() or "row"


def load_reports(
    paths: Sequence[Path | Mapping[str, Any]],
    files: TaskFiles = _NO_FILES,
    *,
    system: str | None = None,
    open_dates: bool = False,
) -> list[RawReport]:
    """Read the reports of `paths`: files, folders of them, JSONL files, and published layouts.

    A file is Markdown, plain text or HTML. A JSONL row, or an entry of a list in a JSON file, has `id`, the report
    under `report`, `article`, `text` or `response`, and may have its task under `task`, `prompt`, `query` or
    `question`, the task's id under `task_id` (else it is the report's), its `guidance`, its `sources` (see
    `runs.report_sources`), and the `system` that wrote it. If an id occurs in several of these files, each contains the
    reports of one system, as in DeepResearch Bench: the file's name is their system, and `SYSTEM/ID` their id.
    `tasks.layouts` describes the layouts of DEER, LiveResearchBench and DeepResearchEval.

    Args:
        paths: files and folders, or rows with the keys of a JSONL file of reports.
        files: tasks, and files that are joined to them.
        system: agent that wrote the reports whose input names none.
        open_dates: use the columns of LiveResearchBench's dataset that leave dates open, which `dated` fills.

    Raises:
        InputError: there is no report, a row is invalid, an id appears twice, or a file of `files` matches no report.
    """
    reports = [report for number, one in enumerate(paths, 1) for report in _load(one, number)]
    if not reports:
        empty = [
            path
            for path in paths
            if isinstance(path, Path) and path.is_file() and not read_file(path).strip()
        ]
        if empty:
            raise InputError(f"{empty[0]}: the file is empty")
        unread = next(left_out(path for path in paths if isinstance(path, Path)), None)
        raise InputError(
            unread
            or f"no reports in {', '.join(map(str, paths))}: expected {', '.join(REPORT_SUFFIXES)} or .jsonl"
        )
    if system is None and _share_ids(reports):
        reports = [_by_system(report) for report in reports]
    if system is not None:
        reports = [report._replace(system=report.system or system) for report in reports]
    _check_ids(reports)
    if files.tasks is not None:
        reports = _with_tasks(reports, files.tasks, open_dates)
    reports = _sharing_tasks([_with_own_guidance(report) for report in reports])
    for join in joins(files, open_dates=open_dates):
        reports = joined(reports, join)
    return reports


def dated(reports: Sequence[RawReport], today: date | None) -> list[RawReport]:
    """Return the reports, with the dates that their tasks leave open filled from `today`.

    Raises:
        InputError: a task leaves a date open, and `today` is None.
    """
    filled: dict[Task, Task] = {}
    for report in reports:
        if report.task is not None and report.task not in filled:
            filled[report.task] = with_date(report.task, today)
    return [report._replace(task=filled[report.task]) if report.task else report for report in reports]


def _share_ids(reports: Sequence[RawReport]) -> bool:
    """Check whether an id occurs in several JSONL files, in rows that name no system."""
    files: dict[str, set[Path]] = {}
    for report in reports:
        if report.rows is not None and report.system is None:
            files.setdefault(report.id, set()).add(report.rows)
    return any(len(found) > 1 for found in files.values())


def _by_system(report: RawReport) -> RawReport:
    """Return a row of a JSONL file with the file's name as its system."""
    if report.rows is None or report.system is not None:
        return report
    system = report.rows.stem
    return report._replace(id=f"{system}/{report.id}", system=system, task_id=report.task_id or report.id)


def _check_ids(reports: Sequence[RawReport]) -> None:
    places: dict[str, str] = {}
    for report in reports:
        if report.id in places:
            raise InputError(
                f"report id {report.id!r} appears twice: in {places[report.id]} and in {report.place}"
            )
        places[report.id] = report.place


def joined(reports: Sequence[RawReport], join: Join) -> list[RawReport]:
    """Return the reports with tasks extended by `join`; each task is joined once, so that reports share it.

    Raises:
        InputError: no report has a task, or `join` has nothing for any of them.
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


def _sharing_tasks(reports: Sequence[RawReport]) -> list[RawReport]:
    """Return the reports with one object for equal tasks, of which each row of a file has its own."""
    shared: dict[Task, Task] = {}
    return [
        report._replace(task=shared.setdefault(report.task, report.task)) if report.task else report
        for report in reports
    ]


def _with_tasks(reports: Sequence[RawReport], path: Path, open_dates: bool) -> list[RawReport]:
    by_id = load_tasks(path, open_dates=open_dates)
    ids = [_task_id(report) for report in reports]
    found = [by_id.get(identity) or by_id.get(bare(identity)) for identity in ids]
    if not any(found):
        raise InputError(f"{path}: none of its {len(by_id)} task ids matches a report, such as {ids[0]!r}")
    return [report._replace(task=task or report.task) for report, task in zip(reports, found, strict=True)]


def _task_id(report: RawReport) -> str:
    return report.task_id or (report.task.id if report.task else report.id)


def task_of(report: RawReport) -> str:
    """Return the id of a report's task; the report's own id if the input names no task."""
    return report.task.id if report.task else report.task_id or report.id


def _load(path: Path | Mapping[str, Any], number: int) -> Iterator[RawReport]:
    if not isinstance(path, Path):
        yield _row(path, f"report {number}")
        return
    if not (path.is_dir() or path.is_file()):
        raise InputError(f"{path}: no such file or folder")
    suffix = path.suffix.lower()
    rows = _rows(path, suffix) if path.is_file() else None
    if rows is not None:
        yield from rows
        return
    published = published_reports(path)
    if published is not None:
        yield from map(_published, published)
    elif path.is_dir():
        for file in report_files(path).read:
            yield _file(file)
    elif (reason := why_not_read(path.name, suffix)) is not None:
        raise InputError(f"{path}: {reason}")
    else:
        yield _file(path)


def _rows(path: Path, suffix: str) -> Iterator[RawReport] | None:
    """Return the rows of a JSONL file, or of a JSON file with a list of them; None for other files."""
    if suffix == ".jsonl":
        return (_row(row, place)._replace(rows=path) for place, row in read_jsonl(path))
    if suffix != ".json":
        return None
    try:
        rows: object = strict_json(read_text(path))
    except (ValueError, RecursionError):
        return None
    if not isinstance(rows, list):
        return None
    places = ((f"{path}: [{number}]", row) for number, row in enumerate(cast("list[object]", rows)))
    return (_row(object_of(row, place), place)._replace(rows=path) for place, row in places)


def _row(given: Mapping[str, Any], place: str) -> RawReport:
    row = dict(given)
    report = first_text(row, TEXT_KEYS)
    identity = row_id(row, place)
    if identity is None or report is None:
        raise InputError(f"{place}: a report needs `id` and one of {', '.join(TEXT_KEYS)}")
    task_id = row_id(row, place, "task_id")
    guidance = optional_text(row, "guidance", place)
    sources: tuple[Source, ...] = ()
    if row.get("sources") is not None:
        report, sources = read_sources(row["sources"], report, place)
    return RawReport(
        id=identity,
        content=_as_markdown(_encoded(report)),
        task=_task(row, task_id or identity, place),
        place=place,
        system=optional_text(row, "system", place),
        task_id=task_id,
        guidance=Guidance(text=guidance) if guidance else None,
        sources=sources,
    )


def _published(report: FoundReport) -> RawReport:
    """Return a report of a published project with its content."""
    task = report.task or _task({"query": report.query or None}, report.task_id, report.place)
    content = _file(report.path).content if report.text is None else _as_markdown(_encoded(report.text))
    return RawReport(
        report.id, content, task, report.place, report.system, report.task_id, sources=report.sources
    )


def _file(path: Path) -> RawReport:
    if not is_text(path.stem):
        raise InputError(f"{path!r}: the file's name is the report's id and is not UTF-8; rename it")
    with os_errors(InputError, f"{path}: cannot be read"):
        return RawReport(path.stem, _as_markdown(read_file(path), path.name), None, str(path))


def _as_markdown(content: bytes, name: str = "") -> bytes:
    """Return a report as Markdown; one that cannot be converted stays what it is, so that `parse` gives the reason."""
    try:
        return markdown_of(content, name)
    except UnreadableReport:
        return DOCTYPE + content if is_html(name) else content


def _encoded(text: str) -> bytes:
    """Return the bytes of a text from JSON; lone surrogates become invalid UTF-8, which is refused with the report."""
    return text.encode("utf-8", "surrogatepass")


def _task(row: dict[str, Any], identity: str, place: str) -> Task | None:
    prompt = first_text(row, TASK_KEYS)
    if prompt is None:
        return None
    if not (prompt.strip() and is_text(prompt)):
        raise InputError(f"{place}: its task is empty, or cannot be written as UTF-8")
    used = {*TASK_KEYS, *TEXT_KEYS, "task_id", "system", "guidance", "sources"}
    return Task(id=identity, prompt=prompt, attributes=attributes_of(row, used))
