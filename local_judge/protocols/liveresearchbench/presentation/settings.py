"""What can be set of the ten checks."""

from __future__ import annotations

from serving.types import Frozen


class PresentationSettings(Frozen):
    """How presentation is checked."""

    judge_all: bool = False
    """Ask the judge also what code can decide."""
