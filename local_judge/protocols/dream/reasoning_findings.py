"""How the reasoning questions of a plan are put, and what each of them costs a report.

Invariant: each of the plan's questions is there exactly once, in its order; a deduction counts only if the report has
its words, a page that it names has the words given of it, and no earlier one is of the same kind at the same place; a
question of which no quotation could be found in the report is a failure, and neither full marks nor none.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from local_judge.agents.citations import CheckedCitation
from local_judge.agents.result import AgentLimits, AgentResult
from local_judge.agents.toolbox import ToolSettings
from local_judge.claims.model import Quote
from local_judge.judge.failures import Failure
from local_judge.protocols.metric import MetricFindings
from local_judge.tasks.model import GuidanceStatus, JoinedBy, ReasoningQuestion
from serving.types import Frozen

Severity = Literal["minor", "major", "critical"]
"""`minor`: the answer stands, a step is loose. `major`: a part of the answer does not follow. `critical`: the answer
falls with it."""

Kind = Literal["gap", "unsupported_inference", "ignored_counter_evidence", "contradicted_premise"]
"""The first three are the paper's."""

Words = Annotated[str, Field(max_length=300)]


class FromPages(Frozen):
    """A deduction of an agent, which may name a page. Evidence comes before what follows from it."""

    quote: Words
    kind: Kind
    reason: Words
    url: Annotated[str, Field(max_length=500)]
    page_quote: Words
    severity: Severity


class FromReport(Frozen):
    """A deduction of a judge that has the report alone."""

    quote: Words
    kind: Kind
    reason: Words
    severity: Severity


class Assessment(Frozen):
    """What an agent answers, of whatever length."""

    extracted: list[Words]
    deductions: list[FromPages]


class AssessmentAlone(Frozen):
    """What a judge without tools answers, of whatever length."""

    extracted: list[Words]
    deductions: list[FromReport]


_Points = Annotated[float, Field(ge=0, le=10, allow_inf_nan=False)]


class Points(Frozen):
    """What a deduction takes of the ten points of a question; the paper gives no sizes."""

    minor: _Points = 1
    major: _Points = 3
    critical: _Points = 6

    def of(self, severity: Severity) -> float:
        """The points of one severity."""
        return {"minor": self.minor, "major": self.major, "critical": self.critical}[severity]


class ReasoningSettings(Frozen):
    """How the questions of a plan are put, and what deductions cost."""

    search: bool = True
    """An agent that searches the snapshot for each question; false: one question without tools, by the report alone."""
    limits: AgentLimits = AgentLimits(turns=10, calls=20, reply_tokens=2048)
    """Of each agent."""
    tools: ToolSettings = ToolSettings(tools=("search", "search_papers", "search_code", "open", "find"))
    """What each agent is offered, and up to which day pages are shown."""
    deductions: int = Field(default=8, ge=1, le=20)
    """Most deductions on one question."""
    points: Points = Points()


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


class ReasoningFindings(MetricFindings):
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
