"""A person's decision on drafted guidance.

Invariant: nothing counts as reviewed that no person has accepted or changed; an editor that is closed without a change
decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from local_judge.tasks.guidance import GuidanceRow

Decision = Literal["accept", "edit", "reject"]


def decide(
    row: GuidanceRow, decision: Decision, reviewer: str, edit: Callable[[str], str]
) -> GuidanceRow | None:
    """The row after a decision; None where editing left the text as it was.

    Args:
        row: drafted, or decided on before.
        decision: to `edit` is to accept what the editor gives back.
        reviewer: who decides.
        edit: gives back what a person made of a text; called for `edit` only.

    Raises:
        InputError: the row's guidance was given and not drafted, or what was saved is empty.
    """
    if decision == "reject":
        return row.rejected(reviewer)
    accepted = row.reviewed(reviewer)  # what cannot be reviewed is refused before an editor opens
    if decision == "accept":
        return accepted
    text = edit(row.text)
    return None if text.strip() == row.text.strip() else row.reviewed(reviewer, text)
