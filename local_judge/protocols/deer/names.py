"""The ids of DEER's dimensions and of the parts that its two halves share.

Invariant: the published ids, in the order of the paper's tables.
"""

from __future__ import annotations

INTEGRITY = "information_integrity"
SUFFICIENCY = "information_sufficiency"
REFERENCE_QUALITY = "reference_quality"
"""Sub-dimension of information integrity that the published code extends by recency."""
RECENCY = "recency"
"""Sub-dimension of information integrity that is judged; the paper's 25 do not have it."""
OVERALL = "overall"

JUDGED: tuple[str, ...] = (
    "request_fulfillment",
    "analytical_soundness",
    "structural_coherence",
    "format_style",
    "ethics_compliance",
)
"""The dimensions that are the judge's alone."""

RUBRIC: tuple[str, ...] = (*JUDGED[:4], INTEGRITY, *JUDGED[4:])
"""The dimensions of which the rubric has items: of information integrity those of recency."""

SEVEN: tuple[str, ...] = (*JUDGED[:4], INTEGRITY, SUFFICIENCY, *JUDGED[4:])
"""All dimensions."""
