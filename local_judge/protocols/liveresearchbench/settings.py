"""What can be set of LiveResearchBench.

Invariant: whatever changes an answer or its meaning is a field here, and is recorded in the run's manifest.
"""

from __future__ import annotations

from typing import Literal, get_args

from pydantic import Field, field_validator

from local_judge.protocols.liveresearchbench.accuracy.settings import AccuracySettings
from local_judge.protocols.liveresearchbench.coverage.settings import CoverageSettings
from local_judge.protocols.liveresearchbench.issues.settings import IssueSettings
from local_judge.protocols.liveresearchbench.presentation.settings import PresentationSettings
from serving.types import Frozen

Part = Literal["presentation", "coverage", "consistency", "citation", "accuracy"]
"""The metrics. `citation`: citation association; `accuracy`: citation accuracy."""

PARTS: tuple[Part, ...] = get_args(Part)


class LrbSettings(Frozen):
    """Which metrics are judged, and how."""

    parts: tuple[Part, ...] = Field(default=PARTS, min_length=1)
    presentation: PresentationSettings = PresentationSettings()
    coverage: CoverageSettings = CoverageSettings()
    issues: IssueSettings = IssueSettings()
    """Of consistency and citation association alike."""
    accuracy: AccuracySettings = AccuracySettings()

    @field_validator("parts", mode="before")
    @classmethod
    def _one_part(cls, given: object) -> object:
        """`liveresearchbench.parts=coverage` is what a person writes for one."""
        return (given,) if isinstance(given, str) else given
