"""Tasks from a JSONL file, from LiveResearchBench's dataset or from DEER's folders.

Invariant: every id stands once, every request says something, and what comes with a task is `given`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from local_judge.errors import InputError
from local_judge.rows import attributes_of, is_text, read_jsonl, row_id
from local_judge.tasks.dataset import is_dataset, read_questions
from local_judge.tasks.folders import deer_folder, is_deer_folder
from local_judge.tasks.model import Checklist, Guidance, Task

TASK_KEYS = ("task", "prompt", "query", "question")
OTHER_KEYS = {*TASK_KEYS, "guidance", "rationale"}
"""Keys of a row by which results are not grouped; a rationale is a judge's, for a topic or for what it kept."""


def load_tasks(path: Path, *, open_dates: bool = False) -> dict[str, Task]:
    """Tasks by id, in the order of the file, or of the folders' numbers.

    Args:
        path: a JSONL file of rows with `id`, the request under `task`, `prompt`, `query` or `question`, and optionally
            `guidance`, a `checklist` (a list of texts), a `topic` and attributes (see `rows.attributes_of`), of which
            those are left out that have `kept` false; LiveResearchBench's dataset (see `tasks.dataset`); or a folder in
            DEER's layout (see `tasks.folders`), of which tasks without a request are left out.
        open_dates: of the dataset, take the columns that leave dates open.

    Raises:
        InputError: a malformed row, an id given twice, a folder of another layout, or no task at all.
    """
    if path.is_dir():
        tasks = _from_folders(path)
    else:
        tasks = _from_dataset(path, open_dates) if is_dataset(path) else _from_rows(path)
    if not tasks:
        raise InputError(f"{path}: no tasks in it")
    return tasks


def _from_dataset(path: Path, open_dates: bool) -> dict[str, Task]:
    tasks: dict[str, Task] = {}
    for question in read_questions(path):
        request, items = question.form(open_dates)
        checklist = Checklist.of(items) if items else None
        tasks[question.id] = Task(id=question.id, prompt=request, checklist=checklist)
    return tasks


def _from_folders(path: Path) -> dict[str, Task]:
    if not is_deer_folder(path):
        raise InputError(f"{path}: no folder of tasks; expected <id>/query.md in it, <id> a whole number")
    return {folder.id: folder.task for folder in deer_folder(path) if folder.task is not None}


def _from_rows(path: Path) -> dict[str, Task]:
    tasks: dict[str, Task] = {}
    dropped: set[str] = set()
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
        tasks[identity] = Task(
            id=identity,
            prompt=prompt,
            guidance=_guidance(row.get("guidance"), place),
            checklist=_checklist(row.get("checklist"), place),
            topic=_topic(row.get("topic"), place),
            attributes=attributes_of(row, {*OTHER_KEYS, "topic"}),
        )
        if row.get("kept") is False:
            dropped.add(identity)
    return {identity: task for identity, task in tasks.items() if identity not in dropped}


def _guidance(given: Any, place: str) -> Guidance | None:
    if given is None:
        return None
    if not (isinstance(given, str) and is_text(given)):
        raise InputError(f"{place}: `guidance` is not a text")
    return Guidance(text=given.strip()) if given.strip() else None


def _checklist(given: Any, place: str) -> Checklist | None:
    if given is None or given == []:
        return None
    items = cast("list[object]", given) if isinstance(given, list) else [None]
    texts = [item.strip() for item in items if isinstance(item, str) and item.strip() and is_text(item)]
    if len(texts) < len(items):
        raise InputError(f"{place}: `checklist` is not a list of texts that say something")
    return Checklist.of(texts)


def _topic(given: Any, place: str) -> str | None:
    if given is None or (isinstance(given, str) and is_text(given)):
        return given or None
    raise InputError(f"{place}: `topic` is not a text")
