"""Engine for OpenAI-compatible servers such as vLLM.

Invariant: a call ends in a reply or in one `serving.errors.EngineError`; the same messages, sampling and
schema are the same request bytes; a prefix goes to the same replica while that answers and is not overloaded.

vLLM's extensions (`chat_template_kwargs`, `thinking_token_budget`, `top_k`, /tokenize, /version, /metrics) are used if
the server identifies itself as vLLM (`owned_by` in /v1/models). Other servers get plain OpenAI fields; further
fields go into `extra_body`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import pairwise
from random import Random
from typing import Any, Literal, NamedTuple

from serving.engine import JsonSchema
from serving.engines import Connection
from serving.engines.choosing import (
    Read,
    check_first_tokens,
    check_options,
    choose_by_paths,
    group_pieces,
    join_reads,
    read_pieces,
)
from serving.engines.sending import Servers
from serving.engines.server import ServerFacts
from serving.engines.wire import Once, TokenCount, TokenList, sampling_fields, template_fields
from serving.errors import BadEndpoint, UnsupportedRequest
from serving.preset_sections import VllmSettings
from serving.presets import Preset
from serving.retry import Retry
from serving.types import (
    ChatArgument,
    Choice,
    EngineIdentity,
    EngineLimits,
    Generation,
    Message,
    ReplicaUse,
    Sampling,
)
from serving.weights import WeightsIdentity, weights_identity

TEMPLATE_TOKENS = 256
TEMPLATE_TOKENS_PER_MESSAGE = 16
"""Upper bounds of the tokens that a chat template adds: a default system text, and markers around each message."""


class OpenAIEngine:
    """One model behind one or more identical servers.

    Args:
        base_urls: Base URLs such as `http://host:port/v1`; `/v1` is added to a URL without a path.
        model: Served model name; None for the only model of the server.
        api_key: Bearer token.
        timeout: Seconds for one attempt, from sending to the last byte.
        concurrency: Maximum number of requests in flight per server.
        max_attempts: Maximum number of attempts per request.
        structured: Whether the server decodes under a JSON schema; "none" sends no schema.
        thinking_budget: Whether vLLM can end this model's reasoning after a number of tokens.
        chat_arguments: Arguments of the model's chat template; see `serving.engines.wire.sampling_fields`.
        top_logprobs: Number of alternatives that `choose` requests; servers allow 20 (vLLM: --max-logprobs).
        context_tokens, kv_tokens: Limits of servers that do not report them.
        revision, weights_digest, quantisation, options: Fields of the identity that the server does not report.
        extra_body: Further fields of every chat completion; part of the identity.
        reply_model: Model name in the servers' replies, if it differs from `model`; a reply by any other model is a
            `WrongModel`.
        patience: Longest outage of all servers to wait for, in seconds; 0 lets each call fail by itself.
        tell: Callback for one line when an outage of all or one of the servers begins, and one when it ends.
        rng, sleep: Random generator and sleep of the retry delay.

    Raises:
        BadEndpoint: A base URL is invalid, a number is out of range, or no header can carry the API key.
    """

    def __init__(
        self,
        base_urls: Sequence[str],
        model: str | None = None,
        *,
        api_key: str | None = None,
        timeout: float = 600.0,
        concurrency: int = 64,
        max_attempts: int = 5,
        structured: Literal["json_schema", "none"] = "json_schema",
        thinking_budget: bool = True,
        chat_arguments: Sequence[ChatArgument] = ("enable_thinking",),
        top_logprobs: int = 20,
        context_tokens: int | None = None,
        kv_tokens: int | None = None,
        revision: str | None = None,
        weights_digest: str | None = None,
        quantisation: str | None = None,
        options: Mapping[str, Any] | None = None,
        extra_body: Mapping[str, Any] | None = None,
        reply_model: str | None = None,
        patience: float = 0.0,
        tell: Callable[[str], None] = lambda line: None,
        rng: Random | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        if not base_urls:
            raise BadEndpoint(
                "no server address given; give at least one base URL such as http://localhost:8000/v1"
            )
        positive = {"timeout": timeout, "concurrency": concurrency, "max_attempts": max_attempts}
        for name, value in positive.items():
            if value <= 0:
                raise BadEndpoint(f"{name} is {value}; it must be greater than 0")
        if api_key is not None and not (api_key.isascii() and api_key.isprintable()):
            raise BadEndpoint("the API key holds characters that no header can; look for a line end in it")
        self._servers = Servers(
            base_urls,
            model,
            api_key=api_key,
            timeout=timeout,
            concurrency=concurrency,
            retry=Retry(attempts=max_attempts, rng=rng or Random(), sleep=sleep),
            reply_model=reply_model,
            patience=patience,
            tell=tell,
        )
        self._spelling = Spelling(self._servers)
        self._concurrency = concurrency * len(base_urls)
        self._structured = structured
        self._thinking_budget = thinking_budget
        self._chat_arguments = tuple(chat_arguments)
        self._top_logprobs = top_logprobs
        self._context_tokens = context_tokens
        self._kv_tokens = kv_tokens
        self._weights = {"revision": revision, "weights_digest": weights_digest, "quantisation": quantisation}
        self._options = dict(options or {})
        self._extra_body = dict(extra_body or {})
        self._reply_model = reply_model

    async def identity(self) -> EngineIdentity:
        """Return the model and version that the server reports, and the weights given at construction."""
        return self.identity_of(await self._servers.facts())

    def identity_of(self, facts: ServerFacts) -> EngineIdentity:
        """Return the identity of this engine if its server reports these facts."""
        options: dict[str, Any] = {**self._options, "structured": self._structured}
        if not self._thinking_budget:
            options["thinking_budget"] = False
        if self._chat_arguments != ("enable_thinking",):
            options["chat_arguments"] = list(self._chat_arguments)
        if not facts.vllm:
            options["top_logprobs"] = self._top_logprobs  # limits which options are reported
        if self._reply_model is not None:
            options["reply_model"] = self._reply_model
        if self._extra_body:
            options["extra_body"] = self._extra_body
        return EngineIdentity(
            model=facts.model,
            **self._weights,
            chat_template_digest=facts.chat_template_digest,
            engine="vllm" if facts.vllm else "openai",
            engine_version=facts.version,
            options=options,
        )

    async def limits(self) -> EngineLimits:
        """Return context and KV cache, as given at construction or as the server reports them.

        Raises:
            UnsupportedRequest: The context length is neither given nor reported.
        """
        facts = await self._servers.facts()
        context = self._context_tokens or facts.context_tokens
        if context is None:
            raise UnsupportedRequest(
                f"{self._servers.urls[0]} does not say how long its context is; set context_tokens for this judge"
            )
        kv_tokens = self._kv_tokens or facts.kv_tokens
        return EngineLimits(context_tokens=context, kv_tokens=kv_tokens, concurrency=self._concurrency)

    async def count_tokens(self, messages: Sequence[Message]) -> int:
        """Return vLLM's count; for other servers the number of UTF-8 bytes plus room for the chat template."""
        facts = await self._servers.facts()
        if not facts.vllm:
            text = sum(len(message.content.encode()) for message in messages)
            return text + TEMPLATE_TOKENS + TEMPLATE_TOKENS_PER_MESSAGE * len(messages)
        template = {"add_generation_prompt": True, **template_fields(False, self._chat_arguments)}
        body = {"model": facts.model, "messages": [message.model_dump() for message in messages], **template}
        return (await self._servers.tokenize(TokenCount, self._servers.prefix(messages), body)).count

    async def generate(
        self,
        messages: Sequence[Message],
        sampling: Sampling,
        schema: JsonSchema | None = None,
        started: Callable[[], None] | None = None,
    ) -> Generation:
        """Return one chat completion; streamed only if `started` is given."""
        facts = await self._servers.facts()
        body = self._chat_body(facts, messages, sampling)
        if schema is not None and self._structured == "json_schema":
            named = {"name": str(schema.get("title", "reply")), "schema": schema, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        prefix = self._servers.prefix(messages)
        if started is not None:
            return await self._servers.stream(prefix, body, sampling.thinking, Once(started))
        reply, _ = await self._servers.chat(prefix, body)
        return reply.generation(sampling.thinking)

    async def choose(self, messages: Sequence[Message], options: Sequence[str]) -> Choice:
        """Return the unconstrained model's log-probability of each option as the start of the answer.

        Tokens that differ only in surrounding white space ("Yes" and " Yes") count together; upper and lower case are
        different answers. vLLM returns the log-probabilities of exactly these tokens (`logprob_token_ids`); an option
        of several tokens takes one request more for each of its beginnings, given as the start of the answer (see
        `serving.engines.choosing`). vLLM returns at most `top_logprobs` tokens, the sampled one included, so that a
        longer menu takes several requests. Other servers, and a vLLM without that field, return their `top_logprobs`
        most likely tokens; an option that is not among them gets an upper bound and is named in `Choice.bounded` (see
        `serving.engines.choosing.read_pieces`).

        Raises:
            UnsupportedRequest: Options are empty or repeated; one option begins with another, if the server has no
                tokenizer; an option is not spelt by its tokens; or the server returns no log-probabilities.
        """
        check_options(options)
        facts = await self._servers.facts()
        if facts.vllm:
            spelt = {option: await self._spelling.of(option) for option in options}
        else:
            check_first_tokens(options)
            spelt = {option: (Piece(option, ()),) for option in options}
        paths = {option: tuple(piece.text for piece in pieces) for option, pieces in spelt.items()}
        ids: dict[tuple[tuple[str, ...], str], dict[int, None]] = {}
        for option, pieces in spelt.items():
            for place, piece in enumerate(pieces):
                ids.setdefault((paths[option][:place], piece.text), {}).update(dict.fromkeys(piece.ids))
        prefix = self._servers.prefix(messages)

        async def ask(begun: tuple[str, ...], onward: tuple[str, ...]) -> Read[str]:
            if not facts.vllm:
                return await ask_at_once(begun, onward)
            groups = group_pieces(
                onward, [len(ids[begun, piece]) for piece in onward], self._top_logprobs - 1
            )
            return join_reads([await ask_at_once(begun, group) for group in groups])

        async def ask_at_once(begun: tuple[str, ...], onward: tuple[str, ...]) -> Read[str]:
            prompt = [*messages, Message(role="assistant", content="".join(begun))] if begun else messages
            body = self._chat_body(facts, prompt, Sampling(max_tokens=1))
            body |= {"logprobs": True, "top_logprobs": self._top_logprobs}
            if begun:
                body |= {"add_generation_prompt": False, "continue_final_message": True}
            if facts.vllm:
                body["logprob_token_ids"] = [token for piece in onward for token in ids[begun, piece]]
                body["return_tokens_as_token_ids"] = True  # different tokens may have the same text
            reply, url = await self._servers.chat(prefix, body)
            logprobs = reply.first.logprobs
            if logprobs is None or not logprobs.content or not logprobs.content[0].top_logprobs:
                raise UnsupportedRequest(
                    f"{url} returns no log-probabilities; use a server that does, such as vLLM"
                )
            numbers = {piece: tuple(ids.get((begun, piece), ())) for piece in onward}
            return read_pieces(numbers, logprobs.content[0], reply.usage.usage())

        return await choose_by_paths(paths, ask)

    def replicas(self) -> tuple[ReplicaUse, ...]:
        """Return what each server has done so far, in the order in which they were given."""
        return self._servers.use()

    async def aclose(self) -> None:
        """Close all connections."""
        await self._servers.aclose()

    def _chat_body(
        self, facts: ServerFacts, messages: Sequence[Message], sampling: Sampling
    ) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": facts.model,
            "messages": [message.model_dump() for message in messages],
            **sampling_fields(sampling, vllm=facts.vllm, arguments=self._chat_arguments),
        }
        if facts.vllm and sampling.thinking and sampling.thinking_tokens and self._thinking_budget:
            body["thinking_token_budget"] = sampling.thinking_tokens
        return body | self._extra_body


class Piece(NamedTuple):
    """A part of an option, with the tokens that spell it."""

    text: str
    ids: tuple[int, ...]


class Spelling:
    """Tokens of options, by a server's tokenizer; cached.

    Invariant: the texts of an option's pieces, joined, are the option.
    """

    def __init__(self, servers: Servers) -> None:
        self._servers = servers
        self._known: dict[str, tuple[Piece, ...]] = {}

    async def of(self, option: str) -> tuple[Piece, ...]:
        """Return an option as single tokens, with and without a space before it, or as several pieces.

        Raises:
            UnsupportedRequest: A token ends within a character.
        """
        if option not in self._known:
            variants = [await self._tokens(text) for text in (option, f" {option}")]
            single = tuple(tokens[0] for tokens in variants if len(tokens) == 1)
            if single:
                self._known[option] = (Piece(option, single),)
            else:
                self._known[option] = await self._in_pieces(option, variants[0])
        return self._known[option]

    async def _in_pieces(self, option: str, tokens: list[int]) -> tuple[Piece, ...]:
        """Find the text of each token: one ends where a beginning of the option has the same tokens as the option."""
        ends = [0]
        for end in range(1, len(option)):
            if await self._tokens(option[:end]) == tokens[: len(ends)]:
                ends.append(end)
        if len(ends) != len(tokens):
            model = (await self._servers.facts()).model
            raise UnsupportedRequest(
                f"option {option!r} is more than one token of {model}, and these do not spell it; use options "
                "such as A, B, C"
            )
        ends.append(len(option))
        texts = [option[start:end] for start, end in pairwise(ends)]
        return tuple(Piece(text, (token,)) for text, token in zip(texts, tokens, strict=True))

    async def _tokens(self, text: str) -> list[int]:
        model = (await self._servers.facts()).model
        body = {"model": model, "add_special_tokens": False, "prompt": text}
        return (await self._servers.tokenize(TokenList, text, body)).tokens


def connect(preset: Preset, connection: Connection) -> OpenAIEngine:
    """Return the engine for the servers of a preset."""
    return OpenAIEngine(
        connection.base_urls,
        preset.model,
        api_key=connection.api_key,
        timeout=preset.timeout_seconds,
        concurrency=preset.concurrency,
        max_attempts=connection.persistence.attempts,
        patience=connection.persistence.wait_seconds,
        tell=connection.tell,
        context_tokens=preset.context_tokens,
        **weights_identity(preset),
        **_server_settings(preset),
    )


def can_have_identity(preset: Preset, identity: EngineIdentity, weights: WeightsIdentity) -> bool:
    """Check whether the engine of a preset with these weights can have an identity, at some version of a server."""
    facts = ServerFacts(
        model=identity.model,
        vllm=identity.engine == "vllm",
        version=identity.engine_version,
        chat_template_digest=identity.chat_template_digest,
    )
    engine = OpenAIEngine(["http://localhost"], **_server_settings(preset), **weights)
    return identity.model == preset.model and engine.identity_of(facts) == identity


def _server_settings(preset: Preset) -> dict[str, Any]:
    """Return the settings of a preset that decide the identity of the engine."""
    settings = preset.vllm or VllmSettings()
    return {
        "structured": preset.structured,
        "thinking_budget": preset.reasoning is None or preset.reasoning.budget,
        "chat_arguments": preset.chat_arguments,
        "top_logprobs": settings.max_logprobs,
        "options": preset.reply_options,
        "reply_model": preset.reply_model,
    }
