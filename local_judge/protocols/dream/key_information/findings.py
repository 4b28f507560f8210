"""What was found of the key information of a plan.

Invariant: each of the plan's items is there exactly once, in its order, with the page that it rests on.
"""

from __future__ import annotations

from datetime import date
from typing import Self

from pydantic import model_validator

from local_judge.documents.model import Frozen
from local_judge.protocols.items import Item
from local_judge.tasks.model import GuidanceStatus, JoinedBy, KeySource


class KeyInformationFindings(Frozen):
    """The items of one report's task."""

    items: tuple[Item, ...]
    """Met: yes, the report says it. None of them where the plan has none."""
    sources: tuple[KeySource | None, ...]
    """The page that each item rests on; None where the plan names none."""
    status: GuidanceStatus
    """Where the plan comes from."""
    as_of: date | None = None
    """The day of the plan."""
    joined: JoinedBy = "id"

    @property
    def n_failed(self) -> int:
        """Items without an answer."""
        return sum(item.status == "failed" for item in self.items)

    @model_validator(mode="after")
    def _aligned(self) -> Self:
        if len(self.sources) != len(self.items):
            raise ValueError(f"{len(self.sources)} sources of {len(self.items)} items")
        return self
