"""What can be set of factuality."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from local_judge.agents.actions import MOST_PASSAGES, MOST_QUERIES
from local_judge.agents.limits import AgentLimits
from local_judge.agents.toolbox import ToolSettings
from serving.types import Frozen

Method = Literal["batched", "agent"]


class FactualitySettings(Frozen):
    """Which claims are checked, and how."""

    n_claims: int = Field(default=30, ge=1, le=200)
    """The most salient of the claims that can be verified."""
    method: Method = "batched"
    """`batched`: queries for many claims in one call, one search, one call for claims that share passages. `agent`: for
    each claim an agent searches and reads by itself; dearer by an order of magnitude."""
    queries_per_claim: int = Field(default=2, ge=1, le=MOST_QUERIES)
    claims_per_query_call: int = Field(default=10, ge=1, le=30)
    """Claims for which one call writes queries."""
    rounds: int = Field(default=2, ge=0, le=5)
    """How often a judge is asked anew for the claims of which no query was neutral, before code makes one."""
    passages_per_query: int = Field(default=4, ge=1, le=MOST_PASSAGES)
    evidence_tokens: int = Field(default=3000, ge=200)
    """Of the passages in one call, in estimated tokens (see `claims.evidence.estimate_tokens`)."""
    claims_per_call: int = Field(default=4, ge=1, le=20)
    """Claims judged in one call, where they share passages."""
    quotations: Literal["required", "optional"] = "required"
    """`required`: a label other than unverifiable rests on a quotation that occurs in the passages, or is a failure."""
    tools: ToolSettings = ToolSettings()
    """How the snapshot is searched; which tools there are concerns agents alone."""
    limits: AgentLimits = AgentLimits()
    """Of one agent."""
