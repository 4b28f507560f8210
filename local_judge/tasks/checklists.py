"""Checklist files: one row per task, with the origin of the checklist, or LiveResearchBench's published forms.

Invariants: every item has a text; a changed row also keeps the draft; the prefix `qid_` of an id is ignored.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import ConfigDict, Field, StringConstraints

from local_judge.base.errors import InputError
from local_judge.base.rows import read_jsonl
from local_judge.tasks.kinds import Kind
from local_judge.tasks.load import bare, is_dataset, load_tasks, read_questions
from local_judge.tasks.model import Checklist, GuidanceStatus
from local_judge.tasks.review import OwnRow
from local_judge.tasks.rowfile import Keyed

Item = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class ChecklistRow(OwnRow[Checklist]):
    """One line of a checklist file."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    what: ClassVar[str] = "checklist"

    items: Annotated[tuple[Item, ...], Field(min_length=1)]
    """Texts of the items; they become `q1`, `q2`, … in this order."""
    language: str = "und"
    """ISO 639-1 code of the request."""
    items_before: tuple[str, ...] | None = None
    """Items of the draft, if a reviewer changed them."""

    def as_content(self, status: GuidanceStatus) -> Checklist:
        """Return the checklist of a task."""
        return Checklist.of(self.items, status, self.reviewer)

    @property
    def editable(self) -> str:
        """Items, one per line."""
        return "\n".join(" ".join(item.split()) for item in self.items)

    def edited(self, text: str) -> ChecklistRow:
        """Return the row with the lines of a text as items. Raises InputError: there is no item."""
        items = tuple(" ".join(line.split()) for line in text.splitlines() if line.strip())
        if not items:
            raise InputError(f"task {self.task_id!r}: the checklist is empty; reject it instead")
        return self.model_copy(update={"items": items, "items_before": self.items_before or self.items})


def _other_forms(path: Path, open_dates: bool) -> list[Keyed[ChecklistRow]] | None:
    """Return the rows of LiveResearchBench's dataset, or of tasks with checklists; None for a file in our own form."""
    if is_dataset(path):
        return _dataset(path, open_dates)
    first = next((row for _, row in read_jsonl(path)), None)
    if first is None or "task_id" in first or "id" not in first:
        return None
    return [
        Keyed(f"{path}: task {task.id!r}", bare(task.id), task.prompt, _given(task.id, task.prompt, texts))
        for task in load_tasks(path).values()
        if task.checklist is not None and (texts := [item.text for item in task.checklist.items])
    ]


def _dataset(path: Path, open_dates: bool) -> list[Keyed[ChecklistRow]]:
    """Return the rows under the requests of both forms, because the tasks may use the other one."""
    rows: list[Keyed[ChecklistRow]] = []
    for question in read_questions(path):
        form = question.form(open_dates)
        if form.items:
            row = _given(question.id, form.request, form.items)
            requests = dict.fromkeys((question.open.request, question.fixed.request))
            rows += [Keyed(question.place, question.id, request, row) for request in requests]
    return rows


def _given(identity: str, request: str, items: Sequence[str]) -> ChecklistRow:
    return ChecklistRow(task_id=identity, task=request, items=tuple(items))


CHECKLIST_KIND = Kind(
    "checklist",
    "checklists",
    ChecklistRow,
    other_forms=_other_forms,
    bare_id=bare,
)
