"""Kinds of what is written for tasks: guidance, criteria, dimensions, checklists, plans.

A kind is declared once, beside the form of its rows (`GUIDANCE_KIND` in `tasks.guidance`, and so on); how its files are
read and written, joined to tasks and filled with drafts is the same for all.

Invariants: no task has two rows in a file; a rejected draft reaches no run, and one that nobody has reviewed never
takes the place of what came with its task.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic

from local_judge.errors import InputError
from local_judge.rows import read_jsonl
from local_judge.tasks.drafting import Drafts, Write
from local_judge.tasks.joining import Keyed, Rows
from local_judge.tasks.model import Task
from local_judge.tasks.review import D
from local_judge.tasks.rowfile import RowFile

UNMATCHED = "none of its rows has the id or the request of a report's task"
"""What is said of a file that holds nothing for any task."""


@dataclass(frozen=True)
class Kind(Generic[D]):
    """One kind."""

    field: str
    """The task's field that holds it."""
    several: str
    """What a file holds, for messages."""
    row: type[D]
    """The form of a row."""
    other_forms: Callable[[Path, bool], Sequence[Keyed[D]] | None] = lambda path, open_dates: None
    """The rows of a file in a published form, with or without open dates; None for a file of our own."""
    bare_id: Callable[[str], str] = str
    """What of a task's id counts."""
    clash: str = "is for the same task as"
    """What is said of a second row for a task."""

    def read(self, path: Path) -> list[tuple[str, D]]:
        """The rows of a file of our own with their places.

        Raises:
            InputError: the file cannot be read, a row is malformed, or a task has two.
        """
        rows: dict[str, tuple[str, D]] = {}
        for place, data in read_jsonl(path):
            row = self.row.parse(data, place)
            if row.key in rows:
                raise InputError(f"{place}: task id {row.key!r} occurs twice")
            rows[row.key] = place, row
        return list(rows.values())

    def file(self, path: Path) -> RowFile[D]:
        """A file of our own that several commands may write at the same time."""
        return RowFile(path, self.read)

    def load(self, path: Path, *, open_dates: bool = False) -> Rows[D]:
        """The rows of a file in any form, to be looked up by task.

        Args:
            path: the file, or a folder where a form is one.
            open_dates: of LiveResearchBench's dataset, take the columns that leave dates open.

        Raises:
            InputError: the file cannot be read, is malformed, or has no row.
        """
        rows = self.other_forms(path, open_dates)
        if rows is None:
            rows = [Keyed(place, self.bare_id(row.key), row.request, row) for place, row in self.read(path)]
        if not rows:
            raise InputError(f"{path}: no {self.several} in it")
        return Rows(rows)

    def join(self, task: Task, rows: Rows[D]) -> Task | None:
        """The task with what `rows` hold for it; None where they hold nothing.

        A rejected row leaves the task as it is, and so does one that nobody has reviewed where the task has its own.

        Raises:
            InputError: two rows are the task's, or see `Rows.find`.
        """
        found = rows.find(self.bare_id(task.id), task.prompt)
        if found is None:
            return None
        if len(found.rows) > 1:
            raise InputError(f"{found.rows[1].place}: {self.clash} {found.rows[0].place}; keep one")
        content = found.rows[0].value.content
        if content is None or (content.status == "drafted" and self.has(task)):
            return task
        joined = {"joined": found.by} if "joined" in type(content).model_fields else {}
        return task.model_copy(update={self.field: content.model_copy(update=joined)})

    def unmatched(self, rows: Rows[D]) -> str:
        """What is said of a file that holds nothing for any task."""
        return UNMATCHED

    def has(self, task: Task) -> bool:
        """Whether a task has it already."""
        return getattr(task, self.field) is not None

    def drafts(self, write: Write[D], at_once: int = 16) -> Drafts[D]:
        """Drafts for the tasks that have none; `at_once`: tasks asked about at the same time."""
        return Drafts(write, self.has, at_once)
