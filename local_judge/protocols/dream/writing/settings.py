"""What can be set of writing quality."""

from __future__ import annotations

from typing import Literal

from serving.types import Frozen


class WritingSettings(Frozen):
    """How writing quality is asked."""

    calls: Literal["one", "dimension", "subdimension"] = "one"
    """One call for all ten sub-dimensions, or one for each dimension, or for each sub-dimension. All share the report;
    the paper's words suggest one for each sub-dimension, and the fewer, the less each is judged by itself."""
