"""A person's decision on what a judge has drafted.

Invariants: nothing counts as reviewed that no person has accepted or changed; an editor that is closed without a change
decides nothing; what a person changed is kept beside what it was; what was given is not decided on.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Literal, Self, TypeVar, cast

import yaml
from pydantic import BaseModel

from local_judge.errors import InputError
from local_judge.rows import row_of
from local_judge.tasks.model import Checklist, Criteria, Guidance, Plan, QualityDimensions
from local_judge.tasks.rowfile import TaskRow
from serving.strict_yaml import load_yaml
from serving.types import EngineIdentity

Decision = Literal["accept", "edit", "reject"]
Content = Guidance | Criteria | QualityDimensions | Checklist | Plan
RowStatus = Literal["given", "drafted", "reviewed", "rejected"]
"""As `GuidanceStatus`; `rejected`: drafted, then refused by a person, and read by no run."""


class DraftRow(TaskRow):
    """A row that came with its task, or that a judge has drafted and a person may decide on."""

    what: ClassVar[str]
    """What it holds, for messages."""

    status: RowStatus = "given"
    judge: EngineIdentity | None = None
    """Who drafted it."""
    replies: tuple[str, ...] = ()
    """Ledger keys of the judge's replies."""
    reviewer: str | None = None
    """Who decided on it."""

    @classmethod
    def parse(cls, data: dict[str, Any], place: str) -> Self:
        """A row from the data of a file. Raises InputError, which says `place`: it is none."""
        return row_of(cls, data, place)

    @property
    @abstractmethod
    def content(self) -> Content | None:
        """As a task holds it; None for a rejected draft."""

    @property
    @abstractmethod
    def editable(self) -> str:
        """What a person is given to edit."""

    @abstractmethod
    def edited(self, text: str) -> Self:
        """The row with what a person made of `editable`, and with what it was before; its status stays.

        Raises:
            InputError: `text` is none that the row could hold.
        """

    def reviewed(self, reviewer: str, text: str | None = None) -> Self:
        """The row accepted by a person, with `text` in the place of its `editable` if given.

        Raises:
            InputError: it is nothing to review, or the text cannot stand there.
        """
        self._reviewable()
        changed = text is not None and text.strip() != self.editable.strip()
        row = self.edited(text) if changed and text is not None else self
        return row.model_copy(update={"status": "reviewed", "reviewer": reviewer})

    def rejected(self, reviewer: str) -> Self:
        """The row refused by a person: kept, and read by no run.

        Raises:
            InputError: it is nothing to review.
        """
        self._reviewable()
        return self.model_copy(update={"status": "rejected", "reviewer": reviewer})

    def _reviewable(self) -> None:
        if self.status == "given":
            raise InputError(
                f"task {self.key!r}: its {self.what} was given, not drafted; edit the file itself"
            )


class OwnRow(DraftRow):
    """A row in this project's own form."""

    task_id: str
    task: str | None = None
    """The request; of a draft, as it was drafted for."""

    @property
    def key(self) -> str:
        """The task's id."""
        return self.task_id

    @property
    def request(self) -> str | None:
        """The task's request."""
        return self.task


D = TypeVar("D", bound=DraftRow)
P = TypeVar("P", bound=BaseModel)


def part_of(row: DraftRow, part: type[P]) -> P:
    """The fields of a row that `part` has too: what a person edits."""
    return part.model_validate(row.model_dump(mode="json", include=set(part.model_fields)))


def with_part(row: D, part: type[BaseModel], text: str) -> D:
    """The row with the fields of `part` from YAML, or JSON.

    Raises:
        InputError: the text is neither, has other keys, or a file with this row could not be read.
    """
    place = f"task {row.key!r}"
    data, names = from_yaml(text, place), sorted(part.model_fields)
    if not isinstance(data, dict) or set(cast("dict[object, object]", data)) != set(names):
        s = "s" if len(names) > 1 else ""
        raise InputError(f"{place}: expected the key{s} {' and '.join(names)} and no other{s}")
    return row.parse({**row.model_dump(mode="json"), **cast("dict[str, Any]", data)}, place)


def as_yaml(data: object) -> str:
    """Data as a person edits it."""
    return yaml.safe_dump(data, allow_unicode=True, sort_keys=False, width=100)


def from_yaml(text: str, place: str) -> object:
    """What a person made of it. Raises InputError, which says `place`: it is no YAML."""
    try:
        return load_yaml(text)
    except ValueError as error:
        raise InputError(f"{place}: no YAML: {' '.join(str(error).split())}") from None


def decide(row: D, decision: Decision, reviewer: str, edit: Callable[[str], str]) -> D | None:
    """The row after a decision; None where editing left the text as it was.

    Args:
        row: drafted, or decided on before.
        decision: to `edit` is to accept what the editor gives back.
        reviewer: who decides.
        edit: gives back what a person made of a text; called for `edit` only.

    Raises:
        InputError: what the row holds was given and not drafted, or what was saved cannot stand there.
    """
    if decision == "reject":
        return row.rejected(reviewer)
    accepted = row.reviewed(reviewer)  # what cannot be reviewed is refused before an editor opens
    if decision == "accept":
        return accepted
    text = edit(row.editable)
    return None if text.strip() == row.editable.strip() else row.reviewed(reviewer, text)
