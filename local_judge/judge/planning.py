"""Dry runs: an engine that counts what it would have been asked.

Invariant: a dry run makes no call and stores nothing; what the ledger holds it answers from there, so the
plan counts exactly the calls that the same command would make next. Questions that depend on answers not yet
had are not in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NoReturn

from serving.engine import Engine, JsonSchema
from serving.errors import EngineError
from serving.types import Choice, EngineIdentity, EngineLimits, Generation, Message, Sampling


class PlannedCall(EngineError):
    """A call that a dry run would have made."""

    kind = "planned"


class PlanningEngine:
    """Stands for `engine` in a dry run; without one, for the judge named by `identity`.

    `calls` and `prompt_tokens` count what would have been sent; tokens by the engine's own tokenizer, or,
    without an engine, UTF-8 bytes (an upper bound).
    """

    def __init__(
        self,
        engine: Engine | None = None,
        *,
        identity: EngineIdentity | None = None,
        limits: EngineLimits | None = None,
    ) -> None:
        self._engine = engine
        self._identity = identity
        self._limits = limits
        self.calls = 0
        self.prompt_tokens = 0

    async def identity(self) -> EngineIdentity:
        """The identity given, else the engine's."""
        if self._identity is None and self._engine is not None:
            self._identity = await self._engine.identity()
        return self._identity or EngineIdentity(model="none", engine="planning")

    async def limits(self) -> EngineLimits:
        """The limits given, else the engine's; without either, none that matters."""
        if self._limits is None and self._engine is not None:
            self._limits = await self._engine.limits()
        return self._limits or EngineLimits(context_tokens=2**31 - 1)

    async def count_tokens(self, messages: Sequence[Message]) -> int:
        """Prompt length in tokens; without an engine, in UTF-8 bytes."""
        if self._engine is not None:
            return await self._engine.count_tokens(messages)
        return sum(len(message.content.encode()) for message in messages)

    async def generate(
        self,
        messages: Sequence[Message],
        sampling: Sampling,
        schema: JsonSchema | None = None,
        started: Callable[[], None] | None = None,
    ) -> Generation:
        """Count the call.

        Raises:
            PlannedCall: always.
        """
        return await self._count(messages)

    async def choose(self, messages: Sequence[Message], options: Sequence[str]) -> Choice:
        """Count the call.

        Raises:
            PlannedCall: always.
        """
        return await self._count(messages)

    async def aclose(self) -> None:
        """Close the engine that this one stands for."""
        if self._engine is not None:
            await self._engine.aclose()

    async def _count(self, messages: Sequence[Message]) -> NoReturn:
        tokens = await self.count_tokens(messages)
        self.calls += 1
        self.prompt_tokens += tokens
        raise PlannedCall(f"dry run: a call with {tokens} prompt tokens would have been made")
