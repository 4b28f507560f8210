"""The seam between those who ask and that which runs a model.

Invariant: an engine answers or raises a `serving.errors.EngineError`; it never returns an empty stand-in for
a failure, never retries what cannot succeed, and holds no opinion on what a reply means.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from serving.types import Choice, EngineIdentity, EngineLimits, Generation, Message, Sampling

JsonSchema = Mapping[str, Any]


class Engine(Protocol):
    """A model that can be asked. Call `aclose` when done."""

    async def identity(self) -> EngineIdentity:
        """What this engine is; asked of the server once, then cached."""
        ...

    async def limits(self) -> EngineLimits:
        """What this engine takes; asked of the server once, then cached."""
        ...

    async def count_tokens(self, messages: Sequence[Message]) -> int:
        """Prompt length in tokens, chat template included, by the model's own tokenizer.

        Where no tokenizer can be reached the result is an upper bound that is safe to refuse by
        (UTF-8 bytes: a byte-level tokenizer never makes more tokens than bytes).
        """
        ...

    async def generate(
        self,
        messages: Sequence[Message],
        sampling: Sampling,
        schema: JsonSchema | None = None,
        started: Callable[[], None] | None = None,
    ) -> Generation:
        """One reply. With `schema`, decoding is constrained to JSON that the schema admits.

        `started` is called once, as soon as the prompt has been processed (the first token is there), which
        is when the prefix cache holds the prompt; an engine that cannot tell calls it when the reply is
        complete.

        Raises:
            EngineError: any of its kinds; see `serving.errors`.
        """
        ...

    async def choose(self, messages: Sequence[Message], options: Sequence[str]) -> Choice:
        """Log-probabilities of each of `options` as the beginning of the answer.

        Options are short: of one token each ("Yes", "No") they take one forward pass. Of several tokens ("10" beside
        "1") they take one more, of a token, for each beginning that an option goes on from.

        Raises:
            EngineError: any of its kinds; `UnsupportedRequest` for options that this engine cannot tell apart.
        """
        ...

    async def aclose(self) -> None:
        """Release connections and memory. Idempotent."""
        ...
