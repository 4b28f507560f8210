"""What a judge said of each criterion of a task's dimensions.

Invariant: each criterion of all dimensions has exactly one score, in their order, or the failure that left it open;
without dimensions there is the failure that they were not drafted for, and no score.
"""

from __future__ import annotations

from collections import Counter
from typing import Literal, Self

from pydantic import Field, model_validator

from local_judge.claims.model import Quote
from local_judge.judge.failures import Failure
from local_judge.protocols.metric import MetricFindings
from local_judge.tasks.model import QualityDimensions
from serving.types import Frozen

TOP = 10.0
"""The highest score; the lowest is 0."""

Calls = Literal["dimension", "task"]
"""`dimension`: one call for each dimension, as in the published code. `task`: one for all criteria; the findings say
so."""

Origin = Literal["task", "judge"]
"""Where the dimensions come from. `task`: they came with it. `judge`: this judge has drafted them in this run."""


class CriterionScore(Frozen):
    """The answer to one criterion."""

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


class QualityFindings(MetricFindings):
    """All criteria of one report."""

    dimensions: QualityDimensions | None
    """As the judge saw them, and the scores weigh them; None where none could be drafted."""
    origin: Origin
    drafted_by: tuple[str, ...] = ()
    """Ledger keys of the replies that drafted them."""
    calls: Calls = "dimension"
    failure: Failure | None = None
    """Why there are no dimensions."""
    scores: tuple[CriterionScore, ...] = ()

    @property
    def n_failed(self) -> int:
        """Criteria without an answer; the one question for dimensions, where it has none."""
        return sum(one.failure is not None for one in self.scores) + (self.failure is not None)

    @property
    def n_rejected(self) -> int:
        """Quotations that do not occur in the report."""
        return sum(one.quote_rejected is not None for one in self.scores)

    @property
    def by_criterion(self) -> dict[str, CriterionScore]:
        """The answers by the ids of their criteria."""
        return {one.criterion: one for one in self.scores}

    @model_validator(mode="after")
    def _complete(self) -> Self:
        dimensions = self.dimensions.dimensions if self.dimensions else ()
        wanted = [one.id for dimension in dimensions for one in dimension.criteria]
        found = [one.criterion for one in self.scores]
        if found != wanted or max(Counter(found).values(), default=1) > 1:
            raise ValueError(f"scores of {found}, not of {wanted}")
        if (self.failure is None) is (self.dimensions is None):
            raise ValueError("either dimensions, or the failure that there are none")
        if any((one.score is None) is (one.failure is None) for one in self.scores):
            raise ValueError("a criterion has a score, or a failure")
        return self
