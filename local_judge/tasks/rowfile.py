"""Files with a row for each task, which several commands may write at the same time.

Invariant: a row is written only while nobody else writes the file, and on what the file holds at that instant, so that
no row takes the place of one that somebody else has put there meanwhile.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from pydantic import BaseModel

from local_judge.errors import InputError
from local_judge.rows import alone, line_of, write_jsonl, write_lines
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


class _Signature(NamedTuple):
    """What tells a file from the one that stood there before."""

    inode: int
    size: int
    changed: int


def _signature(path: Path) -> _Signature | None:
    try:
        stat = path.stat()
    except FileNotFoundError:
        return None
    return _Signature(stat.st_ino, stat.st_size, stat.st_mtime_ns)


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
        self._known: tuple[_Signature | None, Rows[R]] | None = None
        self._lines: dict[int, str] = {}

    def found(self) -> Rows[R]:
        """What it holds now, to be looked up by task; nothing where there is no such file. Raises InputError."""
        signature = _signature(self.path)
        # A file is replaced whole, so that one which looks as it did holds what it held: thousands of rows that are put
        # in one by one are not read again for each.
        if self._known is None or self._known[0] != signature:
            self._known = signature, self._keyed(() if signature is None else self._read(self.path))
            self._lines = {}
        return self._known[1]

    def _keyed(self, rows: Sequence[tuple[str, R]]) -> Rows[R]:
        return Rows(
            [Keyed(place, row.key, row.request, row) for place, row in rows], by_request=self._by_request
        )

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
            self._lines = {id(one): self._lines.get(id(one)) or line_of(one) for one in every}
            write_lines(self.path, self._lines.values())
            placed = [(f"{self.path}:{line}", one) for line, one in enumerate(every, 1)]
            self._known = _signature(self.path), self._keyed(placed)
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
