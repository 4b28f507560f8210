"""Asking a model behind an OpenAI-compatible server: vLLM, and whatever else speaks the protocol.

Invariant: a call ends in a reply or in one `serving.errors.EngineError`; the same messages, sampling and
schema are the same request bytes; a prefix goes to the same replica as long as that can be reached.

What vLLM adds to the protocol is used where the server says that it is vLLM (`owned_by` in /v1/models):
`chat_template_kwargs.enable_thinking`, `thinking_token_budget`, /tokenize, /version, /metrics. Any other
server gets plain OpenAI fields only; what it needs besides goes into `extra_body`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from random import Random
from typing import Any, Literal

from serving.engine import JsonSchema
from serving.engines.choosing import (
    Read,
    check_first_tokens,
    check_options,
    choose_by_paths,
    grouped,
    joined,
    read_pieces,
)
from serving.engines.sending import Servers
from serving.engines.server import ServerFacts
from serving.engines.spelling import Piece, Spelling
from serving.engines.streaming import Once
from serving.engines.wire import chat_messages
from serving.errors import BadEndpoint, UnsupportedRequest
from serving.retry import Retry
from serving.types import Choice, EngineIdentity, EngineLimits, Generation, Message, Sampling

TEMPLATE_TOKENS = 256
TEMPLATE_TOKENS_PER_MESSAGE = 16
"""Generous bounds of what chat templates add: a default system text and the marks around each message."""


class OpenAIEngine:
    """One model behind one or more servers that are alike.

    Args:
        base_urls: `http://host:port/v1`; without a path, `/v1` is added.
        model: the served name; None for the only one that the server has.
        api_key: sent as a bearer token.
        timeout: seconds for one attempt, from sending to the last byte.
        concurrency: requests in flight over all servers.
        max_attempts: sendings of one request before its error is final.
        structured: whether the server decodes under a JSON schema; "none" sends no schema.
        thinking_budget: whether vLLM can end this model's reasoning at a number of tokens; it refuses a call that
        asks for it where it cannot.
        top_logprobs: alternatives asked for by `choose`; servers allow 20 (vLLM: --max-logprobs).
        context_tokens, kv_tokens: for servers that do not say.
        revision, weights_digest, quantisation, options: what the server cannot say of its weights, for the
        identity. extra_body: further fields of every chat completion; part of the identity.
        reply_model: the name that the servers give in replies, where it is not the one that they are asked under; a
        reply by any other model is a `WrongModel`.
        patience: seconds that an outage of all servers may last before it is a `ServerDown`; 0 lets each call fail by
        itself. tell: is given one line when an outage begins and when it ends.
        rng, sleep: of the back-off between attempts.

    Raises:
        BadEndpoint: a base URL that is none, a number out of range, or an API key that no header can hold.
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
        for name, value in (
            ("timeout", timeout),
            ("concurrency", concurrency),
            ("max_attempts", max_attempts),
        ):
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
        self._concurrency = concurrency
        self._structured = structured
        self._thinking_budget = thinking_budget
        self._top_logprobs = top_logprobs
        self._context_tokens = context_tokens
        self._kv_tokens = kv_tokens
        self._weights = {"revision": revision, "weights_digest": weights_digest, "quantisation": quantisation}
        self._options = dict(options or {})
        self._extra_body = dict(extra_body or {})
        self._reply_model = reply_model

    async def identity(self) -> EngineIdentity:
        """Model and version as the server says them, the weights as the constructor was told."""
        facts = await self._servers.facts()
        options: dict[str, Any] = {**self._options, "structured": self._structured}
        if not self._thinking_budget:
            options["thinking_budget"] = False
        if not facts.vllm:
            options["top_logprobs"] = self._top_logprobs  # how many options can be among them
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
        """Context and KV cache as the server says them, unless the constructor was told.

        Raises:
            UnsupportedRequest: the server does not say its context length and the constructor was not told.
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
        """By vLLM's /tokenize; elsewhere the upper bound of UTF-8 bytes plus room for the chat template."""
        facts = await self._servers.facts()
        if not facts.vllm:
            text = sum(len(message.content.encode()) for message in messages)
            return text + TEMPLATE_TOKENS + TEMPLATE_TOKENS_PER_MESSAGE * len(messages)
        template = {"add_generation_prompt": True, "chat_template_kwargs": {"enable_thinking": False}}
        body = {"model": facts.model, "messages": chat_messages(messages), **template}
        return (await self._servers.tokenize(self._servers.prefix(messages), body)).count

    async def generate(
        self,
        messages: Sequence[Message],
        sampling: Sampling,
        schema: JsonSchema | None = None,
        started: Callable[[], None] | None = None,
    ) -> Generation:
        """One chat completion; streamed only when `started` is given."""
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
        """The unconstrained model's log-probability of each option as the next words.

        A token's probability is the sum over the tokens that read the same when white space around them is taken
        off ("Yes" and " Yes"; upper and lower case are different answers). vLLM is asked for those very tokens
        (`logprob_token_ids`), and for an option of several tokens again after each of its beginnings, which stands
        as the start of the answer (see `serving.engines.choosing`). It returns no more than `top_logprobs` of them, the
        token that it takes among these, so that a longer menu is asked for in parts. Other servers, and a vLLM without
        that field, return their `top_logprobs` most likely tokens; an option that is not among them gets an upper
        bound, and is named in `Choice.bounded` (see `serving.engines.choosing.read_pieces`).

        Raises:
            UnsupportedRequest: options that are empty or doubled; where the server has no tokenizer, options that
                begin with one another; where it has one, an option that is not spelt out by its tokens; a server
                without log-probabilities.
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
            groups = grouped(onward, [len(ids[begun, piece]) for piece in onward], self._top_logprobs - 1)
            return joined([await ask_at_once(begun, group) for group in groups])

        async def ask_at_once(begun: tuple[str, ...], onward: tuple[str, ...]) -> Read[str]:
            said = [*messages, Message(role="assistant", content="".join(begun))] if begun else messages
            body = self._chat_body(facts, said, Sampling(max_tokens=1))
            body |= {"logprobs": True, "top_logprobs": self._top_logprobs}
            if begun:
                body |= {"add_generation_prompt": False, "continue_final_message": True}
            if facts.vllm:
                body["logprob_token_ids"] = [token for piece in onward for token in ids[begun, piece]]
            reply, url = await self._servers.chat(prefix, body)
            logprobs = reply.first.logprobs
            if logprobs is None or not logprobs.content or not logprobs.content[0].top_logprobs:
                raise UnsupportedRequest(
                    f"{url} returns no log-probabilities; use a server that does, such as vLLM"
                )
            return read_pieces(onward, logprobs.content[0].top_logprobs, reply.usage.usage())

        return await choose_by_paths(paths, ask)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._servers.aclose()

    def _chat_body(
        self, facts: ServerFacts, messages: Sequence[Message], sampling: Sampling
    ) -> dict[str, Any]:
        reasoning = sampling.thinking_tokens if sampling.thinking else 0
        body: dict[str, Any] = {
            "model": facts.model,
            "messages": chat_messages(messages),
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "seed": sampling.seed,
            "max_tokens": sampling.max_tokens + reasoning,
        }
        if facts.vllm:
            body["chat_template_kwargs"] = {"enable_thinking": sampling.thinking}
            if reasoning and self._thinking_budget:
                body["thinking_token_budget"] = reasoning
        return body | self._extra_body
