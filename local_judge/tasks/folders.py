"""Tasks and reports in DEER's layout: one folder a task, named by a whole number.

    <root>/<id>/query.md            the request
    <root>/<id>/core_criteria.md    the expert's guidance; may be missing
    <root>/<id>/<system>_<id>.md    a report; any number of systems

Invariants: folders come in the order of their numbers and reports in that of their systems; nothing outside the root is
read, whatever a link says; what a folder lacks is a note, and what cannot be read is an error in one line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from local_judge.errors import InputError
from local_judge.rows import is_text
from local_judge.tasks.model import Guidance, Task

QUERY, CRITERIA = "query.md", "core_criteria.md"

MAX_BYTES = 4 << 20
"""Of a request, or of guidance: a longer file is none of these."""

FolderNote = Literal[
    "no_query", "empty_query", "no_guidance", "empty_guidance", "no_report", "foreign_report"
]
"""What a folder lacks. `foreign_report`: it holds a report that bears another number, which is passed over."""

_NUMBER = re.compile(r"[0-9]+")
_REPORT = re.compile(r"(?P<system>.+)_(?P<number>[0-9]+)\.md", re.DOTALL)


class FolderReport(NamedTuple):
    """One report of a folder; its bytes are not read here."""

    system: str
    """What its name has before the number."""
    path: Path


class TaskFolder(NamedTuple):
    """One task with its reports."""

    id: str
    """The number, without zeros before it."""
    task: Task | None
    """None without a request."""
    reports: tuple[FolderReport, ...]
    notes: tuple[FolderNote, ...]


def task_folder_of(path: Path) -> Path | None:
    """The root of DEER's layout that `path` is a task's folder of, or a report in one; None where it is neither."""
    folder = path if path.is_dir() else path.parent
    folder = folder.absolute()
    return folder.parent if _NUMBER.fullmatch(folder.name) and (folder / QUERY).is_file() else None


def is_deer_folder(path: Path) -> bool:
    """Whether `path` is a folder of numbered folders, one of which holds a request or a report at least."""
    if not path.is_dir():
        return False
    return any(
        (folder / QUERY).exists() or any(_number(file.name) == number for file in folder.iterdir())
        for number, folder in _numbered(path)
    )


def deer_folder(root: Path) -> Iterator[TaskFolder]:
    """The numbered folders of `root`, in order; other entries are passed over.

    Raises:
        InputError: two folders of one number, or two reports of one system and number; a link that leads out of
        `root`; a request or guidance that is no file, not UTF-8 or longer than `MAX_BYTES`.
    """
    bounds = root.resolve()
    seen: dict[int, Path] = {}
    for number, folder in _numbered(root):
        if number in seen:
            raise InputError(f"{folder}: task {number} has two folders; the other is {seen[number].name}")
        seen[number] = folder
        _inside(folder, bounds)
        notes: list[FolderNote] = []
        query = _text(folder / QUERY, bounds)
        if not query:
            notes.append("no_query" if query is None else "empty_query")
        criteria = _text(folder / CRITERIA, bounds)
        if not criteria:
            notes.append("no_guidance" if criteria is None else "empty_guidance")
        reports, foreign = _reports(folder, number, bounds)
        if not reports:
            notes.append("no_report")
        if foreign:
            notes.append("foreign_report")
        guidance = Guidance(text=criteria) if criteria else None
        task = Task(id=str(number), prompt=query, guidance=guidance) if query else None
        yield TaskFolder(str(number), task, reports, tuple(notes))


def _numbered(root: Path) -> list[tuple[int, Path]]:
    try:
        entries = [entry for entry in root.iterdir() if _NUMBER.fullmatch(entry.name) and entry.is_dir()]
    except OSError as error:
        raise InputError(f"{root}: {error.strerror or error}") from None
    return sorted((int(entry.name), entry) for entry in entries)


def _number(name: str) -> int | None:
    match = _REPORT.fullmatch(name)
    return int(match["number"]) if match else None


def _reports(folder: Path, number: int, bounds: Path) -> tuple[tuple[FolderReport, ...], bool]:
    """The reports of one folder in order of system, and whether others were passed over."""
    found: dict[str, Path] = {}
    foreign = False
    for path in sorted(folder.iterdir()):
        match = _REPORT.fullmatch(path.name)
        if match is None or not path.is_file():
            continue
        if int(match["number"]) != number:
            foreign = True
            continue
        system = match["system"]
        if not is_text(system):
            raise InputError(f"{path!r}: the file's name is not UTF-8; rename it")
        if system in found:
            raise InputError(
                f"{path}: a second report of system {system!r}; the other is {found[system].name}"
            )
        _inside(path, bounds)
        found[system] = path
    return tuple(FolderReport(system, found[system]) for system in sorted(found)), foreign


def _inside(path: Path, bounds: Path) -> None:
    """Refuse what a link takes out of the root."""
    try:
        real = path.resolve()
    except (OSError, RuntimeError) as error:
        raise InputError(f"{path}: {error}") from None
    if not real.is_relative_to(bounds):
        raise InputError(f"{path}: leads out of {bounds}, to {real}; copy the file instead")


def _text(path: Path, bounds: Path) -> str | None:
    """The text of a file without white space around it; None where there is no such file."""
    if not path.exists():
        if path.is_symlink():
            raise InputError(f"{path}: a link that leads nowhere")
        return None
    _inside(path, bounds)
    if not path.is_file():
        raise InputError(f"{path}: not a file")
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise InputError(f"{path}: longer than {MAX_BYTES:,} bytes; it is no request and no guidance")
        return data.decode("utf-8-sig").strip()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 (byte {error.start})") from None
