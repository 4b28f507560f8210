"""What can be set of LiveResearchBench.

Invariant: whatever changes an answer or its meaning is a field here, and is recorded in the run's manifest.
"""

from __future__ import annotations

from typing import Literal, get_args

from pydantic import Field, field_validator

from local_judge.protocols.liveresearchbench.accuracy.settings import AccuracySettings
from local_judge.protocols.liveresearchbench.coverage.settings import CoverageSettings
from local_judge.protocols.liveresearchbench.depth.settings import DepthSettings
from local_judge.protocols.liveresearchbench.issues.settings import IssueSettings
from local_judge.protocols.liveresearchbench.presentation.settings import PresentationSettings
from serving.types import Frozen

Part = Literal["presentation", "coverage", "consistency", "citation", "accuracy", "depth"]
"""The metrics. `citation`: citation association; `accuracy`: citation accuracy."""

PARTS: tuple[Part, ...] = get_args(Part)

DEFAULT: tuple[Part, ...] = tuple(part for part in PARTS if part != "depth")
"""Depth compares a report with others, and is judged where it is asked for."""


class LrbSettings(Frozen):
    """Which metrics are judged, and how."""

    parts: tuple[Part, ...] = Field(default=DEFAULT, min_length=1)
    presentation: PresentationSettings = PresentationSettings()
    coverage: CoverageSettings = CoverageSettings()
    issues: IssueSettings = IssueSettings()
    """Of consistency and citation association alike."""
    accuracy: AccuracySettings = AccuracySettings()
    depth: DepthSettings = DepthSettings()

    @field_validator("parts", mode="before")
    @classmethod
    def _one_part(cls, given: object) -> object:
        """`liveresearchbench.parts=coverage` is what a person writes for one."""
        return (given,) if isinstance(given, str) else given
