"""Files with a row for each task, which several commands may write concurrently, and the tasks that rows belong to.

Invariants: a row belongs to a task with its id unless their requests differ, else to a task with its request; a row
with the id of a task and another request is an error, never a silent match. A row is written only under a lock and on
the file's current content, so that it never replaces a row that another command has written.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, NamedTuple, Self, TypeVar

from pydantic import BaseModel

from local_judge.base.errors import InputError
from local_judge.base.rows import alone, line_of, read_jsonl, row_of, write_jsonl, write_lines
from local_judge.tasks.model import JoinedBy, Task

T = TypeVar("T")


class Keyed(NamedTuple, Generic[T]):
    """Content of a row, with the task that it is for."""

    place: str
    """File and line, for messages."""
    id: str | None
    prompt: str | None
    value: T


class Matched(NamedTuple, Generic[T]):
    """Rows of one task, in the file's order."""

    rows: Sequence[Keyed[T]]
    by: JoinedBy


class Rows(Generic[T]):
    """Rows that can be looked up by task.

    Args:
        rows: rows of a file.
        by_request: whether a row belongs to every task with its request, regardless of ids.
    """

    def __init__(self, rows: Sequence[Keyed[T]], *, by_request: bool = True) -> None:
        self.rows = rows
        self._by_id: dict[str, list[Keyed[T]]] = {}
        self._by_prompt: dict[str, list[Keyed[T]]] = {}
        for row in rows:
            if row.id is not None:
                self._by_id.setdefault(row.id, []).append(row)
            if by_request and row.prompt is not None:
                self._by_prompt.setdefault(row.prompt.strip(), []).append(row)

    def of(self, task: Task) -> Matched[T] | None:
        """Return the rows of `task`; None if there are none.

        Raises:
            InputError: a row has the task's id and another request, and no row has the task's request.
        """
        return self.find(task.id, task.prompt)

    def find(self, identity: str, prompt: str | None) -> Matched[T] | None:
        """Return the rows of a task by id and request; by id alone if the request is None. Raises as `of`."""
        wanted = prompt.strip() if prompt is not None else None
        same_id = self._by_id.get(identity, [])
        agreeing = [
            row for row in same_id if row.prompt is None or wanted is None or row.prompt.strip() == wanted
        ]
        if agreeing:
            return Matched(agreeing, "id")
        if wanted is not None and wanted in self._by_prompt:
            return Matched(self._by_prompt[wanted], "prompt")
        if same_id:
            raise InputError(
                f"{same_id[0].place}: is for a task {identity!r} with another request than the task of that id; "
                "correct the id or the prompt"
            )
        return None


class TaskRow(BaseModel):
    """Row of a file for one task."""

    @property
    @abstractmethod
    def key(self) -> str:
        """Id of the task."""

    @property
    @abstractmethod
    def request(self) -> str | None:
        """Request that finds the row for a task of another id; None if rows are found by id alone."""

    @property
    def name(self) -> str:
        """Name of the row in messages."""
        return f"task id {self.key!r}"

    @classmethod
    def parse(cls, data: dict[str, Any], place: str) -> Self:
        """Return a row from the data of a file. Raises InputError: the data is not a row; names `place`."""
        return row_of(cls, data, place)


R = TypeVar("R", bound=TaskRow)


def read_rows(path: Path, model: type[R]) -> list[tuple[str, R]]:
    """Read the rows of a file with their places.

    Raises:
        InputError: the file cannot be read, a row is invalid, or two rows have one key.
    """
    rows: dict[str, tuple[str, R]] = {}
    for place, data in read_jsonl(path):
        row = model.parse(data, place)
        if row.key in rows:
            raise InputError(f"{place}: {row.name} appears twice")
        rows[row.key] = place, row
    return list(rows.values())


class _Signature(NamedTuple):
    """Signature of a file that changes when the file is replaced."""

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
    """File with one row per task.

    Args:
        path: the file; it need not exist.
        model: model of a row.
        by_request: whether tasks with one request share a row; otherwise each has its own, as required of a file that
            is also read as tasks.
    """

    def __init__(self, path: Path, model: type[R], *, by_request: bool = True) -> None:
        self.path = path
        self._model = model
        self._by_request = by_request
        self._known: tuple[_Signature | None, Rows[R]] | None = None
        self._lines: dict[int, str] = {}

    def found(self) -> Rows[R]:
        """Return the current rows, to be looked up by task; none for a missing file. Raises InputError."""
        signature = _signature(self.path)
        # A file is always replaced, so an equal signature means equal content. Thousands of rows that are added one by
        # one are then not read again for each.
        if self._known is None or self._known[0] != signature:
            self._known = (
                signature,
                self._keyed(() if signature is None else read_rows(self.path, self._model)),
            )
            self._lines = {}
        return self._known[1]

    def _keyed(self, rows: Sequence[tuple[str, R]]) -> Rows[R]:
        return Rows(
            [Keyed(place, row.key, row.request, row) for place, row in rows], by_request=self._by_request
        )

    def rows(self) -> dict[str, R]:
        """Return the current rows by task id, in the file's order. Raises InputError."""
        return {entry.value.key: entry.value for entry in self.found().rows}

    def load(self) -> dict[str, R]:
        """Return the rows as `rows` does, of a file that must exist. Raises InputError."""
        return {row.key: row for _, row in read_rows(self.path, self._model)}

    def add(self, row: R, order: Mapping[str, int]) -> bool:
        """Add a row, unless its task has one.

        Args:
            row: the row of a task.
            order: position of each task's id; rows are written in this order, those of other tasks after them.

        Returns:
            True if the row was added.
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
        """Replace `before` by `after`.

        Raises:
            InputError: the row in the file has changed.
        """
        with alone(self.path):
            rows = self.rows()
            if rows.get(before.key) != before:
                raise InputError(
                    f"{self.path}: the row of task {before.key!r} was changed by another command; read it again"
                )
            rows[before.key] = after
            write_jsonl(self.path, rows.values())
