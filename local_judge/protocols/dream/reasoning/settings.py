"""What can be set of reasoning quality."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

from pydantic import Field

from indexes.search.searcher import Mode
from local_judge.agents.actions import ToolName
from local_judge.agents.limits import AgentLimits
from local_judge.agents.toolbox import ToolSettings
from serving.types import Frozen

Severity = Literal["minor", "major", "critical"]
"""`minor`: the answer stands, a step is loose. `major`: a part of the answer does not follow. `critical`: the answer
falls with it."""

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
    tools: tuple[ToolName, ...] = ("search", "search_papers", "search_code", "open", "find")
    mode: Mode = "bm25"
    """How a search ranks."""
    as_of: date | None = None
    """Pages that were known only after this day are not shown."""
    deductions: int = Field(default=8, ge=1, le=20)
    """Most deductions on one question."""
    points: Points = Points()

    @property
    def toolbox(self) -> ToolSettings:
        """What an agent is offered."""
        return ToolSettings(tools=self.tools, mode=self.mode, as_of=self.as_of)
