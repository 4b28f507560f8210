"""DeepResearchEval's findings: the answers to each criterion of quality, and the facts.

Invariant: each criterion of the dimensions has exactly one score or a failure, in their order. Without dimensions there
is the failure of drafting them, and no score.
"""

from __future__ import annotations

from collections import Counter
from typing import Literal, Self

from pydantic import Field, model_validator

from local_judge.claims.model import Quote
from local_judge.judge.failures import Failure
from local_judge.protocols.deepresearcheval.facts.findings import FactsFindings
from local_judge.protocols.metric import MetricFindings, PartFindings
from local_judge.tasks.model import QualityDimensions
from serving.types import Frozen

TOP = 10.0
"""Highest score; the lowest is 0."""

Calls = Literal["dimension", "task"]
"""`dimension`: one call for each dimension, as in the published code. `task`: one call for all criteria, noted in the
findings."""

Origin = Literal["task", "judge"]
"""Origin of the dimensions. `task`: part of the task. `judge`: drafted by this judge in this run."""


class CriterionScore(Frozen):
    """Answer to one criterion."""

    criterion: str
    """Id of the criterion."""
    score: float | None = Field(default=None, ge=0, le=TOP, allow_inf_nan=False)
    """Score to two decimals; None if it failed."""
    analysis: str = ""
    """Reason given by the judge."""
    quote: Quote | None = None
    """Passage of the report that code has found; offsets into the report's text."""
    quote_rejected: str | None = None
    """Quotation of the judge that does not occur in the report."""
    failure: Failure | None = None
    """Reason why there is no score."""
    replies: tuple[str, ...] = ()
    """Ledger keys."""


class QualityFindings(MetricFindings):
    """All criteria of one report."""

    dimensions: QualityDimensions | None
    """Dimensions as the judge saw them, with the weights of the scores; None if drafting failed."""
    origin: Origin
    drafted_by: tuple[str, ...] = ()
    """Ledger keys of the replies that drafted them."""
    calls: Calls = "dimension"
    """Setting of the run."""
    failure: Failure | None = None
    """Reason why there are no dimensions."""
    scores: tuple[CriterionScore, ...] = ()
    """Scores in the order of the criteria."""

    @property
    def n_failed(self) -> int:
        """Number of criteria without an answer, or 1 if there are no dimensions."""
        return sum(one.failure is not None for one in self.scores) + (self.failure is not None)

    @property
    def n_rejected(self) -> int:
        """Number of quotations that do not occur in the report."""
        return sum(one.quote_rejected is not None for one in self.scores)

    @property
    def by_criterion(self) -> dict[str, CriterionScore]:
        """Answers by the ids of their criteria."""
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


class DreFindings(PartFindings):
    """Findings of each part."""

    quality: QualityFindings | None = None
    facts: FactsFindings | None = None
