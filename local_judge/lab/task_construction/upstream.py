"""DeepResearchEval's two task filters to the letter, on what its judges reply (`task_generation`).

    needs deep research    needs_deep_research and confidence_score >= t
    needs a search         quality in {low, medium} and requires_search and quality_score <= t

Invariant: nothing is repaired. The text "false" is true, a missing confidence is 0, and a missing quality score is 1.
`filters` decides on typed replies instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

QUALITIES = ("low", "medium")


def needs_deep_research(reply: Mapping[str, Any], threshold: float) -> bool:
    """Whether the first filter keeps a task. Raises TypeError for a confidence that is no number."""
    return bool(reply.get("needs_deep_research", False)) and reply.get("confidence_score", 0.0) >= threshold


def needs_search(reply: Mapping[str, Any], threshold: float) -> bool:
    """Whether the second filter keeps a task. Raises TypeError for a score that is no number."""
    poor = str(reply.get("overall_quality", "")).lower() in QUALITIES
    required = bool(reply.get("requires_search", False))
    return poor and required and reply.get("quality_score", 1.0) <= threshold
