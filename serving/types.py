"""The words spoken between a caller and an engine.

Invariant: every value here is immutable and holds plain data only, so that it can be hashed into a ledger
key, written to disk and compared between two machines. Nothing in this module knows what a report or a
protocol is.
"""

from __future__ import annotations

from math import exp, fsum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Role = Literal["system", "user", "assistant"]
FinishReason = Literal["stop", "length", "other"]
LogProbability = Annotated[float, Field(le=0.0)]
"""Natural logarithm of a probability; finite in every `Frozen` model."""


class Frozen(BaseModel):
    """An immutable model that refuses unknown keys and non-finite floats."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Message(Frozen):
    """One chat message."""

    role: Role
    content: str


class Sampling(Frozen):
    """How a reply is drawn. The defaults are greedy decoding with a fixed seed."""

    temperature: float = Field(default=0.0, ge=0)
    top_p: float = Field(default=1.0, gt=0, le=1)
    seed: int = 0
    max_tokens: int = Field(default=2048, ge=1)
    """Upper bound on answer tokens, reasoning not included."""
    thinking: bool = False
    """Whether the model may reason before it answers (Qwen3's `enable_thinking`)."""
    thinking_tokens: int = Field(default=0, ge=0)
    """Upper bound on reasoning tokens, on top of `max_tokens`."""


class Usage(Frozen):
    """Tokens of one call as the engine counted them."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int | None = None
    """Prompt tokens taken from the prefix cache; None where the engine does not say."""


class Generation(Frozen):
    """A reply."""

    text: str
    reasoning: str | None = None
    """A thinking model's reasoning, kept apart from the answer."""
    finish_reason: FinishReason = "stop"
    usage: Usage = Usage()


class Choice(Frozen):
    """What a model thinks of each answer of a closed set.

    `logprobs[a]` is the model's natural log-probability of option `a` as what comes next, before any
    normalisation over the options. `mass` = sum of exp(logprobs) says how much of the model's belief the menu
    covers: a low mass means that the model wanted to say something else.
    """

    logprobs: dict[str, LogProbability]
    bounded: tuple[str, ...] = ()
    """Options that the engine did not report: their value bounds them from above."""
    usage: Usage = Usage()

    @property
    def mass(self) -> float:
        """Probability that the model gives to the menu as a whole, in [0, 1]."""
        return min(1.0, fsum(exp(value) for value in self.logprobs.values()))

    @property
    def unreported(self) -> float:
        """Share of `mass` that rests on bounds, in [0, 1].

        Formula: sum of p(a) over `bounded` / sum of p(a) over all options. Each of `probabilities` is at most this
        far from what it would be if every option had been reported.
        """
        chances = self.probabilities()
        return min(1.0, fsum(chances[option] for option in self.bounded))

    def probabilities(self) -> dict[str, float]:
        """Softmax over the options: p(a) = exp(l_a) / sum_b exp(l_b), computed against the largest."""
        top = max(self.logprobs.values())
        weights = {option: exp(value - top) for option, value in self.logprobs.items()}
        total = sum(weights.values())
        return {option: weight / total for option, weight in weights.items()}


class EngineIdentity(Frozen):
    """Everything about an engine that can change a reply: hashed into each ledger key."""

    model: str
    """Model id as the preset or the server names it."""
    revision: str | None = None
    """Commit of the weights repository, where known."""
    weights_digest: str | None = None
    """SHA-256 of the weights file, where there is one file."""
    quantisation: str | None = None
    tokenizer_digest: str | None = None
    chat_template_digest: str | None = None
    engine: str
    """`vllm`, `openai`, `openvino`, `transformers` or `scripted`."""
    engine_version: str | None = None
    options: dict[str, Any] = Field(default_factory=dict)
    """Further settings that change replies (dtype, KV-cache dtype, batch invariance)."""


class EngineLimits(Frozen):
    """What an engine can take at once."""

    context_tokens: int
    """Prompt and reply together, in tokens."""
    kv_tokens: int | None = None
    """Tokens that the KV cache holds over all requests; None where the engine does not say."""
    concurrency: int = 64
    """Requests worth having in flight."""
