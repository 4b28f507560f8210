"""Guidance files: one row a task, with all that is known of how the guidance came about.

Invariant: what a person changed is kept beside what it was; a rejected draft reaches no judge.
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from pydantic import ConfigDict

from local_judge.errors import InputError
from local_judge.rows import read_models
from local_judge.tasks.model import Guidance
from local_judge.tasks.points import Point
from local_judge.tasks.review import DraftRow
from local_judge.tasks.rowfile import RowFile


class GuidanceRow(DraftRow):
    """One line of a guidance file."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    what: ClassVar[str] = "guidance"

    task_id: str
    text: str
    """What a judge is shown."""
    task: str | None = None
    """The request as it was when the guidance was drafted."""
    language: str = "und"
    """ISO 639-1 code of the request."""
    points: tuple[Point, ...] = ()
    """As drafted; a review changes the text and leaves them."""
    snapshot: str | None = None
    """Digest of the snapshot that the judge was shown passages of."""
    passages: tuple[str, ...] = ()
    """Ids of these passages, in the order in which they were shown."""
    text_before: str | None = None
    """As drafted, where a reviewer changed it."""

    @property
    def key(self) -> str:
        """The task's id."""
        return self.task_id

    @property
    def request(self) -> None:
        """None: guidance is found by the task's id alone."""

    @property
    def guidance(self) -> Guidance | None:
        """What a judge is shown; None for a rejected draft."""
        if self.status == "rejected":
            return None
        return Guidance(text=self.text, status=self.status, reviewer=self.reviewer)

    @property
    def editable(self) -> str:
        """The text."""
        return self.text

    def edited(self, text: str) -> GuidanceRow:
        """The row with another text. Raises InputError: it is empty."""
        if not text.strip():
            raise InputError(f"task {self.task_id!r}: the guidance is empty; reject it instead")
        return self.model_copy(update={"text": text.strip(), "text_before": self.text_before or self.text})


def load_rows(path: Path) -> dict[str, GuidanceRow]:
    """The rows of a guidance file by task id, in its order. Raises InputError: see `read_rows`."""
    return {row.task_id: row for _, row in read_rows(path)}


def read_rows(path: Path) -> list[tuple[str, GuidanceRow]]:
    """The rows of a guidance file with their places.

    Raises:
        InputError: the file cannot be read, a row is malformed or empty, or a task has two.
    """
    rows: list[tuple[str, GuidanceRow]] = []
    seen: set[str] = set()
    for place, row in read_models(path, GuidanceRow):
        if not row.text.strip():
            raise InputError(f"{place}: the guidance of task {row.task_id!r} is empty; leave the row out")
        if row.task_id in seen:
            raise InputError(f"{place}: task id {row.task_id!r} stands twice")
        seen.add(row.task_id)
        rows.append((place, row))
    return rows


def guidance_file(path: Path) -> RowFile[GuidanceRow]:
    """A guidance file that several commands may write at the same time."""
    return RowFile(path, read_rows)
