"""Messages of the OpenAI-compatible API: fields of requests, replies and streamed replies.

Invariants: a request has no field that the model or the server does not know. Of replies, only fields that the engine
uses are read; a missing required field is a `MalformedReply`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection
from typing import Annotated, Any, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from serving.errors import EngineError, EngineFault, EngineUnreachable, MalformedReply
from serving.http import refusal
from serving.types import ChatArgument, FinishReason, Generation, Sampling, Usage

MAX_EVENTS = 1 << 18
"""Maximum number of server-sent events of one reply, which is usually one per token."""

_THINK_OPEN = "<think>"
_THINK_CLOSE = "</think>"

Count = Annotated[int, Field(ge=0, le=1 << 40)]
"""Number of tokens, bounded so that a miscount still fits into the ledger's column."""

TokenId = Annotated[int, Field(ge=0, lt=1 << 31)]

ReportedLogProbability = Annotated[float, Field(le=0.01)]
"""Natural logarithm; -Infinity for a token that cannot occur. Half-precision arithmetic may exceed 0 slightly. NaN,
strings and booleans are refused: `false` would otherwise be a probability of 1."""

Name = Annotated[str, Field(max_length=500)]
"""Name of a model or a version, as it appears in messages and in the judge's identity."""


_VLLM_SAMPLING = ("top_k", "min_p", "repetition_penalty")


def sampling_fields(sampling: Sampling, *, vllm: bool, arguments: Collection[ChatArgument]) -> dict[str, Any]:
    """Return the fields of a chat completion that carry sampling parameters and chat-template arguments.

    Args:
        sampling: Sampling parameters; unset ones are not sent.
        vllm: Whether the server knows vLLM's extensions.
        arguments: Chat-template arguments of the model; no others are sent. vLLM refuses `chat_template_kwargs` for
            models with a Mistral tokenizer.
    """
    fields: dict[str, Any] = {
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "seed": sampling.seed,
        "max_tokens": sampling.max_tokens + (sampling.thinking_tokens if sampling.thinking else 0),
    }
    if sampling.presence_penalty is not None:
        fields["presence_penalty"] = sampling.presence_penalty
    if sampling.reasoning_effort is not None and "reasoning_effort" in arguments:
        fields["reasoning_effort"] = sampling.reasoning_effort
    if vllm:
        chosen = {name: getattr(sampling, name) for name in _VLLM_SAMPLING}
        fields |= {name: value for name, value in chosen.items() if value is not None}
        fields |= template_fields(sampling.thinking, arguments)
    return fields


def template_fields(thinking: bool, arguments: Collection[ChatArgument]) -> dict[str, Any]:
    """Return vLLM's field for the arguments of a chat template; empty for a model without any."""
    return {"chat_template_kwargs": {"enable_thinking": thinking}} if "enable_thinking" in arguments else {}


class Wire(BaseModel):
    """Base of all received objects; unknown fields are ignored, and `true` is no number."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)


class PromptDetails(Wire):
    """Details that vLLM reports only when started with --enable-prompt-tokens-details."""

    cached_tokens: Count | None = None


class WireUsage(Wire):
    """Token counts."""

    prompt_tokens: Count = 0
    completion_tokens: Count | None = 0
    prompt_tokens_details: PromptDetails | None = None

    @property
    def cached_tokens(self) -> int | None:
        """Prompt tokens that the server had cached, as reported."""
        return None if self.prompt_tokens_details is None else self.prompt_tokens_details.cached_tokens

    @property
    def is_contradictory(self) -> bool:
        """True if more tokens were cached than the prompt has."""
        return (self.cached_tokens or 0) > self.prompt_tokens

    def usage(self) -> Usage:
        """Return the counts as a `serving.types.Usage`, without a number of cached tokens that cannot be."""
        return Usage(
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens or 0,
            cached_tokens=None if self.is_contradictory else self.cached_tokens,
        )


class WireMessage(Wire):
    """A message, or a piece of one. Servers name the reasoning `reasoning` (vLLM) or `reasoning_content`."""

    content: str | None = None
    reasoning: str | None = None
    reasoning_content: str | None = None

    @property
    def thought(self) -> str | None:
        """Reasoning, under either name."""
        return self.reasoning if self.reasoning is not None else self.reasoning_content


class TopToken(Wire):
    """A token and its natural log-probability."""

    token: str
    logprob: ReportedLogProbability


class TokenLogprobs(TopToken):
    """Sampled token with the most likely alternatives at its position."""

    top_logprobs: list[TopToken] = Field(default_factory=list[TopToken])


class WireLogprobs(Wire):
    """One entry per generated token."""

    content: list[TokenLogprobs] | None = None


class WireChoice(Wire):
    """One reply."""

    index: int = 0
    message: WireMessage
    finish_reason: str | None = None
    logprobs: WireLogprobs | None = None


class ChatReply(Wire):
    """POST /v1/chat/completions."""

    model: str | None = None
    choices: list[WireChoice] = Field(min_length=1)
    usage: WireUsage = WireUsage()

    @property
    def first(self) -> WireChoice:
        """First choice, in case a server sends several."""
        return min(self.choices, key=lambda choice: choice.index)

    def generation(self, thinking: bool) -> Generation:
        """Return the first choice as a `serving.types.Generation`."""
        choice = self.first
        message = choice.message
        return generation(
            message.content or "", message.thought, choice.finish_reason, self.usage.usage(), thinking
        )


class ChunkChoice(Wire):
    """Next piece of one reply."""

    index: int = 0
    delta: WireMessage
    finish_reason: str | None = None


class ChatChunk(Wire):
    """One server-sent event of a streamed chat completion."""

    model: str | None = None
    choices: list[ChunkChoice] = Field(default_factory=list[ChunkChoice])
    usage: WireUsage | None = None
    error: Any = None


class ModelCard(Wire):
    """One entry of GET /v1/models; vLLM reports `owned_by: vllm` and the context length."""

    id: Name
    owned_by: str | None = None
    parent: str | None = None
    max_model_len: Annotated[int, Field(ge=1, le=1 << 40)] | None = None


class ModelList(Wire):
    """GET /v1/models."""

    data: list[ModelCard] = Field(min_length=1)


class VersionReply(Wire):
    """GET /version of vLLM."""

    version: Name


class TokenCount(Wire):
    """Number of tokens from POST /tokenize of vLLM, without the list, whose parsing takes most of the time."""

    count: Count


class TokenList(TokenCount):
    """POST /tokenize of vLLM."""

    tokens: list[TokenId]


class TokenizerInfo(Wire):
    """GET /tokenizer_info of a vLLM started with --enable-tokenizer-info-endpoint."""

    chat_template: str | None = None


W = TypeVar("W", bound=Wire)


def parse(kind: type[W], url: str, body: bytes) -> W:
    """Parse a response body.

    Raises:
        MalformedReply: The body is empty, not JSON, truncated, or lacks a required field.
    """
    try:
        return kind.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        problem = f"{place}: {first['msg']}" if place else first["msg"]
        what = f"{len(body)} bytes that are no {kind.__name__} ({problem})"
        found = what if body.strip() else "an empty body"
        raise MalformedReply(
            f"{url} answered with {found}; check that it is an OpenAI-compatible server"
        ) from error


def generation(
    text: str, thought: str | None, finish: str | None, usage: Usage, thinking: bool
) -> Generation:
    """Make a reply whose reasoning is separate, whether or not the server separated it."""
    if thought is None:
        thought, text = split_reasoning(text, thinking)
    reason: FinishReason = finish if finish in ("stop", "length") else "other"
    return Generation(text=text, reasoning=thought, finish_reason=reason, usage=usage)


def split_reasoning(text: str, thinking: bool) -> tuple[str | None, str]:
    """Split a reply that contains reasoning tags into reasoning and answer.

    `<think>R</think>A` is (R, A), and `<think>R` without an end is (R, ""). A model whose chat template opens the tag
    in the prompt replies `R</think>A`; this form is recognised only if reasoning was requested, since an answer may
    quote the tag. Without tags there is no reasoning.
    """
    start = re.match(r"\s*" + _THINK_OPEN, text)
    if start is None and not (thinking and _THINK_CLOSE in text):
        return None, text
    thought, _, answer = text[start.end() if start is not None else 0 :].partition(_THINK_CLOSE)
    return thought.strip(), answer.lstrip()


class Once:
    """Callback wrapper that calls at most once over all attempts of a request."""

    def __init__(self, callback: Callable[[], None]) -> None:
        self._callback: Callable[[], None] | None = callback

    def __call__(self) -> None:
        """Call the callback, the first time only."""
        callback, self._callback = self._callback, None
        if callback is not None:
            callback()


class Heard:
    """A streamed reply in the making.

    Invariant: the pieces become a reply only after the stream has ended and has given a finish reason; a stream that
    breaks off is an error.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.text: list[str] = []
        self.thought: list[str] = []
        self.finish: str | None = None
        self.usage = WireUsage()
        self.models: dict[str | None, None] = {}
        """Models named by the pieces, in order; None for a piece that names none."""
        self.done = False
        self.events = 0
        self.whole: list[bytes] = []
        """Lines of a server that ignores `stream` and answers in one piece."""

    def take(self, line: bytes) -> bool:
        """Add one line, and return whether the reply has any text so far."""
        if self.done:
            return True
        if line.startswith(b"data:"):
            data = line[5:].strip()
            self.events += 1
            if data == b"[DONE]":
                self.done = True
            elif self.events > MAX_EVENTS:
                raise MalformedReply(
                    f"{self.url} sends more than {MAX_EVENTS:,} events for one reply; look at its log"
                )
            else:
                self._event(parse(ChatChunk, self.url, data))
        elif line and not line.startswith((b":", b"event:", b"id:", b"retry:")):
            self.whole.append(line)
        return bool(self.text or self.thought)

    def _event(self, chunk: ChatChunk) -> None:
        if chunk.error is not None:
            raise _stream_error(self.url, chunk.error)
        if chunk.usage is not None:
            self.usage = chunk.usage
        for choice in chunk.choices:
            if choice.index:  # of a second reply, which was not requested
                continue
            self.models[chunk.model] = None
            if choice.delta.content:
                self.text.append(choice.delta.content)
            if choice.delta.thought:
                self.thought.append(choice.delta.thought)
            self.finish = choice.finish_reason or self.finish

    def reply(self, thinking: bool) -> Generation:
        """Return the reply after the stream has ended."""
        if self.whole or (self.finish is None and not self.text and not self.thought):
            whole = parse(ChatReply, self.url, b"".join(self.whole))
            self.models[whole.model] = None
            self.usage = whole.usage
            return whole.generation(thinking)
        if self.finish is None and self.done:
            raise MalformedReply(
                f"{self.url} ended its reply without a finish_reason; look at the server's log"
            )
        if self.finish is None:
            raise EngineUnreachable(f"{self.url} ended its stream before the reply; look at the server's log")
        thought = "".join(self.thought) if self.thought else None
        return generation("".join(self.text), thought, self.finish, self.usage.usage(), thinking)


def _stream_error(url: str, error: Any) -> EngineError:
    """Return the error for an error event that came after the status 200."""
    body = json.dumps({"error": error}).encode()
    code = cast("dict[str, Any]", error).get("code") if isinstance(error, dict) else None
    if isinstance(code, int) and 400 <= code < 600:
        return refusal(url, code, {}, body)
    return EngineFault(f"{url} broke off its reply ({body.decode()[:300]}); look at the server's log")
