"""Interface of engines: whatever runs a model.

Invariant: an engine answers or raises a `serving.errors.EngineError`. It never returns an empty reply for a failure,
never retries what cannot succeed, and does not interpret replies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from serving.types import Choice, EngineIdentity, EngineLimits, Generation, Message, ReplicaUse, Sampling

JsonSchema = Mapping[str, Any]


class Engine(Protocol):
    """A model that answers prompts. Call `aclose` when done.

    Examples:
        >>> import asyncio
        >>> from serving.engines.scripted import ScriptedEngine
        >>> from serving.types import Message
        >>> engine: Engine = ScriptedEngine([{"Yes": 0.8, "No": 0.2}])
        >>> question = Message(role="user", content="Is the mill older than the bridge? Answer Yes or No.")
        >>> asyncio.run(engine.choose([question], ["Yes", "No"])).probabilities()
        {'Yes': 0.8, 'No': 0.2}
    """

    async def identity(self) -> EngineIdentity:
        """Return the identity of the engine; fetched once, then cached."""
        ...

    async def limits(self) -> EngineLimits:
        """Return the capacity of the engine; fetched once, then cached."""
        ...

    async def count_tokens(self, messages: Sequence[Message]) -> int:
        """Return the prompt length in tokens, chat template included, by the model's own tokenizer.

        Without a tokenizer, the result is an upper bound: the number of UTF-8 bytes, since a byte-level tokenizer
        never makes more tokens than bytes.
        """
        ...

    async def generate(
        self,
        messages: Sequence[Message],
        sampling: Sampling,
        schema: JsonSchema | None = None,
        started: Callable[[], None] | None = None,
    ) -> Generation:
        """Return one reply. With `schema`, decoding is constrained to JSON that matches it.

        `started` is called once, at the first token of the reply: the prefix cache then contains the prompt. An engine
        that does not stream calls it when the reply is complete.

        Raises:
            EngineError: Any of its kinds; see `serving.errors`.
        """
        ...

    async def choose(self, messages: Sequence[Message], options: Sequence[str]) -> Choice:
        """Return the log-probability of each option as the beginning of the answer.

        Options of one token each ("Yes", "No") take one forward pass. Options of several tokens ("10" beside "1") take
        one more pass, of one token, for each beginning that an option continues.

        Raises:
            EngineError: Any of its kinds; `UnsupportedRequest` for options that this engine cannot distinguish.
        """
        ...

    async def aclose(self) -> None:
        """Release connections and memory. Idempotent."""
        ...


class EngineWrapper:
    """Base class of engines that answer calls in their own way and leave everything else to `engine`.

    Examples:
        >>> import asyncio
        >>> from serving.engines.scripted import ScriptedEngine
        >>> class Single(EngineWrapper):
        ...     async def limits(self):
        ...         return (await super().limits()).model_copy(update={"concurrency": 1})
        >>> asyncio.run(Single(ScriptedEngine()).limits()).concurrency
        1
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def identity(self) -> EngineIdentity:
        """Return the identity of the wrapped engine."""
        return await self._engine.identity()

    async def limits(self) -> EngineLimits:
        """Return the capacity of the wrapped engine."""
        return await self._engine.limits()

    async def count_tokens(self, messages: Sequence[Message]) -> int:
        """Return the prompt length in tokens, counted by the wrapped engine."""
        return await self._engine.count_tokens(messages)

    async def aclose(self) -> None:
        """Close the wrapped engine."""
        await self._engine.aclose()


@runtime_checkable
class Replicated(Protocol):
    """An engine on one or more servers.

    Examples:
        >>> from serving.engines.scripted import ScriptedEngine
        >>> isinstance(ScriptedEngine(), Replicated)
        False
    """

    def replicas(self) -> Sequence[ReplicaUse]:
        """Return what each server has done so far, in the order in which they were given."""
        ...
