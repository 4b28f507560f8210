"""The published ids of DEER's dimensions and sub-dimensions, with the paper's names for people.

Invariant: scoring stored findings reads these names and no rubric file, so that editing a rubric changes no score that
was already earned. An id that is not here, of a rubric of the user's own, is named after itself.
"""

from __future__ import annotations

from collections.abc import Mapping

INTEGRITY = "information_integrity"
SUFFICIENCY = "information_sufficiency"
QUALITY_OF_REFERENCES = "reference_quality"
RECENCY = "recency"
"""Sub-dimension of information integrity that is judged; the paper's 25 do not have it."""

ORDER: tuple[str, ...] = (
    "request_fulfillment",
    "analytical_soundness",
    "structural_coherence",
    "format_style",
    INTEGRITY,
    SUFFICIENCY,
    "ethics_compliance",
)
"""The seven dimensions as the paper's tables order them."""

LABELS: Mapping[str, str] = {
    "request_fulfillment": "Request Fulfillment",
    "completeness": "Completeness",
    "scope": "Scope",
    "helpfulness": "Helpfulness",
    "analytical_soundness": "Analytical Soundness",
    "quantification": "Quantification",
    "reasoning": "Reasoning",
    "structural_coherence": "Structural Coherence",
    "introduction": "Introduction",
    "body": "Body",
    "conclusion": "Conclusion",
    "section": "Section",
    "format_style": "Format & Style",
    "report_format": "Report Format",
    "writing_quality": "Writing Quality",
    "paragraph_quality": "Paragraph Quality",
    "readability": "Readability",
    INTEGRITY: "Information Integrity",
    RECENCY: "Recency",
    SUFFICIENCY: "Information Sufficiency",
    "ethics_compliance": "Ethics Compliance",
    "sensitive_handling": "Sensitive Handling",
    "safety_impact": "Safety & Impact",
    "perspective_balance": "Perspective Balance",
    "coverage": "Coverage",
    "quality": "Quality",
}


def label_of(id: str) -> str:
    """The paper's name of a dimension or sub-dimension."""
    return LABELS.get(id) or id.replace("_", " ").capitalize()
