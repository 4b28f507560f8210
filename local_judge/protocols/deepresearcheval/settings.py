"""What can be set of DeepResearchEval.

Invariant: whatever changes an answer or its meaning is a field here, and is recorded in the run's manifest.
"""

from __future__ import annotations

from typing import Literal, get_args

from pydantic import Field, field_validator

from local_judge.protocols.deepresearcheval.facts.settings import FactsSettings
from local_judge.protocols.deepresearcheval.quality.settings import QualitySettings
from serving.types import Frozen

Part = Literal["quality", "facts"]
"""`quality`: adaptive point-wise quality. `facts`: statements checked against what a search finds."""

PARTS: tuple[Part, ...] = get_args(Part)


class DreSettings(Frozen):
    """Which parts are judged, and how."""

    parts: tuple[Part, ...] = Field(default=PARTS, min_length=1)
    quality: QualitySettings = QualitySettings()
    facts: FactsSettings = FactsSettings()

    @field_validator("parts", mode="before")
    @classmethod
    def _one_part(cls, given: object) -> object:
        """`deepresearcheval.parts=quality` is what a person writes for one."""
        return (given,) if isinstance(given, str) else given
