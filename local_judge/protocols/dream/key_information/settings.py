"""What can be set of key-information coverage."""

from __future__ import annotations

from pydantic import Field

from serving.types import Frozen


class KeyInformationSettings(Frozen):
    """How the items of a plan are asked."""

    items_per_call: int = Field(default=20, ge=1, le=50)
    """A longer list is asked in several calls, which share the report."""
