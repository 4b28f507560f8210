"""A person's decision on what a judge has drafted.

Invariants: nothing counts as reviewed that no person has accepted or changed; an editor that is closed without a change
decides nothing; what a person changed is kept beside what it was; what was given is not decided on.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar, Literal, Self, TypeVar

from local_judge.errors import InputError
from local_judge.tasks.rowfile import TaskRow
from serving.types import EngineIdentity

Decision = Literal["accept", "edit", "reject"]
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


D = TypeVar("D", bound=DraftRow)


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
