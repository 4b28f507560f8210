"""Requests to one or more identical OpenAI-compatible servers.

Invariants: the same body is the same bytes; a prefix goes to the same replica while that is reachable; the number of
requests in flight is limited; the servers' facts are fetched once.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from pydantic_core import to_json

from serving.engines.server import ServerFacts, agree, ask_server, root_of
from serving.engines.wire import ChatReply, Heard, Once, TokenList, parse
from serving.errors import BadEndpoint, EngineError, EngineUnreachable, RequestRefused, ServerDown, WrongModel
from serving.http import Answer, HttpClient
from serving.retry import Replicas, Retry, ServerWatch
from serving.types import Generation, Message

MODEL_SHOWN = 100
"""Maximum characters of a model's name in a message."""

PREFIX_CHARACTERS = 4096
"""Length of the prefix that decides the replica: the system text and the beginning of a report."""


class Servers:
    """One or more servers of one model; see `serving.engines.openai.OpenAIEngine` for the arguments.

    Raises:
        BadEndpoint: A base URL is invalid.
    """

    def __init__(
        self,
        base_urls: Sequence[str],
        model: str | None,
        *,
        api_key: str | None,
        timeout: float,
        concurrency: int,
        retry: Retry,
        reply_model: str | None = None,
        patience: float = 0.0,
        tell: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.urls = tuple(normal_base_url(url) for url in base_urls)
        self._model = model
        self._api_key = api_key
        self._timeout = timeout
        self._replicas = Replicas(self.urls)
        self._retry = retry
        self._reply_model = reply_model
        self._watch = ServerWatch(
            ", ".join(self.urls), self._healthy, patience=patience, tell=tell, sleep=retry.sleep
        )
        self._slots = asyncio.Semaphore(concurrency)
        self._checking = asyncio.Lock()
        self._client: HttpClient | None = None
        self._asking: asyncio.Task[ServerFacts] | None = None

    async def facts(self) -> ServerFacts:
        """Return the servers' facts; the first call fetches them, and concurrent calls wait for it."""
        task = self._asking
        if task is None or (task.done() and (task.cancelled() or task.exception() is not None)):
            task = self._asking = asyncio.create_task(self._ask_servers())
        return await asyncio.shield(task)

    def prefix(self, messages: Sequence[Message]) -> str:
        """Return the beginning of a conversation, which decides its replica; '' if there is only one."""
        opening = ""
        if len(self.urls) > 1:
            for message in messages:
                opening += f"{message.role}\n{message.content[: PREFIX_CHARACTERS - len(opening)]}\n"
                if len(opening) >= PREFIX_CHARACTERS:
                    break
        return opening

    async def chat(self, prefix: str, body: Mapping[str, Any]) -> tuple[ChatReply, str]:
        """Return a chat completion, and the URL that answered."""
        content = _encoded(body)

        async def send(base_url: str) -> tuple[ChatReply, str]:
            await self._still_alike(base_url)
            answer = await self._post(f"{base_url}/chat/completions", content)
            reply = parse(ChatReply, answer.url, answer.body)
            self._check_model(answer.url, body["model"], reply.model)
            return reply, answer.url

        return await self._retry.run(self._replicas, prefix, send, self._watch)

    async def stream(self, prefix: str, body: Mapping[str, Any], thinking: bool, started: Once) -> Generation:
        """Return a streamed chat completion; `started` is called at its first piece."""
        content = _encoded({**body, "stream": True, "stream_options": {"include_usage": True}})

        async def send(base_url: str) -> Generation:
            await self._still_alike(base_url)
            url = f"{base_url}/chat/completions"
            async with self._slots, self._http().stream(url, content) as lines:
                heard = Heard(url)
                async for line in lines:
                    if heard.take(line):
                        started()
            reply = heard.reply(thinking)
            for model in heard.models:
                self._check_model(url, body["model"], model)
            started()
            return reply

        return await self._retry.run(self._replicas, prefix, send, self._watch)

    async def tokenize(self, prefix: str, body: Mapping[str, Any]) -> TokenList:
        """Return vLLM's tokens of a text or a conversation."""
        content = _encoded(body)

        async def send(base_url: str) -> TokenList:
            await self._still_alike(base_url)
            answer = await self._post(f"{root_of(base_url)}/tokenize", content)
            return parse(TokenList, answer.url, answer.body)

        return await self._retry.run(self._replicas, prefix, send, self._watch)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._watch.aclose()
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

    async def _ask_servers(self) -> ServerFacts:
        """Fetch the facts of all reachable servers, which must agree."""

        async def ask_all(_: str) -> ServerFacts:
            found: list[tuple[str, ServerFacts]] = []
            last: EngineUnreachable | None = None
            for url in self.urls:
                try:
                    found.append((url, await self._ask(url)))
                except EngineUnreachable as error:
                    self._replicas.unreachable(url)
                    last = error
            if last is not None and not found:
                raise last
            return agree(found)

        return await self._retry.run(Replicas(self.urls[:1]), "", ask_all)

    async def _healthy(self) -> bool:
        """Check whether a server answers and still serves the same judge.

        Raises:
            ServerDown: It serves another model or version.
        """
        facts = await self.facts()
        for base_url in self.urls:
            health = f"{root_of(base_url)}/health" if facts.vllm else f"{base_url}/models"
            if not await self._http().answers(health):
                continue
            try:
                await self._check_alike("the judge before the outage", base_url)
            except EngineError:
                continue
            self._replicas.away.discard(base_url)
            return True
        return False

    async def _still_alike(self, base_url: str) -> None:
        """Check that a server that was unreachable still serves the same judge, before it gets any request.

        Raises:
            ServerDown: It serves another model or version.
            EngineError: It does not answer.
        """
        if base_url not in self._replicas.away:
            return
        async with self._checking:
            if base_url in self._replicas.away:
                await self._check_alike("the judge that was asked first", base_url)
                self._replicas.away.discard(base_url)

    async def _check_alike(self, name: str, base_url: str) -> None:
        try:
            agree([(name, await self.facts()), (base_url, await self._ask(base_url))])
        except RequestRefused as error:
            raise ServerDown(f"{base_url} is back as another judge: {error}") from error

    def _check_model(self, url: str, asked: str, said: str | None) -> None:
        if said is None:
            raise WrongModel(f"{url} was asked for {asked!r} and does not say which model answered")
        if said not in (asked, self._reply_model):
            raise WrongModel(
                f"{url} was asked for {asked!r} and answered as {said[:MODEL_SHOWN]!r}; if that is the same model, set "
                "reply_model in the judge's preset"
            )

    async def _ask(self, base_url: str) -> ServerFacts:
        return await ask_server(self._http(), base_url, self._model)

    async def _post(self, url: str, content: bytes) -> Answer:
        async with self._slots:
            return await self._http().post(url, content)


def normal_base_url(url: str) -> str:
    """Return `url` without a trailing slash, and with `/v1` if it has no path.

    Raises:
        BadEndpoint: It is not an http or https URL with a host, or contains a password, which belongs in the API key.
    """
    try:
        parts = urlsplit(url.strip())
        host, _ = parts.hostname, parts.port
        (host or "").encode("idna")  # as for a look-up: raises if a label is empty or too long
    except ValueError:
        host, parts = None, urlsplit("")
    if parts.scheme not in ("http", "https") or not host or parts.query or parts.fragment:
        shown = url.rpartition("@")[2][:200]  # without user name and password
        raise BadEndpoint(f"{shown!r} is not a base URL; give one such as http://localhost:8000/v1")
    if parts.username is not None or parts.password is not None:
        raise BadEndpoint(
            f"the base URL of {host} holds a user name or password; give the key as LOCAL_JUDGE_API_KEY or api_key"
        )
    path = parts.path.rstrip("/")
    return f"{parts.scheme}://{parts.netloc}{path or '/v1'}"


def _encoded(body: Mapping[str, Any]) -> bytes:
    try:
        content = to_json(body)
        if b"NaN" in content or b"Infinity" in content:  # as text, or as numbers, which JSON does not allow
            json.dumps(body, allow_nan=False)
        return content
    except (TypeError, ValueError) as error:
        raise RequestRefused(
            f"a request that cannot be written as JSON ({error}); check schema and extra_body"
        ) from error
