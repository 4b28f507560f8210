"""Checklists: one row a task, with all that is known of how it came about, or as LiveResearchBench publishes them.

Invariants: every item says something; what a person changed is kept beside what it was; a rejected draft reaches no
run, and an unreviewed one never takes the place of a checklist that came with its task.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import ConfigDict, Field, StringConstraints

from local_judge.errors import InputError
from local_judge.rows import read_jsonl, read_models
from local_judge.tasks.dataset import bare, is_dataset, read_questions
from local_judge.tasks.joining import Keyed, Rows
from local_judge.tasks.load import load_tasks
from local_judge.tasks.model import Checklist, Task
from local_judge.tasks.review import DraftRow
from local_judge.tasks.rowfile import RowFile

Item = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class ChecklistRow(DraftRow):
    """One line of a checklist file."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    what: ClassVar[str] = "checklist"

    task_id: str
    items: Annotated[tuple[Item, ...], Field(min_length=1)]
    task: str | None = None
    """The request; of a draft, as it was drafted for."""
    language: str = "und"
    """ISO 639-1 code of the request."""
    items_before: tuple[str, ...] | None = None
    """As drafted, where a reviewer changed them."""

    @property
    def key(self) -> str:
        """The task's id."""
        return self.task_id

    @property
    def request(self) -> str | None:
        """The task's request."""
        return self.task

    @property
    def checklist(self) -> Checklist | None:
        """As a task holds it; None for a rejected draft."""
        if self.status == "rejected":
            return None
        return Checklist.of(self.items, self.status, self.reviewer)

    @property
    def editable(self) -> str:
        """One item a line."""
        return "\n".join(" ".join(item.split()) for item in self.items)

    def edited(self, text: str) -> ChecklistRow:
        """The row with the items that the lines of a text are. Raises InputError: there is none."""
        items = tuple(" ".join(line.split()) for line in text.splitlines() if line.strip())
        if not items:
            raise InputError(f"task {self.task_id!r}: the checklist is empty; reject it instead")
        return self.model_copy(update={"items": items, "items_before": self.items_before or self.items})


def read_rows(path: Path) -> list[tuple[str, ChecklistRow]]:
    """The rows of a checklist file with their places.

    Raises:
        InputError: the file cannot be read, a row is malformed, or a task has two.
    """
    rows: list[tuple[str, ChecklistRow]] = []
    seen: set[str] = set()
    for place, row in read_models(path, ChecklistRow):
        if row.task_id in seen:
            raise InputError(f"{place}: task id {row.task_id!r} stands twice")
        seen.add(row.task_id)
        rows.append((place, row))
    return rows


def checklist_file(path: Path) -> RowFile[ChecklistRow]:
    """A checklist file that several commands may write at the same time."""
    return RowFile(path, read_rows)


def load_checklists(path: Path, *, open_dates: bool = False) -> Rows[ChecklistRow]:
    """Checklists in any form: a checklist file, the dataset, or tasks with theirs; by ids without the prefix `qid_`.

    Args:
        path: JSONL or CSV.
        open_dates: of the dataset, take the columns that leave dates open.

    Raises:
        InputError: the file cannot be read, is malformed, or has no checklist in it.
    """
    rows = _dataset(path, open_dates) if is_dataset(path) else _own(path)
    if not rows:
        raise InputError(f"{path}: no checklists in it")
    return Rows(rows)


def _own(path: Path) -> list[Keyed[ChecklistRow]]:
    first = next((row for _, row in read_jsonl(path)), None)
    if first is None or "task_id" in first or "id" not in first:
        return [Keyed(place, bare(row.task_id), row.task, row) for place, row in read_rows(path)]
    return [
        Keyed(f"{path}: task {task.id!r}", bare(task.id), task.prompt, _given(task.id, task.prompt, texts))
        for task in load_tasks(path).values()
        if task.checklist is not None and (texts := tuple(item.text for item in task.checklist.items))
    ]


def _dataset(path: Path, open_dates: bool) -> list[Keyed[ChecklistRow]]:
    """The rows by the requests of both forms: the tasks may have come in the other one."""
    rows: list[Keyed[ChecklistRow]] = []
    for question in read_questions(path):
        form = question.form(open_dates)
        if form.items:
            row = _given(question.id, form.request, form.items)
            requests = dict.fromkeys((question.open.request, question.fixed.request))
            rows += [Keyed(question.place, question.id, request, row) for request in requests]
    return rows


def _given(identity: str, request: str, items: tuple[str, ...]) -> ChecklistRow:
    return ChecklistRow(task_id=identity, task=request, items=items)


def with_checklist(task: Task, rows: Rows[ChecklistRow]) -> Task | None:
    """The task with the checklist that `rows` hold for it; None where they hold none.

    The prefix `qid_` of the task's id does not matter. A rejected checklist leaves the task as it is, and so does one
    that nobody has reviewed where the task came with its own.

    Raises:
        InputError: two rows are the task's, or see `Rows.of`.
    """
    found = rows.find(bare(task.id), task.prompt)
    if found is None:
        return None
    if len(found.rows) > 1:
        raise InputError(f"{found.rows[1].place}: is for the same task as {found.rows[0].place}; keep one")
    checklist = found.rows[0].value.checklist
    if checklist is None or (checklist.status == "drafted" and task.checklist is not None):
        return task
    return task.model_copy(update={"checklist": checklist.model_copy(update={"joined": found.by})})
