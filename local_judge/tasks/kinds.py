"""Kinds of task data: guidance, criteria, dimensions, checklists, plans.

A kind is declared once, beside the form of its rows (`GUIDANCE_KIND` in `tasks.guidance`, and so on). Reading and
writing of its files, joining to tasks and drafting are the same for all kinds.

Invariants: a task has at most one row in a file; a rejected draft is not used by any run, and a draft that no person
has reviewed never replaces data that came with its task.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic

from local_judge.base.errors import InputError
from local_judge.tasks.drafting import Drafts, Write
from local_judge.tasks.model import Task
from local_judge.tasks.review import Content, D
from local_judge.tasks.rowfile import Keyed, RowFile, Rows, read_rows

UNMATCHED = "none of its rows has the id or the request of a report's task"
"""Message about a file that has no row for any task."""


@dataclass(frozen=True)
class Kind(Generic[D]):
    """One kind of task data."""

    field: str
    """Field of a task that holds it."""
    several: str
    """Name of the rows of a file in messages."""
    row: type[D]
    """Model of a row."""
    other_forms: Callable[[Path, bool], Sequence[Keyed[D]] | None] = lambda path, open_dates: None
    """Return the rows of a file in a published form, with or without open dates; None for a file in our own form."""
    bare_id: Callable[[str], str] = str
    """Return the part of a task's id that is compared."""
    clash: str = "is for the same task as"
    """Message about a second row for a task."""

    def read(self, path: Path) -> list[tuple[str, D]]:
        """Read the rows of a file in our own form, with their places.

        Raises:
            InputError: the file cannot be read, a row is invalid, or a task has two rows.
        """
        return read_rows(path, self.row)

    def file(self, path: Path) -> RowFile[D]:
        """Return a file in our own form that several commands may write concurrently."""
        return RowFile(path, self.row)

    def load(self, path: Path, *, open_dates: bool = False) -> Rows[D]:
        """Read the rows of a file in any form, to be looked up by task.

        Args:
            path: the file, or a folder if a form is one.
            open_dates: of LiveResearchBench's dataset, use the columns that leave dates open.

        Raises:
            InputError: the file cannot be read, is invalid, or has no rows.
        """
        rows = self.other_forms(path, open_dates)
        if rows is None:
            rows = [Keyed(place, self.bare_id(row.key), row.request, row) for place, row in self.read(path)]
        if not rows:
            raise InputError(f"{path}: no {self.several} in it")
        return Rows(rows)

    def join(self, task: Task, rows: Rows[D]) -> Task | None:
        """Return the task with its row of `rows`; None if it has none.

        A rejected row leaves the task unchanged, and so does an unreviewed draft if the task has data of its own.

        Raises:
            InputError: two rows belong to the task, or as `Rows.find`.
        """
        found = rows.find(self.bare_id(task.id), task.prompt)
        if found is None:
            return None
        if len(found.rows) > 1:
            raise InputError(f"{found.rows[1].place}: {self.clash} {found.rows[0].place}; keep one")
        content: Content | None = found.rows[0].value.content
        if content is None or (content.status == "drafted" and self.has(task)):
            return task
        joined = {"joined": found.by} if "joined" in type(content).model_fields else {}
        return task.model_copy(update={self.field: content.model_copy(update=joined)})

    def unmatched(self, rows: Rows[D]) -> str:
        """Return the message about a file that has no row for any task."""
        return UNMATCHED

    def has(self, task: Task) -> bool:
        """Check whether a task already has data of this kind."""
        return getattr(task, self.field) is not None

    def drafts(self, write: Write[D], at_once: int = 16) -> Drafts[D]:
        """Return drafts for the tasks without such data; `at_once`: number of tasks asked about concurrently."""
        return Drafts(write, self.has, at_once)
