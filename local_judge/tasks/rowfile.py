"""Files with a row for each task, which several commands may write at the same time.

Invariant: a row is written only while nobody else writes the file, and on what the file holds at that instant, so that
no row takes the place of one that somebody else has put there meanwhile.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import BaseModel

from local_judge.errors import InputError
from local_judge.rows import alone, write_jsonl
from local_judge.tasks.joining import Keyed, Rows


class TaskRow(BaseModel):
    """What a file holds for one task."""

    @property
    @abstractmethod
    def key(self) -> str:
        """The task's id."""

    @property
    @abstractmethod
    def request(self) -> str | None:
        """The request that finds the row for a task of another id; None where rows are found by id alone."""


R = TypeVar("R", bound=TaskRow)


class RowFile(Generic[R]):
    """A file of rows, one a task.

    Args:
        path: the file; it need not exist.
        read: its rows with their places, in the file's order; raises InputError for what is no such file.
        by_request: whether tasks of one request share a row; else each has its own, as a file that is read as tasks
            must have.
    """

    def __init__(
        self, path: Path, read: Callable[[Path], Sequence[tuple[str, R]]], *, by_request: bool = True
    ) -> None:
        self.path = path
        self._read = read
        self._by_request = by_request

    def found(self) -> Rows[R]:
        """What it holds now, to be looked up by task; nothing where there is no such file. Raises InputError."""
        rows: Sequence[tuple[str, R]] = self._read(self.path) if self.path.exists() else ()
        keyed = [Keyed(place, row.key, row.request, row) for place, row in rows]
        return Rows(keyed, by_request=self._by_request)

    def rows(self) -> dict[str, R]:
        """What it holds now, by task id in the file's order. Raises InputError."""
        return {entry.value.key: entry.value for entry in self.found().rows}

    def load(self) -> dict[str, R]:
        """As `rows`, of a file that has to be there. Raises InputError."""
        return {row.key: row for _, row in self._read(self.path)}

    def add(self, row: R, order: Mapping[str, int]) -> bool:
        """Put a row in, unless its task has one.

        Args:
            row: of a task.
            order: place of each task's id; rows are written in this order, those of other tasks after them.

        Returns:
            Whether it was put in.
        """
        with alone(self.path):
            found = self.found()
            if found.find(row.key, row.request) is not None:
                return False
            every = [*(entry.value for entry in found.rows), row]
            every.sort(key=lambda one: order.get(one.key, len(order)))
            write_jsonl(self.path, every)
        return True

    def replace(self, before: R, after: R) -> None:
        """Put `after` in the place of `before`.

        Raises:
            InputError: the file holds something else there by now.
        """
        with alone(self.path):
            rows = self.rows()
            if rows.get(before.key) != before:
                raise InputError(
                    f"{self.path}: the row of task {before.key!r} was changed meanwhile; look again"
                )
            rows[before.key] = after
            write_jsonl(self.path, rows.values())
