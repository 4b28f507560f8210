"""Guidance files: one row a task, with all that is known of how the guidance came about.

Invariants: a row is written only while nobody else writes the file, and on what the file holds at that instant, so that
a draft never takes the place of a review; what a person changed is kept beside what it was; a rejected draft reaches no
judge.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from local_judge.documents.model import Frozen
from local_judge.errors import InputError
from local_judge.rows import alone, is_text, read_jsonl, write_jsonl
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

    def reviewed(self, reviewer: str | None, text: str | None = None) -> GuidanceRow:
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

    def rejected(self, reviewer: str | None) -> GuidanceRow:
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


def load_guidance(path: Path) -> dict[str, Guidance]:
    """Guidance by task id; rejected drafts are left out.

    Raises:
        InputError: see `load_rows`.
    """
    return {
        task: Guidance(text=row.text, status=row.status, reviewer=row.reviewer)
        for task, row in load_rows(path).items()
        if row.status != "rejected"
    }


def load_rows(path: Path) -> dict[str, GuidanceRow]:
    """The rows of a guidance file by task id, in its order.

    Raises:
        InputError: the file cannot be read, a row is malformed or empty, or a task has two.
    """
    rows: dict[str, GuidanceRow] = {}
    for place, data in read_jsonl(path):
        if not is_text(json.dumps(data, ensure_ascii=False)):
            raise InputError(f"{place}: holds half a character (a lone surrogate), which cannot be written")
        try:
            row = GuidanceRow.model_validate(data)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "the whole"
            raise InputError(f"{place}: {where}: {first['msg']}") from None
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
