"""Counts of a judge's calls, for progress bars and manifests.

Invariant: a call is counted once, by the source of its reply (`made`, `replayed`, `planned` or `failed`); token counts
cover calls that were made, never replays.
"""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass
class Meter:
    """Running counts, which may be read at any time."""

    made: int = 0
    """Calls that the engine answered."""
    replayed: int = 0
    """Calls that the ledger answered, or that shared the reply of a concurrent equal call."""
    failed: int = 0
    """Calls that failed."""
    planned: int = 0
    """Calls that a dry run would have made."""
    reasked: int = 0
    """Calls, among all of these, that repeat a question."""
    repaired: int = 0
    """Replies that were valid JSON only after repair."""
    prompt_tokens: int = 0
    cached_tokens: int = 0
    """Prompt tokens that the engine took from its prefix cache."""
    completion_tokens: int = 0
    in_flight: int = 0
    """Calls in progress at the engine."""
    waiting: int = 0
    """Calls waiting for the scheduler."""

    def add(self, other: Meter) -> None:
        """Add the counts of another judge, such as one with other settings and the same ledger."""
        for field in fields(self):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))
