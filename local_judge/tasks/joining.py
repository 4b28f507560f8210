"""Rows of a file and the tasks that they belong to.

Invariant: a row is joined by the task's id where their requests do not contradict each other, else by the request; a
row that has the id of a task and another request is an error, never a silent match.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeVar

from local_judge.errors import InputError
from local_judge.tasks.model import JoinedBy, Task

T = TypeVar("T")


class Keyed(NamedTuple, Generic[T]):
    """What a row holds for a task."""

    place: str
    """File and line, for messages."""
    id: str | None
    prompt: str | None
    value: T


class Matched(NamedTuple, Generic[T]):
    """The rows of one task, in the file's order."""

    rows: Sequence[Keyed[T]]
    by: JoinedBy


class Rows(Generic[T]):
    """Rows that can be looked up by task.

    Args:
        rows: of a file.
        by_request: whether a row is that of every task with its request, whatever the ids.
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
        """The rows of `task`; None where there are none.

        Raises:
            InputError: a row has the task's id and another request, and no row has the task's request.
        """
        return self.find(task.id, task.prompt)

    def find(self, identity: str, prompt: str | None) -> Matched[T] | None:
        """The rows of the task with this id and request; None for the request finds by id alone. Raises as `of`."""
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
