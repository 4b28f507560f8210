"""What can be set of adaptive quality."""

from __future__ import annotations

from serving.types import Frozen


class QualitySettings(Frozen):
    """How quality is judged."""
