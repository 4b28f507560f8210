"""How a judge is qualified.

Invariant: whatever changes a page is a field here; a part that is not chosen is not asked, and is named on the page.
"""

from __future__ import annotations

from typing import get_args

from pydantic import Field

from local_judge.qualification.model import PartName
from local_judge.qualification.parts.position import PositionSettings
from local_judge.qualification.parts.retest import RetestSettings
from local_judge.qualification.parts.sensitivity.settings import SensitivitySettings
from local_judge.qualification.parts.verification import VerificationSettings
from serving.types import Frozen

PARTS: tuple[PartName, ...] = get_args(PartName)


class QualifyConfig(Frozen):
    """All settings of a qualification."""

    parts: tuple[PartName, ...] = PARTS
    verification: VerificationSettings = VerificationSettings()
    retest: RetestSettings = RetestSettings()
    position: PositionSettings = PositionSettings()
    sensitivity: SensitivitySettings = SensitivitySettings()
    reasks: int = Field(default=2, ge=0, le=5)
    seed: int = 0
    draws: int = Field(default=1000, ge=0, le=100_000)
    """Of each interval's bootstrap."""
