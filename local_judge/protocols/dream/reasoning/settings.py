"""What can be set of reasoning quality."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

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
    tools: ToolSettings = ToolSettings(tools=("search", "search_papers", "search_code", "open", "find"))
    """What each agent is offered, and up to which day pages are shown."""
    deductions: int = Field(default=8, ge=1, le=20)
    """Most deductions on one question."""
    points: Points = Points()
