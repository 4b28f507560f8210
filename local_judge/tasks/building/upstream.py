"""The two filters as DeepResearchEval's published code computes them, on replies as they come.

Invariant: nothing is mended here. Whatever is truthy passes for true, a missing score counts 1.0, and a number that is
a text raises, as published; the build itself uses `filters`, which does none of this.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

THRESHOLD = 0.7


def passes_qualification(reply: Mapping[str, Any], threshold: float = THRESHOLD) -> bool:
    """`task_generation/filters/deep_research_filter.py`: needed, and confidence >= threshold, 0 where it is missing.

    Raises:
        TypeError: the confidence is no number.
    """
    needed = reply.get("needs_deep_research", False)
    return bool(needed) and bool(reply.get("confidence_score", 0) >= threshold)


def passes_necessity(reply: Mapping[str, Any], threshold: float = THRESHOLD) -> bool:
    """`task_generation/filters/quality_assessor.py`: low or medium, search required, score <= threshold.

    Raises:
        TypeError: the score is no number.
        AttributeError: the quality is no text.
    """
    poor = reply.get("overall_quality", "").lower() in ("low", "medium")
    required = reply.get("requires_search", False)
    return poor and bool(required) and bool(reply.get("quality_score", 1.0) <= threshold)
