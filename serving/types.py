"""Data types of the engine interface: messages, sampling, replies, identities and limits.

Invariant: every value is immutable and contains plain data only, so that it can be hashed into a ledger key, written to
disk and compared between machines.
"""

from __future__ import annotations

from math import exp, fsum
from typing import Annotated, Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from local_judge.base.model import Frozen

Role = Literal["system", "user", "assistant"]
FinishReason = Literal["stop", "length", "other"]
ChatArgument = Literal["enable_thinking", "reasoning_effort"]
"""Argument by which a model's chat template switches or limits its reasoning."""
ReasoningEffort = Literal["minimal", "low", "medium", "high", "xhigh", "max"]
LogProbability = Annotated[float, Field(le=0.0)]
"""Natural logarithm of a probability; finite in every `Frozen` model."""


class Message(Frozen):
    """One chat message."""

    role: Role
    content: str


class Sampling(Frozen):
    """Sampling parameters. The defaults are greedy decoding with a fixed seed.

    A parameter that defaults to None is neither sent nor serialised unless it is set, so that it leaves ledger keys as
    they were before it existed.
    """

    temperature: float = Field(default=0.0, ge=0)
    """Temperature; at least 0.3 when a question is asked again."""
    top_p: float = Field(default=1.0, gt=0, le=1)
    """Nucleus sampling."""
    seed: int = 0
    """Random seed."""
    max_tokens: int = Field(default=2048, ge=1)
    """Maximum number of answer tokens, without reasoning."""
    thinking: bool = False
    """True if the model may reason before it answers (Qwen3's `enable_thinking`)."""
    thinking_tokens: int = Field(default=0, ge=0)
    """Maximum number of reasoning tokens, in addition to `max_tokens`."""
    top_k: int | None = Field(default=None, ge=1)
    """Number of most likely tokens to sample from; None for all."""
    min_p: float | None = Field(default=None, gt=0, le=1)
    """Minimum probability of a token, relative to the most likely one; None for 0."""
    presence_penalty: float | None = Field(default=None, ge=-2, le=2)
    """Amount subtracted from the logits of tokens that the reply already has; None for 0."""
    repetition_penalty: float | None = Field(default=None, gt=0)
    """Factor by which the logits of tokens of prompt and reply are lowered; None for 1."""
    reasoning_effort: ReasoningEffort | None = None
    """Effort while reasoning, for models that distinguish several; None for the model's default."""

    @property
    def beyond_nucleus(self) -> bool:
        """True if a parameter is set that defaults to None."""
        optional = (
            self.top_k,
            self.min_p,
            self.presence_penalty,
            self.repetition_penalty,
            self.reasoning_effort,
        )
        return any(value is not None for value in optional)

    @model_serializer(mode="wrap")
    def _without_unset(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in serialise(self).items() if value is not None}


class Usage(Frozen):
    """Token counts of one call, as reported by the engine."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int | None = None
    """Prompt tokens taken from the prefix cache; None if the engine does not report it."""


class Generation(Frozen):
    """A reply."""

    text: str
    reasoning: str | None = None
    """Reasoning of a thinking model, separate from the answer."""
    finish_reason: FinishReason = "stop"
    usage: Usage = Usage()


class Choice(Frozen):
    """Log-probabilities of a closed set of answers.

    `logprobs[a]` is the model's natural log-probability that option `a` comes next, before any normalisation over the
    options. `mass` = sum of exp(logprobs) is the probability of all options together: a low mass means that the model
    prefers another answer.
    """

    logprobs: dict[str, LogProbability]
    bounded: tuple[str, ...] = ()
    """Options that the engine did not report, whose values are upper bounds."""
    usage: Usage = Usage()

    @property
    def mass(self) -> float:
        """Probability of all options together, in [0, 1]."""
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
        """Return the softmax over the options: p(a) = exp(l_a) / sum_b exp(l_b), stabilised by the largest l."""
        top = max(self.logprobs.values())
        weights = {option: exp(value - top) for option, value in self.logprobs.items()}
        total = sum(weights.values())
        return {option: weight / total for option, weight in weights.items()}


class EngineIdentity(Frozen):
    """Everything about an engine that can change a reply; part of each ledger key."""

    model: str
    """Model id in the preset or of the server."""
    revision: str | None = None
    """Commit of the weights repository, if known."""
    weights_digest: str | None = None
    """SHA-256 of the weights, if they are one file."""
    quantisation: str | None = None
    """Quantisation of the weights."""
    tokenizer_digest: str | None = None
    """SHA-256 of the tokenizer."""
    chat_template_digest: str | None = None
    """SHA-256 of the chat template."""
    engine: str
    """`vllm`, `openai`, `openvino`, `transformers` or `scripted`."""
    engine_version: str | None = None
    """Version of the engine."""
    options: dict[str, Any] = Field(default_factory=dict)
    """Further settings that change replies (dtype, KV-cache dtype, batch invariance)."""


class EngineLimits(Frozen):
    """Capacity of an engine."""

    context_tokens: int
    """Maximum length of prompt and reply together, in tokens."""
    kv_tokens: int | None = None
    """Size of the KV cache over all requests, in tokens; None if the engine does not report it."""
    concurrency: int = 64
    """Number of requests to keep in flight."""


class ReplicaUse(Frozen):
    """Work of one of several servers in this process."""

    url: str
    requests: int
    """Replies."""
    prompt_tokens: int
    cached_tokens: int
    """Prompt tokens taken from its prefix cache."""
    failures: int
    """Failed attempts that could be repeated: no connection, a broken answer, a time limit, 429 or 5xx."""
    seconds_away: float
    """Seconds for which it did not answer."""
    away: bool
    """True if it does not answer now."""
