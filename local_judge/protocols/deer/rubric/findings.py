"""What the judge said of each item of the rubric.

Invariant: each item of the rubric stands here exactly once, in the rubric's order, with a score, as not applicable, or
with the failure that left it open; a score that guidance has capped keeps what the judge said.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from local_judge.claims.model import Quote
from local_judge.judge.failures import Failure
from local_judge.protocols.base import Decision
from local_judge.protocols.deer.names import OVERALL
from local_judge.protocols.deer.rubric.model import Path
from local_judge.tasks.model import Guidance
from serving.types import Frozen

Mode = Literal["items", "dimensions", "vanilla"]
"""What is scored: each item; each dimension as a whole; the report as a whole (DEER's ablation)."""

Status = Literal["scored", "not_applicable", "failed"]


class Grade(Frozen):
    """One question and its answer."""

    path: Path
    """Of the item; of the dimension in the mode `dimensions`; empty in the mode `vanilla`."""
    text: str = ""
    """What was asked, in the rubric's words; empty where that was a whole dimension or report."""
    status: Status
    score: int | None = None
    """From 1 to the scale; None unless `scored`."""
    judged: int | None = None
    """What the judge said before the cap; equal to `score` where nothing was capped."""
    rationale: str = ""
    quote: Quote | None = None
    """A passage of the report, found there by code; offsets into the report's text."""
    quote_rejected: str | None = None
    """What the judge gave as a quotation that does not occur in the report."""
    failure: Failure | None = None
    replies: tuple[str, ...] = ()
    """Ledger keys."""

    @property
    def capped(self) -> bool:
        """Whether unmet guidance lowered the score."""
        return self.judged is not None and self.score is not None and self.score < self.judged


class RubricFindings(Frozen):
    """All answers about one report."""

    mode: Mode = "items"
    scale: Literal[5, 10] = 10
    """The highest score; the lowest is 1."""
    guidance: Guidance | None = None
    """As the judge saw it; None where the task has none or the judge was not shown it."""
    guided: tuple[str, ...] = ()
    """Dimensions whose questions were asked with the guidance; none where the report was scored as a whole."""
    grades: tuple[Grade, ...]


def decisions_on_rubric(rubric: RubricFindings) -> Iterator[Decision]:
    """The scores by dimension, and of each item whether it applies at all."""
    for grade in rubric.grades:
        item = ".".join(grade.path)
        if grade.status != "not_applicable":
            metric = grade.path[0] if grade.path else OVERALL
            yield Decision(metric=metric, item=item, value=grade.score, scale="ordinal")
        applies = None if grade.status == "failed" else grade.status
        yield Decision(metric="applicability", item=item, value=applies, scale="nominal")
