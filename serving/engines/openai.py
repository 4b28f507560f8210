"""Asking a model behind an OpenAI-compatible server: vLLM, and whatever else speaks the protocol.

Invariant: a call ends in a reply or in one `serving.errors.EngineError`; the same messages, sampling and
schema are the same request bytes; a prefix goes to the same replica as long as that can be reached.

What vLLM adds to the protocol is used where the server says that it is vLLM (`owned_by` in /v1/models):
`chat_template_kwargs.enable_thinking`, `thinking_token_budget`, /tokenize, /version, /metrics. Any other
server gets plain OpenAI fields only; what it needs besides goes into `extra_body`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import pairwise
from random import Random
from typing import Any, Literal, NamedTuple
from urllib.parse import urlsplit

from pydantic_core import to_json

from serving.engine import JsonSchema
from serving.engines.choosing import Read, check_first_tokens, check_options, choose_by_paths, read_pieces
from serving.engines.server import ServerFacts, agree, ask_server, root_of
from serving.engines.streaming import Heard, Once
from serving.engines.wire import ChatReply, TokenList, chat_messages, parse
from serving.errors import (
    BadEndpoint,
    EngineUnreachable,
    RequestRefused,
    UnsupportedRequest,
)
from serving.http import Answer, HttpClient
from serving.retry import Replicas, Retry
from serving.types import Choice, EngineIdentity, EngineLimits, Generation, Message, Sampling

PREFIX_CHARACTERS = 4096
"""So much of the conversation decides which replica it goes to: the system text and a report's opening."""

TEMPLATE_TOKENS = 256
TEMPLATE_TOKENS_PER_MESSAGE = 16
"""Generous bounds of what chat templates add: a default system text and the marks around each message."""


class _Piece(NamedTuple):
    """A part of an option."""

    text: str
    ids: tuple[int, ...]
    """Tokens that read so."""


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
        identity. extra_body: further fields of every chat completion; part of the identity. rng, sleep: of
        the back-off between attempts.

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
        self._urls = [normal_base_url(url) for url in base_urls]
        self._model = model
        self._api_key = api_key
        self._timeout = timeout
        self._concurrency = concurrency
        self._structured = structured
        self._thinking_budget = thinking_budget
        self._top_logprobs = top_logprobs
        self._context_tokens = context_tokens
        self._kv_tokens = kv_tokens
        self._weights = {"revision": revision, "weights_digest": weights_digest, "quantisation": quantisation}
        self._options = dict(options or {})
        self._extra_body = dict(extra_body or {})
        self._replicas = Replicas(self._urls)
        self._retry = Retry(attempts=max_attempts, rng=rng or Random(), sleep=sleep)
        self._slots = asyncio.Semaphore(concurrency)
        self._client: HttpClient | None = None
        self._asking: asyncio.Task[ServerFacts] | None = None
        self._spelt_of: dict[str, tuple[_Piece, ...]] = {}

    async def identity(self) -> EngineIdentity:
        """Model and version as the server says them, the weights as the constructor was told."""
        facts = await self._facts()
        options: dict[str, Any] = {**self._options, "structured": self._structured}
        if not self._thinking_budget:
            options["thinking_budget"] = False
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
        facts = await self._facts()
        context = self._context_tokens or facts.context_tokens
        if context is None:
            raise UnsupportedRequest(
                f"{self._urls[0]} does not say how long its context is; set context_tokens for this judge"
            )
        kv_tokens = self._kv_tokens or facts.kv_tokens
        return EngineLimits(context_tokens=context, kv_tokens=kv_tokens, concurrency=self._concurrency)

    async def count_tokens(self, messages: Sequence[Message]) -> int:
        """By vLLM's /tokenize; elsewhere the upper bound of UTF-8 bytes plus room for the chat template."""
        facts = await self._facts()
        if not facts.vllm:
            text = sum(len(message.content.encode()) for message in messages)
            return text + TEMPLATE_TOKENS + TEMPLATE_TOKENS_PER_MESSAGE * len(messages)
        template = {"add_generation_prompt": True, "chat_template_kwargs": {"enable_thinking": False}}
        body = {"model": facts.model, "messages": chat_messages(messages), **template}
        return (await self._tokenize(self._prefix(messages), body)).count

    async def generate(
        self,
        messages: Sequence[Message],
        sampling: Sampling,
        schema: JsonSchema | None = None,
        started: Callable[[], None] | None = None,
    ) -> Generation:
        """One chat completion; streamed only when `started` is given."""
        facts = await self._facts()
        body = self._chat_body(facts, messages, sampling)
        if schema is not None and self._structured == "json_schema":
            named = {"name": str(schema.get("title", "reply")), "schema": schema, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        if started is not None:
            return await self._streamed(messages, body, sampling.thinking, Once(started))
        reply, _ = await self._chat(messages, body)
        return reply.generation(sampling.thinking)

    async def choose(self, messages: Sequence[Message], options: Sequence[str]) -> Choice:
        """The unconstrained model's log-probability of each option as the next words.

        A token's probability is the sum over the tokens that read the same when white space around them is taken
        off ("Yes" and " Yes"; upper and lower case are different answers). vLLM is asked for those very tokens
        (`logprob_token_ids`), and for an option of several tokens again after each of its beginnings, which stands
        as the start of the answer (see `serving.engines.choosing`). Other servers, and a vLLM without that field,
        return their `top_logprobs` most likely tokens; an option that is not among them gets the log-probability
        of the least likely one returned, which bounds it from above, and is named in `Choice.bounded`.

        Raises:
            UnsupportedRequest: options that are empty or doubled; where the server has no tokenizer, options that
                begin with one another; where it has one, an option that is not spelt out by its tokens; a server
                without log-probabilities.
        """
        check_options(options)
        facts = await self._facts()
        if facts.vllm:
            spelt = {option: await self._spelt(facts, option) for option in options}
        else:
            check_first_tokens(options)
            spelt = {option: (_Piece(option, ()),) for option in options}
        paths = {option: tuple(piece.text for piece in pieces) for option, pieces in spelt.items()}
        ids: dict[tuple[tuple[str, ...], str], dict[int, None]] = {}
        for option, pieces in spelt.items():
            for place, piece in enumerate(pieces):
                ids.setdefault((paths[option][:place], piece.text), {}).update(dict.fromkeys(piece.ids))

        async def ask(begun: tuple[str, ...], onward: tuple[str, ...]) -> Read[str]:
            said = [*messages, Message(role="assistant", content="".join(begun))] if begun else messages
            body = self._chat_body(facts, said, Sampling(max_tokens=1))
            body |= {"logprobs": True, "top_logprobs": self._top_logprobs}
            if begun:
                body |= {"add_generation_prompt": False, "continue_final_message": True}
            if facts.vllm:
                body["logprob_token_ids"] = [token for piece in onward for token in ids[begun, piece]]
            reply, url = await self._chat(messages, body)
            logprobs = reply.choices[0].logprobs
            if logprobs is None or not logprobs.content or not logprobs.content[0].top_logprobs:
                raise UnsupportedRequest(
                    f"{url} returns no log-probabilities; use a server that does, such as vLLM"
                )
            return read_pieces(onward, logprobs.content[0].top_logprobs, reply.usage.usage())

        return await choose_by_paths(paths, ask)

    async def aclose(self) -> None:
        """Close all connections."""
        if self._asking is not None:
            self._asking.cancel()
            await asyncio.wait([self._asking])
            self._asking = None
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    def _http(self) -> HttpClient:
        if self._client is None:
            self._client = HttpClient(api_key=self._api_key, timeout=self._timeout)
        return self._client

    async def _facts(self) -> ServerFacts:
        """What the servers say of themselves: asked once, by whoever comes first; all others wait."""
        if self._asking is None or (self._asking.done() and _failed(self._asking)):
            self._asking = asyncio.create_task(self._ask_servers())
        return await asyncio.shield(self._asking)

    async def _ask_servers(self) -> ServerFacts:
        """All servers that can be reached, which must be alike; at least one must be."""

        async def ask_all(_: str) -> ServerFacts:
            found: list[tuple[str, ServerFacts]] = []
            last: EngineUnreachable | None = None
            for url in self._urls:
                try:
                    found.append((url, await ask_server(self._http(), url, self._model)))
                except EngineUnreachable as error:
                    self._replicas.unreachable(url)
                    last = error
            if last is not None and not found:
                raise last
            return agree(found)

        return await self._retry.run(Replicas(self._urls[:1]), "", ask_all)

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

    async def _chat(self, messages: Sequence[Message], body: Mapping[str, Any]) -> tuple[ChatReply, str]:
        content = _encoded(body)

        async def send(base_url: str) -> tuple[ChatReply, str]:
            answer = await self._post(f"{base_url}/chat/completions", content)
            return parse(ChatReply, answer.url, answer.body), answer.url

        return await self._retry.run(self._replicas, self._prefix(messages), send)

    def _prefix(self, messages: Sequence[Message]) -> str:
        """The opening of a conversation, by which replicas share out the work; '' where there is but one."""
        opening = ""
        if len(self._urls) > 1:
            for message in messages:
                opening += f"{message.role}\n{message.content[: PREFIX_CHARACTERS - len(opening)]}\n"
                if len(opening) >= PREFIX_CHARACTERS:
                    break
        return opening

    async def _post(self, url: str, content: bytes) -> Answer:
        async with self._slots:
            return await self._http().post(url, content)

    async def _streamed(
        self, messages: Sequence[Message], body: Mapping[str, Any], thinking: bool, started: Once
    ) -> Generation:
        content = _encoded({**body, "stream": True, "stream_options": {"include_usage": True}})

        async def send(base_url: str) -> Generation:
            url = f"{base_url}/chat/completions"
            async with self._slots, self._http().stream(url, content) as lines:
                heard = Heard(url)
                async for line in lines:
                    if heard.take(line):
                        started()
            reply = heard.reply(thinking)
            started()
            return reply

        return await self._retry.run(self._replicas, self._prefix(messages), send)

    async def _tokenize(self, prefix: str, body: Mapping[str, Any]) -> TokenList:
        content = _encoded(body)

        async def send(base_url: str) -> TokenList:
            answer = await self._post(f"{root_of(base_url)}/tokenize", content)
            return parse(TokenList, answer.url, answer.body)

        return await self._retry.run(self._replicas, prefix, send)

    async def _tokens(self, facts: ServerFacts, text: str) -> list[int]:
        body = {"model": facts.model, "add_special_tokens": False, "prompt": text}
        return (await self._tokenize(text, body)).tokens

    async def _spelt(self, facts: ServerFacts, option: str) -> tuple[_Piece, ...]:
        """The option as single tokens, with and without a space before it, or as the pieces that it takes; asked once.

        Raises:
            UnsupportedRequest: its tokens do not end where its characters do.
        """
        if option not in self._spelt_of:
            variants = [await self._tokens(facts, text) for text in (option, f" {option}")]
            single = tuple(tokens[0] for tokens in variants if len(tokens) == 1)
            if single:
                self._spelt_of[option] = (_Piece(option, single),)
            else:
                self._spelt_of[option] = await self._in_pieces(facts, option, variants[0])
        return self._spelt_of[option]

    async def _in_pieces(self, facts: ServerFacts, option: str, tokens: list[int]) -> tuple[_Piece, ...]:
        """The tokens of an option with their texts: one ends where the option so far is tokenized as it begins."""
        ends = [0]
        for end in range(1, len(option)):
            if await self._tokens(facts, option[:end]) == tokens[: len(ends)]:
                ends.append(end)
        if len(ends) != len(tokens):
            raise UnsupportedRequest(
                f"option {option!r} is more than one token of {facts.model}, and these do not spell it; use options "
                "such as A, B, C"
            )
        ends.append(len(option))
        texts = [option[start:end] for start, end in pairwise(ends)]
        return tuple(_Piece(text, (token,)) for text, token in zip(texts, tokens, strict=True))


def normal_base_url(url: str) -> str:
    """`url` without a trailing slash, with `/v1` where it has no path.

    Raises:
        BadEndpoint: not an http or https URL with a host; or one with a password, which belongs in the API
        key.
    """
    try:
        parts = urlsplit(url.strip())
        host, _ = parts.hostname, parts.port
    except ValueError:
        host, parts = None, urlsplit("")
    if parts.scheme not in ("http", "https") or not host or parts.query or parts.fragment:
        raise BadEndpoint(f"{url!r} is not a base URL; give one such as http://localhost:8000/v1")
    if parts.username is not None or parts.password is not None:
        raise BadEndpoint(f"the base URL of {host} holds a user name or password; give the key as api_key")
    path = parts.path.rstrip("/")
    return f"{parts.scheme}://{parts.netloc}{path or '/v1'}"


def _encoded(body: Mapping[str, Any]) -> bytes:
    try:
        content = to_json(body)
        if b"NaN" in content or b"Infinity" in content:  # as a word, or as a number, which JSON does not have
            json.dumps(body, allow_nan=False)
        return content
    except (TypeError, ValueError) as error:
        raise RequestRefused(
            f"a request that cannot be written as JSON ({error}); check schema and extra_body"
        ) from error


def _failed(task: asyncio.Task[ServerFacts]) -> bool:
    return task.cancelled() or task.exception() is not None
