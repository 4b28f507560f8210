"""Base class of the engines that run a model in this process.

Invariants: an embedded engine opens no socket, and every log-probability that it returns is the unconstrained model's.
"""

from __future__ import annotations

import asyncio
import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Unpack

from serving.engine import JsonSchema
from serving.engines.choosing import Read, check_options, choose_by_paths
from serving.errors import PromptTooLong, UnsupportedRequest
from serving.types import Choice, EngineIdentity, EngineLimits, Generation, Message, Sampling
from serving.weights import WeightsIdentity


class EmbeddedEngine(ABC):
    """Everything about an embedded engine that does not depend on its library; implements `serving.engine.Engine`.

    Args:
        model: Name under which replies are recorded.
        limits: Context, KV cache and concurrency.
        weights: What the caller knows of the weights.
    """

    def __init__(
        self,
        model: str,
        limits: EngineLimits,
        **weights: Unpack[WeightsIdentity],
    ) -> None:
        self._model_name = model
        self._limits = limits
        self._weights = weights
        self._identity: EngineIdentity | None = None

    async def identity(self) -> EngineIdentity:
        """Return the digests of weights, tokenizer and chat template, and the version of the library."""
        if self._identity is None:
            library = await self._library_facts()
            self._identity = EngineIdentity(model=self._model_name, **self._weights, **library)
        return self._identity

    async def limits(self) -> EngineLimits:
        """Return the limits given at construction."""
        return self._limits

    async def count_tokens(self, messages: Sequence[Message]) -> int:
        """Return the prompt length in tokens, by the model's own tokenizer."""
        return len(await self._encode(messages))

    async def generate(
        self,
        messages: Sequence[Message],
        sampling: Sampling,
        schema: JsonSchema | None = None,
        started: Callable[[], None] | None = None,
    ) -> Generation:
        """Return one reply; see `serving.engine.Engine.generate`."""
        if sampling.thinking:
            raise UnsupportedRequest(f"{self._model_name} does not think: set thinking to false")
        prompt = await self._encode(messages)
        self._check_fit(len(prompt), sampling.max_tokens)
        loop = asyncio.get_running_loop()

        def announce() -> None:
            if started is not None:
                with contextlib.suppress(RuntimeError):  # the loop was closed before the prompt was processed
                    loop.call_soon_threadsafe(started)

        return await self._reply(prompt, sampling, schema, announce)

    async def choose(self, messages: Sequence[Message], options: Sequence[str]) -> Choice:
        """Return the log-probabilities of `options`; see `serving.engine.Engine.choose`."""
        check_options(options)
        paths = {option: tuple(await self._tokens(option)) for option in options}
        prompt = await self._encode(messages)
        self._check_fit(len(prompt), max(len(path) for path in paths.values()))

        async def ask(begun: tuple[int, ...], onward: tuple[int, ...]) -> Read[int]:
            return await self._next([*prompt, *begun], onward)

        return await choose_by_paths(paths, ask)

    def _check_fit(self, prompt: int, reply: int) -> None:
        if prompt + reply > self._limits.context_tokens:
            raise PromptTooLong(
                f"prompt of {prompt} tokens and reply of up to {reply} exceed {self._model_name}'s "
                f"{self._limits.context_tokens}"
            )

    @abstractmethod
    async def aclose(self) -> None:
        """Release the model. Idempotent."""

    @abstractmethod
    async def _library_facts(self) -> dict[str, Any]:
        """Return the fields of the identity that the library and its tokenizer decide."""

    @abstractmethod
    async def _encode(self, messages: Sequence[Message]) -> list[int]:
        """Return the tokens of a conversation, chat template included."""

    @abstractmethod
    async def _tokens(self, text: str) -> list[int]:
        """Return the tokens of a text, without special tokens."""

    @abstractmethod
    async def _reply(
        self, prompt: list[int], sampling: Sampling, schema: JsonSchema | None, started: Callable[[], None]
    ) -> Generation:
        """Return the reply to an encoded prompt; `started` may be called from any thread."""

    @abstractmethod
    async def _next(self, prompt: list[int], wanted: Sequence[int]) -> Read[int]:
        """Return the log-probabilities of some tokens after an encoded prompt."""
