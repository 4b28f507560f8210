"""What can be set of adaptive quality."""

from __future__ import annotations

from typing import Literal

from serving.types import Frozen

Calls = Literal["dimension", "task"]
"""`dimension`: one call for each dimension, as in the published code. `task`: one for all criteria; the findings say
so."""


class QualitySettings(Frozen):
    """How quality is judged."""

    calls: Calls = "dimension"
    draft: bool = True
    """Let each judge draft the dimensions of a task that has none; without, such a task is refused."""
