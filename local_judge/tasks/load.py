"""Tasks from a JSONL file or from DEER's folders.

Invariant: every id stands once, every request says something, and guidance that comes with a task is `given`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from local_judge.errors import InputError
from local_judge.rows import is_text, read_jsonl, row_id
from local_judge.tasks.folders import deer_folder, is_deer_folder
from local_judge.tasks.model import Guidance, Task

TASK_KEYS = ("task", "prompt", "query", "question")


def load_tasks(path: Path) -> dict[str, Task]:
    """Tasks by id, in the order of the file, or of the folders' numbers.

    Args:
        path: a JSONL file of rows with `id`, the request under `task`, `prompt`, `query` or `question`, and optionally
            `guidance`; or a folder in DEER's layout (see `tasks.folders`), of which tasks without a request are
            left out.

    Raises:
        InputError: a malformed row, an id given twice, a folder of another layout, or no task at all.
    """
    tasks = _from_folders(path) if path.is_dir() else _from_rows(path)
    if not tasks:
        raise InputError(f"{path}: no tasks in it")
    return tasks


def _from_folders(path: Path) -> dict[str, Task]:
    if not is_deer_folder(path):
        raise InputError(f"{path}: no folder of tasks; expected <id>/query.md in it, <id> a whole number")
    return {folder.id: folder.task for folder in deer_folder(path) if folder.task is not None}


def _from_rows(path: Path) -> dict[str, Task]:
    tasks: dict[str, Task] = {}
    for place, row in read_jsonl(path):
        identity = row_id(row, place)
        prompt = next((row[key] for key in TASK_KEYS if isinstance(row.get(key), str)), None)
        if identity is None or prompt is None:
            raise InputError(f"{place}: a task needs `id` and one of {', '.join(TASK_KEYS)}")
        if not (prompt.strip() and is_text(prompt)):
            raise InputError(
                f"{place}: the request of task {identity!r} is empty, or no text that can be written"
            )
        if identity in tasks:
            raise InputError(f"{place}: task id {identity!r} stands twice")
        tasks[identity] = Task(id=identity, prompt=prompt, guidance=_guidance(row.get("guidance"), place))
    return tasks


def _guidance(given: Any, place: str) -> Guidance | None:
    if given is None:
        return None
    if not (isinstance(given, str) and is_text(given)):
        raise InputError(f"{place}: `guidance` is not a text")
    return Guidance(text=given.strip()) if given.strip() else None
