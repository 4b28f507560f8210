"""Prompts of DEER in a user's checkout: the rubric's, and those of the extraction and verification of claims."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from local_judge.protocols.originals import Checkout, Original, PromptSource, Published, original

RUBRIC_CALLS = (
    "request_fulfillment",
    "analytical_soundness",
    "structural_coherence",
    "format_style",
    "information_ethics",
)
"""Published names of the rubric's calls, in the order of `rubric.judging.CALLS`."""


def _read(checkout: Checkout) -> Mapping[str, Any]:
    rubric = checkout.source("prompts/prompt_report.py")
    processor = checkout.source("info_verification/claim_processor.py")
    utilities = checkout.source("info_verification/report_utils.py")
    return {
        **{name: rubric.returned(f"get_prompt_{name}") for name in RUBRIC_CALLS},
        "extraction_instructions": checkout.text("prompts/claim_classification_v10.txt"),
        "extraction_system": processor.assigned("extract_claims", "system_prompt"),
        "extraction_user": processor.assigned("extract_claims", "user_text"),
        "verification": checkout.template("prompts/claim_verification_v2.txt"),
        "reference_headings": utilities.literal("REF_PATTERNS"),
    }


DEER = Published(
    "DEER",
    "prompts/prompt_report.py",
    _read,
    {
        "e371a77cc1694e25a0be6786c257b50eee9b2988b455d8e626ff541f24ac3fe5": "f81bd9ce0afdecfe7389336731a4599cb4b02d2c"
    },
)


def prompts_from(source: PromptSource) -> Original:
    """Return the prompts of DEER. Raises ConfigError: see `originals.original`."""
    return original("deer", source, DEER)
