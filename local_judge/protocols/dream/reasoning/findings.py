"""The reasoning questions of a plan, and what each of them costs a report.

Invariant: each of the plan's questions is there exactly once, in its order; a deduction counts only if the report has
its words, a page that it names has the words given of it, and no earlier one is of the same kind at the same place; a
question of which no quotation could be found in the report is a failure, and neither full marks nor none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from local_judge.agents.citations import CheckedCitation
from local_judge.agents.result import AgentResult, Wish
from local_judge.claims.model import Quote
from local_judge.documents.model import Frozen
from local_judge.judge.failures import Failure
from local_judge.protocols.dream.reasoning.asking import Assessment, Kind
from local_judge.protocols.dream.reasoning.settings import Severity
from local_judge.tasks.model import GuidanceStatus, JoinedBy, ReasoningQuestion

Fate = Literal["counted", "rejected", "unproven", "repeated"]
"""`rejected`: the report does not have its words. `unproven`: the page that it names does not have the words given, or
the agent was shown nothing of it. `repeated`: an earlier one is of the same kind at the same place."""

FATES: tuple[Fate, ...] = ("counted", "rejected", "unproven", "repeated")


class Extract(Frozen):
    """A passage that the judge took from the report."""

    quoted: str
    quote: Quote | None
    """Where the report has it; None where it has not."""


class Deduction(Frozen):
    """One fault of reasoning as the judge gave it."""

    kind: Kind
    severity: Severity
    points: float
    """What it takes if it counts."""
    reason: str
    quoted: str
    """The judge's quotation of the report."""
    quote: Quote | None = None
    """Where the report has it."""
    evidence: CheckedCitation | None = None
    """The page that shows it, looked up; None where none is named."""
    fate: Fate
    of: int | None = None
    """Index of the deduction that it repeats."""


class QuestionFindings(Frozen):
    """One question."""

    question: ReasoningQuestion
    extracted: tuple[Extract, ...] = ()
    deductions: tuple[Deduction, ...] = ()
    run: AgentResult[Assessment] | None = None
    """Of the agent, with its transcript; None where it was asked without tools."""
    failure: Failure | None = None
    """Why there is no assessment."""
    replies: tuple[str, ...] = ()
    """Ledger keys."""

    @property
    def status(self) -> Literal["assessed", "unanswered", "failed"]:
        """`unanswered`: the report says nothing on it, says the judge."""
        if self.failure is not None:
            return "failed"
        return "assessed" if self.extracted or self.deductions else "unanswered"

    def count(self, fate: Fate) -> int:
        """How many deductions met it."""
        return sum(one.fate == fate for one in self.deductions)

    @property
    def points(self) -> float | None:
        """R = max(0, 10 - sum of the points of the deductions that count); 0 if unanswered, None if failed."""
        if self.status == "failed":
            return None
        if self.status == "unanswered":
            return 0.0
        return max(0.0, 10.0 - sum(one.points for one in self.deductions if one.fate == "counted"))


class ReasoningFindings(Frozen):
    """The questions of one report's task."""

    questions: tuple[QuestionFindings, ...]
    limit: int
    """Most deductions that could be listed on one question."""
    searched: bool
    """Whether agents looked things up."""
    status: GuidanceStatus
    """Where the plan comes from."""
    joined: JoinedBy = "id"

    @property
    def n_failed(self) -> int:
        """Questions without an assessment."""
        return sum(one.status == "failed" for one in self.questions)

    @property
    def wishes(self) -> Sequence[Wish]:
        """What the agents missed in the snapshot."""
        return [wish for one in self.questions if one.run is not None for wish in one.run.wishes]
