"""Engines that make no calls: one counts them for a dry run, one stands for a judge that is only replayed.

Invariant: neither makes a call nor stores anything. Replies come from the ledger, so that a dry run counts exactly the
calls that the same command would make next, and a replay repeats what was answered. Calls that depend on missing
answers are not counted.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import NoReturn

from serving.engine import Engine, EngineWrapper, JsonSchema
from serving.errors import EngineError, PlannedCall
from serving.types import Choice, EngineIdentity, EngineLimits, Generation, Message, Sampling


class NotInLedger(EngineError):
    """A replayed judge has no stored reply to this call."""

    kind = "not_in_ledger"


STAGE: ContextVar[str] = ContextVar("stage", default="other")
"""Purpose of the calls of this task: `extraction`, `verification`, or the name of a protocol."""


@dataclass
class PlannedCalls:
    """Counts of the calls that would be made."""

    calls: int = 0
    prompt_tokens: int = 0
    most_output_tokens: int = 0
    """Sum of the limits of the replies."""


class PlanningEngine(EngineWrapper):
    """Stand-in for `engine` that counts calls and their prompt tokens, each different call once."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self._seen: set[int] = set()
        self.stages: defaultdict[str, PlannedCalls] = defaultdict(PlannedCalls)
        """Counts by stage."""

    @property
    def calls(self) -> int:
        """Number of calls."""
        return sum(stage.calls for stage in self.stages.values())

    @property
    def prompt_tokens(self) -> int:
        """Prompt tokens of these calls."""
        return sum(stage.prompt_tokens for stage in self.stages.values())

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
        most = sampling.max_tokens + (sampling.thinking_tokens if sampling.thinking else 0)
        return await self._count(messages, (sampling.model_dump_json(), json.dumps(schema)), most)

    async def choose(self, messages: Sequence[Message], options: Sequence[str]) -> Choice:
        """Count the call.

        Raises:
            PlannedCall: always.
        """
        return await self._count(messages, tuple(options), 1)

    async def _count(self, messages: Sequence[Message], how: tuple[str, ...], most: int) -> NoReturn:
        tokens = await self.count_tokens(messages)
        call = hash((tuple(messages), how))
        if call not in self._seen:
            self._seen.add(call)
            stage = self.stages[STAGE.get()]
            stage.calls += 1
            stage.prompt_tokens += tokens
            stage.most_output_tokens += most
        raise PlannedCall(f"dry run: a call with {tokens} prompt tokens would have been made")


class ReplayEngine:
    """Stand-in for the engine of a judge whose replies are in the ledger.

    Args:
        name: Name of the judge.
        identity: Identity of the engine that wrote the replies.
        limits: Limits of that engine.
    """

    def __init__(self, name: str, identity: EngineIdentity, limits: EngineLimits) -> None:
        self._name = name
        self._identity = identity
        self._limits = limits

    async def identity(self) -> EngineIdentity:
        """Return the identity given at construction."""
        return self._identity

    async def limits(self) -> EngineLimits:
        """Return the limits given at construction."""
        return self._limits

    async def count_tokens(self, messages: Sequence[Message]) -> int:
        """Refuse to count.

        Raises:
            NotInLedger: Always.
        """
        raise self._missing("the length of this prompt")

    async def generate(
        self,
        messages: Sequence[Message],
        sampling: Sampling,
        schema: JsonSchema | None = None,
        started: Callable[[], None] | None = None,
    ) -> Generation:
        """Refuse the call.

        Raises:
            NotInLedger: Always.
        """
        raise self._missing("a reply to this call")

    async def choose(self, messages: Sequence[Message], options: Sequence[str]) -> Choice:
        """Refuse the call.

        Raises:
            NotInLedger: Always.
        """
        raise self._missing("a reply to this call")

    async def aclose(self) -> None:
        """Do nothing."""

    def _missing(self, what: str) -> NotInLedger:
        return NotInLedger(f"the ledger does not have {what} by judge {self._name!r}")
