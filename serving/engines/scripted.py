"""Engine without a model, for tests: answers from a script, records every call, and raises any engine error.

Invariant: it is deterministic. The k-th call gets the k-th entry of the script, and usage depends only on the earlier
prompts.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from serving.engine import JsonSchema
from serving.errors import PromptTooLong, ServingError
from serving.types import Choice, EngineIdentity, EngineLimits, Generation, Message, Sampling, Usage

BLOCK_TOKENS = 16
"""Tokens per block of the KV cache, as in vLLM; prefixes are shared in whole blocks."""

CHARACTERS_PER_TOKEN = 4


@dataclass(frozen=True)
class Call:
    """One recorded call."""

    messages: tuple[Message, ...]
    sampling: Sampling | None = None
    """Sampling parameters; None for `choose`."""
    schema: JsonSchema | None = None
    options: tuple[str, ...] | None = None
    """Options of `choose`; None for `generate`."""
    streamed: bool = False
    """True if `started` was given."""

    @property
    def prompt(self) -> str:
        """Texts of all messages, concatenated."""
        return "".join(message.content for message in self.messages)


Reply = str | Mapping[str, Any] | Generation | Choice | BaseException
"""A text; a mapping, which is a JSON object for `generate` and probabilities by option for `choose`; a complete result;
or an exception to raise."""

Script = Iterable[Reply] | Callable[[Call], Reply]


class ScriptExhausted(AssertionError):
    """There were more calls than replies in the script."""


@dataclass
class PrefixCache:
    """Trie of the token blocks seen so far, of unlimited size."""

    root: dict[str, Any] = field(default_factory=dict[str, Any])

    def add(self, text: str) -> tuple[int, int]:
        """Add the whole blocks of `text`; return its number of tokens and how many of them were cached.

        As in vLLM the last token is always computed, so that fewer tokens are cached than the prompt has.
        """
        tokens = max(1, math.ceil(len(text) / CHARACTERS_PER_TOKEN))
        width = BLOCK_TOKENS * CHARACTERS_PER_TOKEN
        node, hits, fresh = self.root, 0, False
        for start in range(0, len(text) - width + 1, width):
            block = text[start : start + width]
            fresh = fresh or block not in node
            hits += not fresh
            node = node.setdefault(block, {})
        return tokens, min(hits, (tokens - 1) // BLOCK_TOKENS) * BLOCK_TOKENS


class ScriptedEngine:
    """An engine without a model.

    Args:
        script: Replies in the order of the calls, or a function of the call.
        model: Model name in the identity.
        delay: Duration of every call in seconds.
        context_tokens: Context; a longer prompt raises `PromptTooLong` and takes no reply from the script.
        kv_tokens, concurrency: Further limits.
        options: Options in the identity.
    """

    def __init__(
        self,
        script: Script = (),
        *,
        model: str = "scripted",
        delay: float = 0.0,
        context_tokens: int = 32_768,
        kv_tokens: int | None = None,
        concurrency: int = 64,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.calls: list[Call] = []
        """All calls in order."""
        self.in_flight = 0
        self.peak_in_flight = 0
        self.closed = False
        self.delay = delay
        self._function = script if callable(script) else None
        self._replies: deque[Reply] = deque(() if callable(script) else script)
        self._identity = EngineIdentity(
            model=model, engine="scripted", engine_version="1", options=dict(options or {})
        )
        self._limits = EngineLimits(
            context_tokens=context_tokens, kv_tokens=kv_tokens, concurrency=concurrency
        )
        self._cache = PrefixCache()

    @property
    def remaining(self) -> int:
        """Number of unused replies."""
        return len(self._replies)

    async def identity(self) -> EngineIdentity:
        """Return the identity given at construction."""
        return self._identity

    async def limits(self) -> EngineLimits:
        """Return the limits given at construction."""
        return self._limits

    async def count_tokens(self, messages: Sequence[Message]) -> int:
        """Return a quarter of the number of characters, rounded up."""
        length = sum(len(message.content) for message in messages)
        return max(1, math.ceil(length / CHARACTERS_PER_TOKEN))

    async def generate(
        self,
        messages: Sequence[Message],
        sampling: Sampling,
        schema: JsonSchema | None = None,
        started: Callable[[], None] | None = None,
    ) -> Generation:
        """Return the script's next reply, with simulated usage for a text or a JSON object."""
        call = Call(tuple(messages), sampling, schema, streamed=started is not None)
        reply, prompt_tokens, cached = await self._next(call)
        if started is not None:
            started()
        if isinstance(reply, Generation):
            return reply
        if isinstance(reply, Choice):
            raise TypeError(f"the script has a Choice where `generate` was call {len(self.calls)}")
        text = reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False)
        written = max(1, math.ceil(len(text) / CHARACTERS_PER_TOKEN))
        usage = Usage(prompt_tokens=prompt_tokens, completion_tokens=written, cached_tokens=cached)
        return Generation(text=text, usage=usage)

    async def choose(self, messages: Sequence[Message], options: Sequence[str]) -> Choice:
        """Return the script's next reply: a `Choice`, probabilities by option, or one certain option."""
        call = Call(tuple(messages), options=tuple(options))
        reply, prompt_tokens, cached = await self._next(call)
        if isinstance(reply, Choice):
            return reply
        if isinstance(reply, Generation):
            raise TypeError(f"the script has a Generation where `choose` was call {len(self.calls)}")
        given = {reply: 1.0} if isinstance(reply, str) else reply
        if not set(given) <= set(options):
            raise ValueError(f"the script answers {sorted(given)} where the options are {sorted(options)}")
        floor = 1e-9
        logprobs = {option: math.log(max(floor, float(given.get(option, 0.0)))) for option in options}
        usage = Usage(prompt_tokens=prompt_tokens, completion_tokens=1, cached_tokens=cached)
        return Choice(logprobs=logprobs, usage=usage)

    async def aclose(self) -> None:
        """Close the engine; later calls raise `ServingError`."""
        self.closed = True

    async def _next(self, call: Call) -> tuple[str | Mapping[str, Any] | Generation | Choice, int, int]:
        """Record the call and return the next reply, the prompt's tokens and the cached ones."""
        if self.closed:
            raise ServingError("the scripted engine was asked after it had been closed")
        self.calls.append(call)
        needed = await self.count_tokens(call.messages)
        if needed > self._limits.context_tokens:
            raise PromptTooLong(
                f"scripted: the prompt has {needed} tokens and the context {self._limits.context_tokens}"
            )
        reply = self._reply(call)
        self.in_flight += 1
        self.peak_in_flight = max(self.peak_in_flight, self.in_flight)
        try:
            await asyncio.sleep(self.delay)
        finally:
            self.in_flight -= 1
        if isinstance(reply, BaseException):
            raise reply
        tokens, cached = self._cache.add(call.prompt)
        return reply, tokens, cached

    def _reply(self, call: Call) -> Reply:
        if self._function is not None:
            return self._function(call)
        if not self._replies:
            raise ScriptExhausted(
                f"call {len(self.calls)} has no reply in the script; it asked: {call.prompt[-200:]!r}"
            )
        return self._replies.popleft()
