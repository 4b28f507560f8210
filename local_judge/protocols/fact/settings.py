"""Settings of FACT.

Invariant: whatever changes an answer or its meaning is a field here, and is recorded in the run's manifest.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from local_judge.base.model import Frozen
from local_judge.claims.config import ClaimsConfig


class FactSettings(Frozen):
    """Settings: where the pairs of statement and URL come from, and how they are judged."""

    claims: Literal["shared", "own"] = "shared"
    """`shared`: the claim set, which other protocols read too, without repeats. `own`: FACT's own flow: statements
    extracted, repeats taken out, support judged page by page."""
    recovered: bool = False
    """`shared`: also pairs with citations that back-tracking recovered; FACT knows only those written on a statement.
    """
    batch_sentences: int = Field(default=20, ge=1, le=50)
    """`own`: sentences in one extraction call."""
    statements_per_call: int = Field(default=20, ge=1, le=50)
    """`own`: statements on one page in one call."""
    evidence_tokens: int = Field(default=6000, ge=200)
    """`own`: a page up to this length is shown whole; of a longer one, passages up to this length."""
    passages_per_statement: int = Field(default=4, ge=1)
    """`own`: passages of a longer page that each statement may add."""

    @property
    def evidence(self) -> ClaimsConfig:
        """The part of these settings that selects passages in `own`, as the claim set names it."""
        return ClaimsConfig(
            claims_per_call=self.statements_per_call,
            evidence_tokens=self.evidence_tokens,
            passages_per_claim=self.passages_per_statement,
        )
