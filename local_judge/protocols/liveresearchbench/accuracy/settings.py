"""What can be set of citation accuracy."""

from __future__ import annotations

from pydantic import Field

from serving.types import Frozen


class AccuracySettings(Frozen):
    """How cited pages are looked at."""

    opening_tokens: int = Field(default=300, ge=50, le=2000)
    """How much of a page, beside its title, says whether it is on topic; in estimated tokens (see
    `claims.evidence.estimate_tokens`), so that every judge sees the same."""
