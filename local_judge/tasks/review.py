"""Review of a judge's drafts by a person.

Invariants: a row counts as reviewed only after a person has accepted or changed it; closing an editor without a change
decides nothing; a changed row also keeps the draft; rows that came with a task are not reviewed.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Generic, Literal, Self, TypeVar, cast

import yaml
from pydantic import BaseModel

from local_judge.base.errors import InputError
from local_judge.base.strict_yaml import load_yaml
from local_judge.tasks.model import Checklist, Criteria, Guidance, GuidanceStatus, Plan, QualityDimensions
from local_judge.tasks.rowfile import TaskRow
from serving.types import EngineIdentity

Decision = Literal["accept", "edit", "reject"]
Content = Guidance | Criteria | QualityDimensions | Checklist | Plan
C = TypeVar("C", bound=Content)
RowStatus = Literal["given", "drafted", "reviewed", "rejected"]
"""Like `GuidanceStatus`; `rejected`: drafted, then refused by a person, and not used by any run."""


class DraftRow(TaskRow, Generic[C]):
    """Row that came with its task, or that a judge drafted and a person may review."""

    what: ClassVar[str]
    """Name of its content in messages."""

    status: RowStatus = "given"
    """Review of the row: `given` was not drafted, and a run does not read `rejected`."""
    judge: EngineIdentity | None = None
    """Judge that drafted it."""
    replies: tuple[str, ...] = ()
    """Ledger keys of the judge's replies."""
    reviewer: str | None = None
    """Person who decided on it."""

    @property
    def content(self) -> C | None:
        """Content as a task holds it; None for a rejected draft."""
        return None if self.status == "rejected" else self.as_content(self.status)

    @abstractmethod
    def as_content(self, status: GuidanceStatus) -> C:
        """Return the content as a task holds it, with this status."""

    @property
    @abstractmethod
    def editable(self) -> str:
        """Text that a person edits."""

    @abstractmethod
    def edited(self, text: str) -> Self:
        """Return the row with an edited `editable`, keeping the earlier content; the status stays the same.

        Raises:
            InputError: `text` is not valid content.
        """

    def reviewed(self, reviewer: str, text: str | None = None) -> Self:
        """Return the row as accepted by a person, with `text` instead of its `editable` if given.

        Raises:
            InputError: the row was not drafted, or the text is not valid content.
        """
        self._reviewable()
        changed = text is not None and text.strip() != self.editable.strip()
        row = self.edited(text) if changed and text is not None else self
        return row.model_copy(update={"status": "reviewed", "reviewer": reviewer})

    def rejected(self, reviewer: str) -> Self:
        """Return the row as rejected by a person; it is kept, and not used by any run.

        Raises:
            InputError: the row was not drafted.
        """
        self._reviewable()
        return self.model_copy(update={"status": "rejected", "reviewer": reviewer})

    def _reviewable(self) -> None:
        if self.status == "given":
            raise InputError(
                f"task {self.key!r}: its {self.what} was given, not drafted; edit the file itself"
            )


class OwnRow(DraftRow[C], Generic[C]):
    """Row in this project's own form."""

    task_id: str
    """Id of the task."""
    task: str | None = None
    """Request of the task; of a draft, the one that it was drafted for."""

    @property
    def key(self) -> str:
        """Id of the task."""
        return self.task_id

    @property
    def request(self) -> str | None:
        """Request of the task."""
        return self.task


D = TypeVar("D", bound=DraftRow[Any])
P = TypeVar("P", bound=BaseModel)


def part_of(row: DraftRow[Any], part: type[P]) -> P:
    """Return the fields of a row that `part` has, which a person edits."""
    return part.model_validate(row.model_dump(mode="json", include=set(part.model_fields)))


def with_part(row: D, part: type[BaseModel], text: str) -> D:
    """Return the row with the fields of `part` from YAML or JSON, and the earlier ones under `before`.

    Raises:
        InputError: the text is not YAML, has other keys, or makes an invalid row.
    """
    place = f"task {row.key!r}"
    data, names = from_yaml(text, place), sorted(part.model_fields)
    if not isinstance(data, dict) or set(cast("dict[object, object]", data)) != set(names):
        s = "s" if len(names) > 1 else ""
        raise InputError(f"{place}: expected the key{s} {' and '.join(names)} and no other{s}")
    new, earlier = (
        row.parse({**row.model_dump(mode="json"), **cast("dict[str, Any]", data)}, place),
        part_of(row, part),
    )
    if part_of(new, part) == earlier:
        return row
    return new.model_copy(update={"before": getattr(row, "before", None) or earlier})


def as_yaml(data: object) -> str:
    """Return data as YAML for a person to edit."""
    return yaml.safe_dump(data, allow_unicode=True, sort_keys=False, width=100)


def from_yaml(text: str, place: str) -> object:
    """Read edited YAML. Raises InputError: the text is not YAML; names `place`."""
    try:
        return load_yaml(text)
    except ValueError as error:
        raise InputError(f"{place}: not YAML: {' '.join(str(error).split())}") from None


def decide(row: D, decision: Decision, reviewer: str, edit: Callable[[str], str]) -> D | None:
    """Return the row after a decision; None if editing left the text unchanged.

    Args:
        row: a draft, or a row that was decided on before.
        decision: `edit` accepts the edited text.
        reviewer: person who decides.
        edit: returns the edited text; called for `edit` only.

    Raises:
        InputError: the row was not drafted, or the edited text is not valid content.
    """
    if decision == "reject":
        return row.rejected(reviewer)
    accepted = row.reviewed(reviewer)  # refuses a row that cannot be reviewed before an editor opens
    if decision == "accept":
        return accepted
    text = edit(row.editable)
    return None if text.strip() == row.editable.strip() else row.reviewed(reviewer, text)
