"""What was found of the ten checks.

Invariant: all ten are there, in their order.
"""

from __future__ import annotations

from typing import Self

from pydantic import model_validator

from local_judge.documents.model import Frozen
from local_judge.protocols.items import Item
from local_judge.protocols.liveresearchbench.presentation.checks import IDS


class PresentationFindings(Frozen):
    """The ten checks of one report."""

    checks: tuple[Item, ...]

    @property
    def n_failed(self) -> int:
        """Checks without an answer."""
        return sum(check.status == "failed" for check in self.checks)

    @model_validator(mode="after")
    def _all_ten(self) -> Self:
        if tuple(check.id for check in self.checks) != IDS:
            raise ValueError(f"checks {[check.id for check in self.checks]}, not {list(IDS)}")
        return self
