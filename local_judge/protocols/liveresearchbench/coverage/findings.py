"""What was found of a checklist.

Invariant: each of the checklist's items is there exactly once, in its order.
"""

from __future__ import annotations

from pydantic import Field

from local_judge.documents.model import Frozen
from local_judge.protocols.items import Item
from local_judge.tasks.model import GuidanceStatus, JoinedBy


class CoverageFindings(Frozen):
    """The items of one report's task."""

    items: tuple[Item, ...] = Field(min_length=1)
    status: GuidanceStatus
    """Where the checklist comes from."""
    joined: JoinedBy = "id"

    @property
    def n_failed(self) -> int:
        """Items without an answer."""
        return sum(item.status == "failed" for item in self.items)
