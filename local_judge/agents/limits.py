"""How long an agent may work.

Invariant: every loop ends. Whatever a judge writes, there are at most `turns` turns, each of them one question that the
judge puts at most `1 + reasks` times, and the last of them asks for the answer alone.
"""

from __future__ import annotations

from pydantic import Field

from serving.types import Frozen


class AgentLimits(Frozen):
    """What one run may take. Reaching one of them asks the judge to finish in one more turn, with what it has."""

    turns: int = Field(default=12, ge=1)
    """Questions to the judge; in the last one it can only finish."""
    tokens: int = Field(default=200_000, ge=1)
    """Of all prompts and replies together, as the engine reports them. The turn ahead and the one in which it finishes
    have to fit. They are estimated from the last prompt and the bytes added to it: the sum may pass the limit by a
    little."""
    calls: int = Field(default=40, ge=1)
    """Queries, pages opened, and queries within pages."""
    repeats: int = Field(default=3, ge=1)
    """Actions that had been taken before. Each is answered by a note that says so."""
    reply_tokens: int = Field(default=1024, ge=16)
    """Of one reply."""
    context_tokens: int | None = Field(default=None, ge=1)
    """Of one prompt with its reply; None, or more than the judge has: all that it has."""
