"""Dry runs: an engine that counts calls instead of making them.

Invariant: a dry run makes no call and stores nothing, and reads replies from the ledger, so that it counts exactly the
calls that the same command would make next. Calls that depend on missing answers are not counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NoReturn

from serving.engine import Engine, JsonSchema
from serving.errors import EngineError
from serving.types import Choice, EngineIdentity, EngineLimits, Generation, Message, Sampling


class PlannedCall(EngineError):
    """A dry run would have made this call."""

    kind = "planned"


class PlanningEngine:
    """Stand-in for `engine` that counts calls and their prompt tokens."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.calls = 0
        self.prompt_tokens = 0

    async def identity(self) -> EngineIdentity:
        """Return the identity of the engine."""
        return await self._engine.identity()

    async def limits(self) -> EngineLimits:
        """Return the limits of the engine."""
        return await self._engine.limits()

    async def count_tokens(self, messages: Sequence[Message]) -> int:
        """Return the prompt length in tokens, counted by the engine."""
        return await self._engine.count_tokens(messages)

    async def generate(
        self,
        messages: Sequence[Message],
        sampling: Sampling,
        schema: JsonSchema | None = None,
        started: Callable[[], None] | None = None,
    ) -> Generation:
        """Count the call.

        Raises:
            PlannedCall: Always.
        """
        return await self._count(messages)

    async def choose(self, messages: Sequence[Message], options: Sequence[str]) -> Choice:
        """Count the call.

        Raises:
            PlannedCall: always.
        """
        return await self._count(messages)

    async def aclose(self) -> None:
        """Close the engine."""
        await self._engine.aclose()

    async def _count(self, messages: Sequence[Message]) -> NoReturn:
        tokens = await self.count_tokens(messages)
        self.calls += 1
        self.prompt_tokens += tokens
        raise PlannedCall(f"dry run: a call with {tokens} prompt tokens would have been made")
