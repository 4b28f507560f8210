"""What can be set of active fact-checking.

Invariant: whatever changes an answer or its meaning is a field here, and is recorded in the run's manifest.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from local_judge.agents.limits import AgentLimits
from local_judge.agents.toolbox import ToolSettings
from serving.types import Frozen


class SegmentSettings(Frozen):
    """How a report is divided."""

    by: Literal["code", "judge"] = "code"
    """`judge`: it names the sentences that begin a segment; what is longer than the sizes is divided by code."""
    sentences: int = Field(default=12, ge=1, le=50)
    """Most sentences of a segment."""
    characters: int = Field(default=4000, ge=200)
    """Most characters of a segment's sentences; a longer sentence stands alone."""
    least: int = Field(default=3, ge=1)
    """`code`: a heading begins a new segment only behind one of at least so many sentences."""


class FactLimits(AgentLimits):
    """How long an agent may work on a statement. The published configuration allows 30 turns."""

    turns: int = Field(default=8, ge=1)
    tokens: int = Field(default=80_000, ge=1)
    calls: int = Field(default=16, ge=1)
    repeats: int = Field(default=2, ge=1)
    reply_tokens: int = Field(default=768, ge=16)
    """Of one reply, for each statement of the run."""


class FactsSettings(Frozen):
    """How statements are found, chosen and checked."""

    statements: Literal["own", "shared"] = "own"
    """`own`: asked for segment by segment. `shared`: the checkable claims of the claim set."""
    segments: SegmentSettings = SegmentSettings()
    shown: Literal["report", "segment"] = "report"
    """What stands in front of the question for a segment's statements: the report, as in every other prompt, or the
    segment with the report's headings; the published agent is shown the segment alone."""
    statements_per_sentence: int = Field(default=4, ge=1, le=8)
    """Most statements that a sentence may have."""
    max_statements: int | None = Field(default=None, ge=1)
    """Most statements of a report that are checked; None checks all. The published agent has no limit, and is told to
    choose the core statements of a segment."""
    choose: Literal["seed", "salience"] = "seed"
    """Which, where there are more: drawn by `seed`, each with the same chance; or salient ones first, drawn among
    equals."""
    seed: int = 0
    method: Literal["agent", "search"] = "agent"
    """`agent`: a judge searches and reads within `limits`. `search`: code searches for the statement, and the judge
    labels it by the passages found, in one call."""
    per_run: int = Field(default=1, ge=1, le=8)
    """Statements that one agent checks in one run."""
    limits: FactLimits = FactLimits()
    tools: ToolSettings = ToolSettings()
    passages: int = Field(default=5, ge=1, le=10)
    """`search`: passages for each query."""
