"""DeepResearchEval's findings: the answers to each criterion of quality, and the facts.

Invariant: each criterion of the dimensions has exactly one score or a failure, in their order. Without dimensions there
is the failure of drafting them, and no score.
"""

from __future__ import annotations

from collections import Counter
from typing import Literal, Self

from pydantic import model_validator

from local_judge.base.failures import Failure
from local_judge.protocols.deepresearcheval.facts.findings import FactsFindings
from local_judge.protocols.metric import MetricFindings, PartFindings
from local_judge.rubric.answers import Rating
from local_judge.tasks.model import QualityDimensions

TOP = 10.0
"""Highest score; the lowest is 0."""

Calls = Literal["dimension", "task"]
"""`dimension`: one call for each dimension, as in the published code. `task`: one call for all criteria, noted in the
findings."""

Origin = Literal["task", "judge"]
"""Origin of the dimensions. `task`: part of the task. `judge`: drafted by this judge in this run."""


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
    scores: tuple[Rating, ...] = ()
    """Scores in the order of the criteria."""

    @property
    def n_failed(self) -> int:
        """Number of criteria without an answer, or 1 if there are no dimensions."""
        return sum(score.failure is not None for score in self.scores) + (self.failure is not None)

    @property
    def n_rejected(self) -> int:
        """Number of quotations that do not occur in the report."""
        return sum(score.quote_rejected is not None for score in self.scores)

    @property
    def by_criterion(self) -> dict[str, Rating]:
        """Answers by the ids of their criteria."""
        return {score.id: score for score in self.scores}

    @model_validator(mode="after")
    def _complete(self) -> Self:
        dimensions = self.dimensions.dimensions if self.dimensions else ()
        wanted = [criterion.id for dimension in dimensions for criterion in dimension.criteria]
        found = [score.id for score in self.scores]
        if found != wanted or max(Counter(found).values(), default=1) > 1:
            raise ValueError(f"scores of {found}, not of {wanted}")
        if (self.failure is None) is (self.dimensions is None):
            raise ValueError("either dimensions, or the failure that there are none")
        if any((one.score is None) is (one.failure is None) for one in self.scores):
            raise ValueError("a criterion has a score, or a failure")
        if any(one.score is not None and one.score > TOP for one in self.scores):
            raise ValueError(f"a score is above {TOP:g}")
        return self


class DreFindings(PartFindings):
    """Findings of each part."""

    quality: QualityFindings | None = None
    facts: FactsFindings | None = None
