"""What a judge said of each criterion of a task's dimensions.

Invariant: each criterion of all dimensions has exactly one mark, in their order, with a score or with the failure that
left it open; without dimensions there is the failure that they were not drafted for, and no mark.
"""

from __future__ import annotations

from collections import Counter
from typing import Literal, Self

from pydantic import Field, model_validator

from local_judge.claims.model import Quote
from local_judge.documents.model import Frozen
from local_judge.judge.failures import Failure
from local_judge.protocols.deepresearcheval.quality.settings import Calls
from local_judge.tasks.model import QualityDimensions

TOP = 10.0
"""The highest score; the lowest is 0."""

Origin = Literal["task", "judge"]
"""Where the dimensions come from. `task`: they came with it. `judge`: this judge has drafted them in this run."""


class Mark(Frozen):
    """One criterion and its answer."""

    criterion: str
    """Its id."""
    score: float | None = Field(default=None, ge=0, le=TOP, allow_inf_nan=False)
    """To two decimals; None where it failed."""
    analysis: str = ""
    quote: Quote | None = None
    """A passage of the report, found there by code; offsets into the report's text."""
    quote_rejected: str | None = None
    """What the judge gave as a quotation that does not occur in the report."""
    failure: Failure | None = None
    replies: tuple[str, ...] = ()
    """Ledger keys."""


class QualityFindings(Frozen):
    """All criteria of one report."""

    dimensions: QualityDimensions | None
    """As the judge saw them, and the scores weigh them; None where none could be drafted."""
    origin: Origin
    drafted_by: tuple[str, ...] = ()
    """Ledger keys of the replies that drafted them."""
    calls: Calls = "dimension"
    failure: Failure | None = None
    """Why there are no dimensions."""
    marks: tuple[Mark, ...] = ()

    @property
    def n_failed(self) -> int:
        """Criteria without an answer; the one question for dimensions, where it has none."""
        return sum(mark.failure is not None for mark in self.marks) + (self.failure is not None)

    @model_validator(mode="after")
    def _complete(self) -> Self:
        dimensions = self.dimensions.dimensions if self.dimensions else ()
        wanted = [one.id for dimension in dimensions for one in dimension.criteria]
        found = [mark.criterion for mark in self.marks]
        if found != wanted or max(Counter(found).values(), default=1) > 1:
            raise ValueError(f"marks of {found}, not of {wanted}")
        if (self.failure is None) is (self.dimensions is None):
            raise ValueError("either dimensions, or the failure that there are none")
        if any((mark.score is None) is (mark.failure is None) for mark in self.marks):
            raise ValueError("a mark has a score, or a failure")
        return self
