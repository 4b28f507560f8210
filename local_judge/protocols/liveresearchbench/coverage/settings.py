"""What can be set of coverage."""

from __future__ import annotations

from pydantic import Field

from serving.types import Frozen


class CoverageSettings(Frozen):
    """How a checklist is asked."""

    items_per_call: int = Field(default=20, ge=1, le=50)
    """A longer checklist is asked in several calls, which share the report."""
