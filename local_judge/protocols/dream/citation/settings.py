"""What can be set of citation integrity."""

from __future__ import annotations

from typing import Literal

from serving.types import Frozen

Unit = Literal["claim", "pair"]
Unsettled = Literal["neutral", "unverifiable"]


class CitationSettings(Frozen):
    """What counts as cited, and what is counted."""

    unit: Unit = "claim"
    """What faithfulness counts: a claim by the best that its sources say of it, or each claim and source."""
    unsettled: Unsettled = "neutral"
    """How faithfulness counts a page that is read and does not settle the claim: as `neutral`, which is 0 and in the
    denominator, or as `unverifiable`, which is left out like a source without a text."""
    recovered: bool = False
    """Take a claim for cited also where its citation stands on an earlier sentence that it rests on."""
