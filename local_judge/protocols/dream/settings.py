"""What can be set of DREAM.

Invariant: whatever changes an answer or its meaning is a field here, and is recorded in the run's manifest.
"""

from __future__ import annotations

from typing import Literal, get_args

from pydantic import Field, field_validator

from local_judge.protocols.dream.authority.settings import AuthoritySettings
from local_judge.protocols.dream.citation.settings import CitationSettings
from local_judge.protocols.dream.factuality.settings import FactualitySettings
from local_judge.protocols.dream.key_information.settings import KeyInformationSettings
from local_judge.protocols.dream.reasoning.settings import ReasoningSettings
from local_judge.protocols.dream.writing.settings import WritingSettings
from serving.types import Frozen

Part = Literal["writing", "factuality", "citation", "authority", "key_information", "reasoning"]
"""The metrics, in the order in which they are shown."""

PARTS: tuple[Part, ...] = get_args(Part)

DEFAULT: tuple[Part, ...] = PARTS
"""Those that are judged where nothing else is said."""


class DreamSettings(Frozen):
    """Which metrics are judged, and how. The settings of a metric stand under its name."""

    parts: tuple[Part, ...] = Field(default=DEFAULT, min_length=1)
    writing: WritingSettings = WritingSettings()
    factuality: FactualitySettings = FactualitySettings()
    citation: CitationSettings = CitationSettings()
    authority: AuthoritySettings = AuthoritySettings()
    key_information: KeyInformationSettings = KeyInformationSettings()
    reasoning: ReasoningSettings = ReasoningSettings()

    @field_validator("parts", mode="before")
    @classmethod
    def _one_part(cls, given: object) -> object:
        """`dream.parts=writing` is what a person writes for one."""
        return (given,) if isinstance(given, str) else given
