"""Guidance files: one row a task, with all that is known of how the guidance came about.

Invariants: a row is written only while nobody else writes the file, and on what the file holds at that instant, so that
a draft never takes the place of a review; what a person changed is kept beside what it was; a rejected draft reaches no
judge.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from local_judge.documents.model import Frozen
from local_judge.errors import InputError
from local_judge.rows import alone, read_models, write_jsonl
from local_judge.tasks.model import Guidance
from local_judge.tasks.points import Point
from serving.types import EngineIdentity

RowStatus = Literal["given", "drafted", "reviewed", "rejected"]


class GuidanceRow(Frozen):
    """One line of a guidance file."""

    task_id: str
    text: str
    """What a judge is shown."""
    status: RowStatus = "given"
    task: str | None = None
    """The request as it was when the guidance was drafted."""
    language: str = "und"
    """ISO 639-1 code of the request."""
    points: tuple[Point, ...] = ()
    """As drafted; a review changes the text and leaves them."""
    judge: EngineIdentity | None = None
    snapshot: str | None = None
    """Digest of the snapshot that the judge was shown passages of."""
    passages: tuple[str, ...] = ()
    """Ids of these passages, in the order in which they were shown."""
    replies: tuple[str, ...] = ()
    """Ledger keys of the judge's replies."""
    reviewer: str | None = None
    text_before: str | None = None
    """As drafted, where a reviewer changed it."""

    @property
    def guidance(self) -> Guidance | None:
        """What a judge is shown; None for a rejected draft."""
        if self.status == "rejected":
            return None
        return Guidance(text=self.text, status=self.status, reviewer=self.reviewer)

    def reviewed(self, reviewer: str, text: str | None = None) -> GuidanceRow:
        """The row accepted by a person, with `text` in the place of its own if given.

        Raises:
            InputError: it is nothing to review, or the text is empty.
        """
        self._reviewable()
        changes: dict[str, object] = {"status": "reviewed", "reviewer": reviewer}
        if text is not None and text.strip() != self.text:
            if not text.strip():
                raise InputError(f"task {self.task_id!r}: the guidance is empty; reject it instead")
            changes |= {"text": text.strip(), "text_before": self.text_before or self.text}
        return self.model_copy(update=changes)

    def rejected(self, reviewer: str) -> GuidanceRow:
        """The row refused by a person: kept, and read by no run.

        Raises:
            InputError: it is nothing to review.
        """
        self._reviewable()
        return self.model_copy(update={"status": "rejected", "reviewer": reviewer})

    def _reviewable(self) -> None:
        if self.status == "given":
            raise InputError(
                f"task {self.task_id!r}: its guidance was given, not drafted; edit the file itself"
            )


def load_rows(path: Path) -> dict[str, GuidanceRow]:
    """The rows of a guidance file by task id, in its order.

    Raises:
        InputError: the file cannot be read, a row is malformed or empty, or a task has two.
    """
    rows: dict[str, GuidanceRow] = {}
    for place, row in read_models(path, GuidanceRow):
        if not row.text.strip():
            raise InputError(f"{place}: the guidance of task {row.task_id!r} is empty; leave the row out")
        if row.task_id in rows:
            raise InputError(f"{place}: task id {row.task_id!r} stands twice")
        rows[row.task_id] = row
    return rows


class GuidanceFile:
    """A guidance file that several commands may write at the same time."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def rows(self) -> dict[str, GuidanceRow]:
        """What it holds now; nothing where there is no such file. Raises InputError."""
        return load_rows(self.path) if self.path.exists() else {}

    def add(self, row: GuidanceRow, order: Mapping[str, int]) -> bool:
        """Put a row in, unless its task has one.

        Args:
            row: of a task.
            order: place of each task; rows are written in this order, those of other tasks after them.

        Returns:
            Whether it was put in.
        """
        with alone(self.path):
            rows = self.rows()
            if row.task_id in rows:
                return False
            rows[row.task_id] = row
            ordered = sorted(rows, key=lambda task: order.get(task, len(order)))
            write_jsonl(self.path, [rows[task] for task in ordered])
        return True

    def replace(self, before: GuidanceRow, after: GuidanceRow) -> None:
        """Put `after` in the place of `before`.

        Raises:
            InputError: the file holds something else there by now.
        """
        with alone(self.path):
            rows = self.rows()
            if rows.get(before.task_id) != before:
                raise InputError(
                    f"{self.path}: the row of task {before.task_id!r} was changed meanwhile; look again"
                )
            rows[before.task_id] = after
            write_jsonl(self.path, rows.values())
