"""What is asked about places.

Invariant: whatever changes an answer is a field here.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from local_judge.planting.model import FlawKind
from serving.types import Frozen

Pairwise = Literal["short", "depth", "race"]


class PositionSettings(Frozen):
    """How much is asked."""

    questions: tuple[Pairwise, ...] = ("short", "depth", "race")
    reports: int | None = Field(default=None, ge=1)
    """The first so many; None for all."""
    words: int = Field(default=150, ge=20)
    """`short`: so many words of each, or a little more, to the end of a paragraph."""
    flaw: FlawKind = "reasoning"
    """Of the twins that reports are compared with."""
    claims: int = Field(default=40, ge=0)
    """Planted claims that are asked about with the options named in both orders."""
