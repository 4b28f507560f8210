"""Settings, answers and findings of reasoning quality.

Invariant: each of the plan's questions occurs exactly once, in its order. A deduction counts only if its quotation
occurs in the report, the page that it names contains the words quoted from it, and no earlier one is of the same kind
at the same place. A question without any quotation that occurs in the report is a failure, not a score.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from local_judge.agents.citations import CheckedCitation
from local_judge.agents.result import AgentLimits, AgentResult
from local_judge.agents.toolbox import ToolSettings
from local_judge.base.failures import Failure
from local_judge.base.model import Frozen
from local_judge.claims.model import Quote
from local_judge.protocols.metric import MetricFindings
from local_judge.stats.sums import sum_in_order
from local_judge.tasks.model import GuidanceStatus, JoinedBy, ReasoningQuestion

Severity = Literal["minor", "major", "critical"]
"""Severity of a fault. `minor`: a step is loose, the answer stands. `major`: a part of the answer does not follow.
`critical`: the answer fails."""

Kind = Literal["gap", "unsupported_inference", "ignored_counter_evidence", "contradicted_premise"]
"""Kind of a fault; the first three are the paper's."""

Words = Annotated[str, Field(max_length=300)]


class FromPages(Frozen):
    """Deduction of an agent, which may name a page; the evidence comes first."""

    quote: Words
    kind: Kind
    reason: Words
    url: Annotated[str, Field(max_length=500)]
    page_quote: Words
    severity: Severity


class FromReport(Frozen):
    """Deduction of a judge that has only the report."""

    quote: Words
    kind: Kind
    reason: Words
    severity: Severity


class Assessment(Frozen):
    """Answer of an agent, without limits of length."""

    extracted: list[Words]
    deductions: list[FromPages]


class AssessmentAlone(Frozen):
    """Answer of a judge without tools, without limits of length."""

    extracted: list[Words]
    deductions: list[FromReport]


_Points = Annotated[float, Field(ge=0, le=10, allow_inf_nan=False)]


class Points(Frozen):
    """Points that a deduction takes from the ten of a question; the paper gives none."""

    minor: _Points = 1
    """Points for a minor fault."""
    major: _Points = 3
    """Points for a major fault."""
    critical: _Points = 6
    """Points for a critical fault."""

    def of(self, severity: Severity) -> float:
        """Return the points of one severity."""
        return {"minor": self.minor, "major": self.major, "critical": self.critical}[severity]


class ReasoningSettings(Frozen):
    """Settings of reasoning quality."""

    search: bool = True
    """True: an agent searches the snapshot for each question. False: the judge answers from the report alone."""
    limits: AgentLimits = AgentLimits(turns=10, calls=20, reply_tokens=2048)
    """Limits of each agent."""
    tools: ToolSettings = ToolSettings(tools=("search", "search_papers", "search_code", "open", "find"))
    """Tools of each agent, and the latest day of the pages shown."""
    deductions: int = Field(default=8, ge=1, le=20)
    """Maximum number of deductions for one question."""
    points: Points = Points()
    """Points that a deduction takes, by its severity."""


Fate = Literal["counted", "rejected", "unproven", "repeated"]
"""Result of checking a deduction. `rejected`: its quotation does not occur in the report. `unproven`: the page that it
names does not contain the words quoted, or was not shown to the agent. `repeated`: an earlier one is of the same kind
at the same place."""

FATES: tuple[Fate, ...] = ("counted", "rejected", "unproven", "repeated")


class Extract(Frozen):
    """Passage that the judge extracted from the report."""

    quoted: str
    quote: Quote | None
    """Place in the report; None if it does not occur there."""


class Deduction(Frozen):
    """One fault of reasoning as the judge gave it."""

    kind: Kind
    """Kind of flaw."""
    severity: Severity
    """Severity of the flaw."""
    points: float
    """Points that it takes if it counts."""
    reason: str
    """Reason given by the judge."""
    quoted: str
    """Quotation of the report by the judge."""
    quote: Quote | None = None
    """Place in the report; None if it does not occur there."""
    evidence: CheckedCitation | None = None
    """Checked citation of the page that shows it; None if none is named."""
    fate: Fate
    """Result of the checks."""
    of: int | None = None
    """Index of the deduction that it repeats."""


class QuestionFindings(Frozen):
    """Findings of one question."""

    question: ReasoningQuestion
    """Question with its plan."""
    extracted: tuple[Extract, ...] = ()
    """Passages of the report: `quoted` by the judge, and `quote`, their place in the report."""
    deductions: tuple[Deduction, ...] = ()
    """Deductions in the judge's order."""
    run: AgentResult[Assessment] | None = None
    """Run of the agent with its transcript; None without tools."""
    failure: Failure | None = None
    """Reason why there is no assessment."""
    replies: tuple[str, ...] = ()
    """Ledger keys."""

    @property
    def status(self) -> Literal["assessed", "unanswered", "failed"]:
        """Status of the question; `unanswered`: the report says nothing on it, according to the judge."""
        if self.failure is not None:
            return "failed"
        return "assessed" if self.extracted or self.deductions else "unanswered"

    def count(self, fate: Fate) -> int:
        """Count the deductions with this fate."""
        return sum(deduction.fate == fate for deduction in self.deductions)

    @property
    def points(self) -> float | None:
        """R = max(0, 10 - sum of the points of the deductions that count); 0 if unanswered, None if failed."""
        if self.status == "failed":
            return None
        if self.status == "unanswered":
            return 0.0
        return max(
            0.0,
            10.0
            - sum_in_order(deduction.points for deduction in self.deductions if deduction.fate == "counted"),
        )


class ReasoningFindings(MetricFindings):
    """Questions of one report's task."""

    questions: tuple[QuestionFindings, ...]
    limit: int
    """Maximum number of deductions for one question."""
    searched: bool
    """Flag: agents searched."""
    status: GuidanceStatus
    """Origin of the plan."""
    joined: JoinedBy = "id"

    @property
    def n_failed(self) -> int:
        """Number of questions without an assessment."""
        return sum(question.status == "failed" for question in self.questions)
