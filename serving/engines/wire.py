"""What goes over the wire to an OpenAI-compatible server and what comes back.

Invariant: a body is parsed once, into the fields that are used and no others; a body that does not have them
is a `MalformedReply`. Unknown fields are ignored, since servers add their own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from serving.errors import MalformedReply
from serving.types import FinishReason, Generation, Message, Usage

_THINK_OPEN = "<think>"
_THINK_CLOSE = "</think>"

Count = Annotated[int, Field(ge=0, le=1 << 40)]
"""A number of tokens. A larger number is a miscount and may not fit into the ledger's column."""

TokenId = Annotated[int, Field(ge=0, lt=1 << 31)]

ReportedLogProbability = Annotated[float, Field(le=0.01, strict=True)]
"""Natural; -Infinity for a token that cannot come. Half-precision arithmetic may exceed 0 a little; NaN is refused, and
so are words and truth values, of which false would be a certainty."""

Name = Annotated[str, Field(max_length=500)]
"""Of a model or a version: it stands in messages and in the judge's identity."""


class Wire(BaseModel):
    """A received object."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class PromptDetails(Wire):
    """vLLM reports it only when started with --enable-prompt-tokens-details."""

    cached_tokens: Count | None = None


class WireUsage(Wire):
    """Token counts."""

    prompt_tokens: Count = 0
    completion_tokens: Count | None = 0
    prompt_tokens_details: PromptDetails | None = None

    def usage(self) -> Usage:
        """As the seam speaks of it."""
        details = self.prompt_tokens_details
        return Usage(
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens or 0,
            cached_tokens=details.cached_tokens if details is not None else None,
        )


class WireMessage(Wire):
    """An answer, or a piece of one. vLLM names reasoning `reasoning`; earlier versions and others differ."""

    content: str | None = None
    reasoning: str | None = None
    reasoning_content: str | None = None

    @property
    def thought(self) -> str | None:
        """The reasoning, under either name."""
        return self.reasoning if self.reasoning is not None else self.reasoning_content


class TopToken(Wire):
    """A token and its natural log-probability."""

    token: str
    logprob: ReportedLogProbability


class TokenLogprobs(TopToken):
    """The token taken, with the most likely ones at its place."""

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
        """The reply that was asked for, whatever others a server sends with it."""
        return min(self.choices, key=lambda choice: choice.index)

    def generation(self, thinking: bool) -> Generation:
        """The first reply, as the seam speaks of it."""
        choice = self.first
        said = choice.message
        return generation(
            said.content or "", said.thought, choice.finish_reason, self.usage.usage(), thinking
        )


class ChunkChoice(Wire):
    """One reply's next piece."""

    index: int = 0
    delta: WireMessage
    finish_reason: str | None = None


class ChatChunk(Wire):
    """One server-sent event of the same."""

    model: str | None = None
    choices: list[ChunkChoice] = Field(default_factory=list[ChunkChoice])
    usage: WireUsage | None = None
    error: Any = None


class ModelCard(Wire):
    """One entry of GET /v1/models. vLLM says `owned_by: vllm` and the context length."""

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


class TokenList(Wire):
    """POST /tokenize of vLLM."""

    count: Count
    tokens: list[TokenId]


class TokenizerInfo(Wire):
    """GET /tokenizer_info of a vLLM started with --enable-tokenizer-info-endpoint."""

    chat_template: str | None = None


W = TypeVar("W", bound=Wire)


def parse(kind: type[W], url: str, body: bytes) -> W:
    """`body` as `kind`.

    Raises:
        MalformedReply: empty, not JSON, cut short, or without a field that is needed.
    """
    try:
        return kind.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        said = f"{place}: {first['msg']}" if place else first["msg"]
        found = (
            "an empty body" if not body.strip() else f"{len(body)} bytes that are no {kind.__name__} ({said})"
        )
        raise MalformedReply(
            f"{url} answered with {found}; check that it is an OpenAI-compatible server"
        ) from error


def chat_messages(messages: Sequence[Message]) -> list[dict[str, str]]:
    """Messages as they are sent."""
    return [{"role": message.role, "content": message.content} for message in messages]


def generation(
    text: str, thought: str | None, finish: str | None, usage: Usage, thinking: bool
) -> Generation:
    """A reply with its reasoning apart, whether the server parted them or not."""
    if thought is None:
        thought, text = split_reasoning(text, thinking)
    reason: FinishReason = finish if finish in ("stop", "length") else "other"
    return Generation(text=text, reasoning=thought, finish_reason=reason, usage=usage)


def split_reasoning(text: str, thinking: bool) -> tuple[str | None, str]:
    """Reasoning and answer of a reply in which a model left its tags.

    `<think>R</think>A` is (R, A); `<think>R` without an end is (R, ""): all of it was reasoning. A model
    whose chat template opens the tag in the prompt replies `R</think>A`: read so only where reasoning was
    asked for, since an answer may quote the tag. Without tags there is no reasoning.
    """
    start = re.match(r"\s*" + _THINK_OPEN, text)
    if start is None and not (thinking and _THINK_CLOSE in text):
        return None, text
    thought, _, answer = text[start.end() if start is not None else 0 :].partition(_THINK_CLOSE)
    return thought.strip(), answer.lstrip()
