"""Prompt tokens alone: whole prompts are read, one token is written, and the server's own counters say the rest.

Invariant: what is counted is what was sent; a server whose counters say otherwise is an error and no figure.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

from scripts.benchmarking.prefixes import BLOCK_TOKENS, ideal_computed
from scripts.benchmarking.vllm_server import PromptCounters, read_counters
from serving.engine import Engine, EngineWrapper, JsonSchema
from serving.types import Choice, Generation, Message, Sampling

Chat = tuple[Message, ...]


class Counting(Protocol):
    """Interface of a server, which `vllm_server.MeasuredServer` implements."""

    def empty_cache(self) -> None:
        """Forget all cached prefixes."""
        ...

    def metrics(self) -> str:
        """Return the text of `/metrics`."""
        ...

    def tokens(self, messages: Sequence[Message]) -> list[int]:
        """Token ids of a chat as the server renders it."""
        ...

    def counted(self, before: PromptCounters, expected: int) -> PromptCounters:
        """Return the counters since `before`, once they have caught up with the `expected` prompt tokens."""
        ...


class OneToken(EngineWrapper):
    """An engine that reads whole prompts and writes one token; remembers the prompts."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self.chats: list[Chat] = []

    async def generate(
        self,
        messages: Sequence[Message],
        sampling: Sampling,
        schema: JsonSchema | None = None,
        started: Callable[[], None] | None = None,
    ) -> Generation:
        """Return the first token, without a grammar."""
        self.chats.append(tuple(messages))
        one = sampling.model_copy(update={"max_tokens": 1})
        return await self._engine.generate(messages, one, None, started)

    async def choose(self, messages: Sequence[Message], options: Sequence[str]) -> Choice:
        """Return the request unchanged: it asks for one token anyway."""
        self.chats.append(tuple(messages))
        return await self._engine.choose(messages, options)


async def measured(
    server: Counting, engine: OneToken, work: Callable[[], Awaitable[object]], block: int = BLOCK_TOKENS
) -> dict[str, Any]:
    """Return the tokens that the server computed for `work`, and the minimum it had to with blocks of so many tokens.

    The prefix cache is emptied first.
    """
    server.empty_cache()
    before = read_counters(server.metrics())
    first, begun = len(engine.chats), time.perf_counter()
    await work()
    seconds = time.perf_counter() - begun
    prompts = [server.tokens(chat) for chat in engine.chats[first:]]
    grown = server.counted(before, sum(map(len, prompts)))
    ideal = ideal_computed(prompts, block)
    return {
        "calls": len(prompts),
        "prompt_tokens": grown.total,
        "computed": grown.computed,
        "ideal": ideal,
        "ratio": round(grown.computed / ideal, 4),
        "seconds": round(seconds, 1),
    }
