"""The published tree of the rubric: which items there are, whatever their words.

Invariant: 17 sub-dimensions, 46 criteria, 101 items, of which 66 ask for coverage and 35 for quality. These totals
include `information_integrity.recency`, the one part of that dimension that a judge scores.
"""

from __future__ import annotations

from local_judge.protocols.deer.rubric.model import Path

STRUCTURE: dict[str, dict[str, tuple[str, ...]]] = {
    "request_fulfillment": {
        "completeness": ("C1-1 C1-2 Q1-1 Q1-2", "C2-1 C2-2 Q2-1 Q2-2"),
        "scope": ("C1-1 C1-2 C1-3 C1-4 Q1-1 Q1-2",),
        "helpfulness": ("C1-1 Q1-1 Q1-2", "C2-1 C2-2 Q2-1 Q2-2", "C3-1"),
    },
    "analytical_soundness": {
        "quantification": ("C1-1", "C2-1 C2-2 Q2-1", "C3-1 Q3-1", "C4-1", "C5-1"),
        "reasoning": (
            "C1-1 C1-2 Q1-1",
            "C2-1 C2-2 Q2-1",
            "C3-1 C3-2 Q3-1",
            "C4-1 Q4-1",
            "C5-1 C5-2 Q5-1",
            "C6-1 Q6-1",
        ),
    },
    "structural_coherence": {
        "introduction": ("C1-1 Q1-1 Q1-2 Q1-3", "Q2-1", "C3-1 Q3-1", "Q4-1"),
        "body": ("C1-1 C1-2 C1-3 C1-4", "C2-1 C2-2"),
        "conclusion": ("Q1-1", "Q2-1"),
        "section": ("C1-1", "C2-1 C2-2 C2-3 Q2-1", "C3-1 C3-2 Q3-1"),
    },
    "format_style": {
        "report_format": ("C1-1 C1-2", "C2-1 C2-2", "C3-2"),
        "writing_quality": ("C1-1", "C2-1", "C3-1 C3-2", "C4-1"),
        "paragraph_quality": ("C1-1 Q1-1", "C2-1 C2-2", "C3-1"),
        "readability": ("C1-1", "Q2-1"),
    },
    "information_integrity": {"recency": ("C1-1 C1-2 C1-3",)},
    "ethics_compliance": {
        "sensitive_handling": ("Q1-1 Q1-2", "C2-1 C2-2"),
        "safety_impact": ("C1-1 C1-2 Q1-1 Q1-2", "C2-1"),
        "perspective_balance": ("C1-1 Q1-1",),
    },
}
"""Of each sub-dimension, the items of its criteria, which are numbered from 1. There is a C3-2 of `report_format`
and no C3-1."""

BANDS = ((9, 10), (7, 8), (5, 6), (3, 4), (1, 2))
"""Lowest and highest score of each band of the scale."""


def published_paths(dimension: str) -> tuple[Path, ...]:
    """The paths of all items of a dimension, in order. Raises KeyError."""
    return tuple(
        (dimension, subdimension, str(number), item)
        for subdimension, criteria in STRUCTURE[dimension].items()
        for number, items in enumerate(criteria, 1)
        for item in items.split()
    )
