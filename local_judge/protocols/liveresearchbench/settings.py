"""What can be set of LiveResearchBench.

Invariant: whatever changes an answer or its meaning is a field here, and is recorded in the run's manifest.
"""

from __future__ import annotations

from typing import Literal, get_args

from pydantic import Field, field_validator

from serving.types import Frozen

Part = Literal["presentation", "coverage", "consistency", "citation", "accuracy"]
"""The metrics, in the paper's order."""

PARTS: tuple[Part, ...] = get_args(Part)


class LrbSettings(Frozen):
    """Which metrics are judged, and how."""

    parts: tuple[Part, ...] = Field(default=PARTS, min_length=1)

    @field_validator("parts", mode="before")
    @classmethod
    def _one_part(cls, given: object) -> object:
        """`liveresearchbench.parts=coverage` is what a person writes for one."""
        return (given,) if isinstance(given, str) else given
