"""Tasks from a JSONL file, from LiveResearchBench's dataset or from DEER's folders.

The dataset is a JSONL or CSV file with one row for each item of a question's checklist, and two forms of each text: one
leaves dates open with placeholders, the other has the dates of its publication.

Invariants: ids are unique, and a question's id has no prefix `qid_`; every request has a text; whatever comes with a
task has the status `given`; all rows of a question agree on it, and its items are in the order of the rows.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple, cast

from local_judge.base.errors import InputError
from local_judge.base.rows import (
    attributes_of,
    first_text,
    is_text,
    optional_text,
    read_csv,
    read_jsonl,
    row_id,
)
from local_judge.tasks.layouts import PREFIX, deer_folder, is_deer_folder
from local_judge.tasks.model import Checklist, Guidance, Task

TASK_KEYS = ("task", "prompt", "query", "question")
OTHER_KEYS = {*TASK_KEYS, "guidance", "rationale"}
"""Keys of a row that do not group results; a rationale is a judge's reason for a topic or for keeping a task."""

COLUMNS = ("question", "checklist", "question_no_placeholder", "checklist_no_placeholder")
"""Columns of the dataset beside `qid`. Those without `_no_placeholder` leave dates open (see `tasks.dates`)."""


def load_tasks(path: Path, *, open_dates: bool = False) -> dict[str, Task]:
    """Read tasks by id, in the order of the file, or of the folders' numbers.

    Args:
        path: a JSONL file of rows with `id`, the request under `task`, `prompt`, `query` or `question`, and optionally
            `guidance`, a `checklist` (a list of texts), a `topic` and attributes (see `rows.attributes_of`), where rows
            with `kept` false are skipped; LiveResearchBench's dataset; or a folder in DEER's layout, where tasks
            without a request are skipped.
        open_dates: of the dataset, use the columns that leave dates open.

    Raises:
        InputError: a row is invalid, an id appears twice, a folder has another layout, or there is no task.
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
        identity, prompt = row_id(row, place), first_text(row, TASK_KEYS)
        if identity is None or prompt is None:
            raise InputError(f"{place}: a task needs `id` and one of {', '.join(TASK_KEYS)}")
        if not (prompt.strip() and is_text(prompt)):
            raise InputError(
                f"{place}: the request of task {identity!r} is empty, or cannot be written as UTF-8"
            )
        if identity in tasks:
            raise InputError(f"{place}: task id {identity!r} appears twice")
        guidance = (optional_text(row, "guidance", place) or "").strip()
        tasks[identity] = Task(
            id=identity,
            prompt=prompt,
            guidance=Guidance(text=guidance) if guidance else None,
            checklist=_checklist(row.get("checklist"), place),
            topic=optional_text(row, "topic", place) or None,
            attributes=attributes_of(row, {*OTHER_KEYS, "topic"}),
        )
        if row.get("kept") is False:
            dropped.add(identity)
    return {identity: task for identity, task in tasks.items() if identity not in dropped}


def _checklist(given: Any, place: str) -> Checklist | None:
    if given is None or given == []:
        return None
    items = cast("list[object]", given) if isinstance(given, list) else [None]
    texts = [item.strip() for item in items if isinstance(item, str) and item.strip() and is_text(item)]
    if len(texts) < len(items):
        raise InputError(f"{place}: `checklist` must be a list of non-empty texts")
    return Checklist.of(texts)


class Form(NamedTuple):
    """One of the two published forms of a question of the dataset."""

    request: str
    items: tuple[str, ...]


class Question(NamedTuple):
    """Question of the dataset with its checklist."""

    place: str
    """File and line of its first row."""
    id: str
    open: Form
    """Form with placeholders for dates."""
    fixed: Form
    """Form with the dates of its publication."""

    def form(self, open_dates: bool) -> Form:
        """Return the form for a run that fills dates, or for one that does not."""
        return self.open if open_dates else self.fixed


def bare(identity: str) -> str:
    """Return a question's id without its prefix."""
    return identity.removeprefix(PREFIX)


def is_dataset(path: Path) -> bool:
    """Check whether a file is a CSV file, or its first row has `qid` and no `id`. Raises InputError."""
    if path.suffix.lower() == ".csv":
        return True
    first = next((row for _, row in read_jsonl(path)), None)
    return first is not None and "qid" in first and "id" not in first


def read_questions(path: Path) -> list[Question]:
    """Read the questions of a dataset file, in the order of their first rows.

    A cell that is empty in one form is taken from the other.

    Raises:
        InputError: the file cannot be read, a row has no `qid` or question, or rows of a question differ in it.
    """
    requests: dict[str, tuple[str, str, str]] = {}
    items: dict[str, list[tuple[str, str]]] = {}
    for place, row in read_csv(path) if path.suffix.lower() == ".csv" else read_jsonl(path):
        identity = row_id(row, place, "qid")
        cells = {column: (optional_text(row, column, place) or "").strip() for column in COLUMNS}
        question = _either(cells["question"], cells["question_no_placeholder"])
        if not identity or not all(question):
            raise InputError(f"{place}: a row of the dataset needs `qid` and `question`")
        key = bare(identity)
        known = requests.setdefault(key, (place, *question))
        if known[1:] != question:
            raise InputError(f"{place}: question {key!r} differs from its text at {known[0]}")
        item = _either(cells["checklist"], cells["checklist_no_placeholder"])
        items.setdefault(key, []).extend([item] if all(item) else [])
    return [
        Question(
            place,
            key,
            Form(question, tuple(first for first, _ in items[key])),
            Form(fixed, tuple(second for _, second in items[key])),
        )
        for key, (place, question, fixed) in requests.items()
    ]


def _either(one: str, other: str) -> tuple[str, str]:
    return one or other, other or one
