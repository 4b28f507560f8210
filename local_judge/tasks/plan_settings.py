"""How plans are drafted: how much is wanted of a plan, and how long an agent may work for it.

Invariant: settings by which nothing would be planned are refused.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from local_judge.agents.limits import AgentLimits
from local_judge.agents.toolbox import ToolSettings
from serving.types import Frozen

ENOUGH = 5
"""Items with which no page is put to the judge by itself."""
REPLY_TOKENS_PER_ITEM = 220

PlanMethod = Literal["request", "retrieval", "agent"]
"""How key information is gathered. `request`: the judge is asked with the request alone. `retrieval`: behind the
passages that one search for the request finds. `agent`: by an agent that searches and opens pages."""

TOOLS = ToolSettings(tools=("search", "search_papers", "search_code", "open", "find"))


def reply_tokens(items: int) -> int:
    """Tokens of an agent's reply that so many items, a thought and the JSON around them take at most, about."""
    return 800 + REPLY_TOKENS_PER_ITEM * items


class PlanSettings(Frozen):
    """How plans are drafted."""

    method: PlanMethod = "agent"
    items: int = Field(default=15, ge=0, le=30)
    """The most items of key information; 0 for none."""
    questions: int = Field(default=4, ge=0, le=10)
    """The most reasoning questions; 0 for none."""
    pages: int = Field(default=8, ge=0, le=40)
    """With an agent, the most pages that are put to the judge one by one, while fewer than `least` items stand; 0 for
    none."""
    limits: AgentLimits = AgentLimits(turns=16, reply_tokens=4096)
    """Of the agent. All its items stand in one reply: see `reply_tokens`."""
    tools: ToolSettings = TOOLS

    @model_validator(mode="after")
    def _something(self) -> PlanSettings:
        if not (self.items or self.questions):
            raise ValueError("a plan without items and without questions plans nothing")
        return self

    @property
    def least(self) -> int:
        """The items with which no page is put to the judge by itself."""
        return min(ENOUGH, self.items)
