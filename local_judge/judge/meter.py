"""Counts of what a judge has done, for progress bars and manifests.

Invariant: a question put to a judge is counted once where its reply came from (`made`, `replayed`, `planned`
or `failed`); token counts cover calls that were made, never replays.
"""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass
class Meter:
    """Running counts; read it at any time."""

    made: int = 0
    """Calls that the engine answered."""
    replayed: int = 0
    """Calls that the ledger answered, or that another task was making at the same moment."""
    failed: int = 0
    """Calls that the engine did not answer."""
    planned: int = 0
    """Calls that a dry run would have made."""
    reasked: int = 0
    """Calls among all of these that put a question again."""
    repaired: int = 0
    """Replies that were not JSON until they were repaired."""
    prompt_tokens: int = 0
    cached_tokens: int = 0
    """Prompt tokens that the engine says it took from its prefix cache."""
    completion_tokens: int = 0
    in_flight: int = 0
    """Calls at the engine now."""
    waiting: int = 0
    """Calls waiting for their turn now."""

    def add(self, other: Meter) -> None:
        """Count what another judge has done as well, as one that is asked in another way with the same ledger."""
        for field in fields(self):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))
