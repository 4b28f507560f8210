"""What was found of the ten sub-dimensions of writing.

Invariant: all ten are there, in their order, each with a mark or with the failure in its place.
"""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from local_judge.claims.model import Quote
from local_judge.documents.model import Frozen
from local_judge.judge.failures import Failure
from local_judge.protocols.dream.writing.rubric import IDS


class WritingMark(Frozen):
    """One sub-dimension, and what the judge gave it."""

    id: str
    score: int | None = Field(ge=0, le=100)
    """None where there is no answer: see `failure`."""
    rationale: str = ""
    quote: Quote | None = None
    """A passage of the report, found there by code; offsets into the report's text."""
    quote_rejected: str | None = None
    """What the judge gave as a quotation that does not occur in the report."""
    failure: Failure | None = None
    replies: tuple[str, ...] = ()
    """Ledger keys."""


class WritingFindings(Frozen):
    """The ten sub-dimensions of one report."""

    marks: tuple[WritingMark, ...]

    @property
    def n_failed(self) -> int:
        """Sub-dimensions without an answer."""
        return sum(mark.score is None for mark in self.marks)

    @model_validator(mode="after")
    def _all_ten(self) -> Self:
        if tuple(mark.id for mark in self.marks) != IDS:
            raise ValueError(f"sub-dimensions {[mark.id for mark in self.marks]}, not {list(IDS)}")
        return self
