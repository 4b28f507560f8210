"""Requests to one or more identical OpenAI-compatible servers.

Invariants: the same body is the same bytes; a prefix goes to the same replica while that answers and is not overloaded;
the number of requests in flight is limited; the servers' facts are fetched once.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar
from urllib.parse import urlsplit

from pydantic_core import to_json

from serving.engines.server import ServerFacts, agree, ask_server, root_of
from serving.engines.wire import ChatReply, Heard, Once, W, WireUsage, parse
from serving.errors import BadEndpoint, EngineError, EngineUnreachable, RequestRefused, ServerDown, WrongModel
from serving.http import Answer, HttpClient
from serving.metrics import server_load
from serving.replicas import Replicas
from serving.retry import Retry, ServerWatch
from serving.types import Generation, Message, ReplicaUse

T = TypeVar("T")

MODEL_SHOWN = 100
"""Maximum characters of a model's name in a message."""

PREFIX_CHARACTERS = 1024
"""Length of the prefix that decides the replica: the system text and the beginning of a report or page.

With more, the questions after a short page would decide too, and go to different replicas.
"""

LOOK_SECONDS = 2.0
"""Least seconds between two looks at the health and the load of the replicas."""

MISSED = 2
"""Number of looks in a row without an answer after which a replica gets no more requests."""


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
        self._replicas = Replicas(self.urls)
        self._retry = retry
        self._reply_model = reply_model
        self._watch = ServerWatch(
            ", ".join(self.urls), self._healthy, patience=patience, tell=tell, sleep=retry.sleep
        )
        self._slots = asyncio.Semaphore(concurrency * len(self.urls))
        self._checking = asyncio.Lock()
        self._new_client = partial(HttpClient, api_key=api_key, timeout=timeout)
        self._client: HttpClient | None = None
        self._asking: asyncio.Task[ServerFacts] | None = None
        self._looking: dict[str, asyncio.Task[None]] = {}
        self._look_at = 0.0
        """Earliest time of the next look."""
        self._missed: dict[str, int] = dict.fromkeys(self.urls, 0)
        self._reported: dict[str, str] = {}
        """Replicas that are away and were reported, with the kind of the report."""
        self._miscounting: set[str] = set()

    async def facts(self) -> ServerFacts:
        """Return the servers' facts; the first call fetches them, and concurrent calls wait for it."""
        task = self._asking
        if task is None or (task.done() and (task.cancelled() or task.exception() is not None)):
            task = self._asking = asyncio.create_task(self._ask_servers())
        return task.result() if task.done() else await asyncio.shield(task)

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
        content = _encode_body(body)

        async def send(base_url: str) -> tuple[ChatReply, str]:
            await self._still_alike(base_url)
            self._replicas.reads(base_url, prefix)
            answer = await self._post(f"{base_url}/chat/completions", content)
            reply = parse(ChatReply, answer.url, answer.body)
            self._check_model(answer.url, body["model"], reply.model)
            self._check_counts(base_url, reply.usage)
            self._replicas.record_reply(base_url, reply.usage.usage())
            return reply, answer.url

        return await self._run(prefix, send)

    async def stream(self, prefix: str, body: Mapping[str, Any], thinking: bool, started: Once) -> Generation:
        """Return a streamed chat completion; `started` is called at its first piece."""
        content = _encode_body({**body, "stream": True, "stream_options": {"include_usage": True}})

        async def send(base_url: str) -> Generation:
            await self._still_alike(base_url)
            self._replicas.reads(base_url, prefix)
            url = f"{base_url}/chat/completions"
            async with self._slots, self._http().stream(url, content) as lines:
                heard = Heard(url)
                async for line in lines:
                    if heard.take(line):
                        started()
            reply = heard.reply(thinking)
            for model in heard.models:
                self._check_model(url, body["model"], model)
            self._check_counts(base_url, heard.usage)
            self._replicas.record_reply(base_url, reply.usage)
            started()
            return reply

        return await self._run(prefix, send)

    async def tokenize(self, kind: type[W], prefix: str, body: Mapping[str, Any]) -> W:
        """Return vLLM's tokens of a text or a conversation, or only their number."""
        content = _encode_body(body)

        async def send(base_url: str) -> W:
            await self._still_alike(base_url)
            answer = await self._post(f"{root_of(base_url)}/tokenize", content)
            return parse(kind, answer.url, answer.body)

        return await self._run(prefix, send)

    def use(self) -> tuple[ReplicaUse, ...]:
        """Return what each server has done so far."""
        return self._replicas.use()

    async def aclose(self) -> None:
        """Close all connections."""
        await self._watch.aclose()
        tasks: list[asyncio.Task[Any]] = list(self._looking.values())
        if self._asking is not None:
            tasks.append(self._asking)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._asking = None
        self._looking.clear()
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    async def _run(self, prefix: str, send: Callable[[str], Awaitable[T]]) -> T:
        """Send a request, and look at the replicas now and then."""

        async def sent(base_url: str) -> T:
            self._look()
            try:
                return await send(base_url)
            except EngineUnreachable:
                self._look_at = 0.0  # so that a replica that went away is reported at once
                self._look()
                raise

        self._look()  # also if no replica may be sent to
        return await self._retry.run(self._replicas, prefix, sent, self._watch)

    def _look(self) -> None:
        """Start a look at the replicas if it is time for one."""
        now = time.monotonic()
        if len(self.urls) > 1 and now >= self._look_at:
            self._look_at = now + LOOK_SECONDS
            for url in self.urls:
                if url not in self._looking or self._looking[url].done():
                    self._looking[url] = asyncio.create_task(self._look_at_one(url))

    async def _look_at_one(self, base_url: str) -> None:
        """Read the load of a replica that answers; take one back that is there again; report one that is not."""
        facts = await self.facts()
        answers = await self._answers(base_url, facts)
        self._missed[base_url] = 0 if answers else self._missed[base_url] + 1
        if answers and self._replicas.is_away(base_url):
            try:
                await self._still_alike(base_url)
            except ServerDown as error:
                self._report(base_url, "another judge", f"{error}; it gets no calls")
            except EngineError:
                pass  # it went away again
        elif answers and facts.vllm:
            before = self._replicas.in_flight(base_url)
            try:
                metrics = await self._http().get_soon(f"{root_of(base_url)}/metrics")
            except EngineError:
                return  # its load is unknown
            in_flight = max(before, self._replicas.in_flight(base_url))
            self._replicas.record_load(
                base_url, server_load(metrics.body.decode("utf-8", "replace")), in_flight
            )
        elif not answers and (self._missed[base_url] >= MISSED or self._replicas.is_away(base_url)):
            others = [url for url in self.urls if url != base_url and not self._replicas.is_away(url)]
            if others:  # else it is an outage, which the watch reports
                self._replicas.record_outage(base_url)
                rest = f"the other {len(others)} servers go on" if len(others) > 1 else f"{others[0]} goes on"
                line = f"{base_url} does not answer and gets no calls until it does; {rest}"
                self._report(base_url, "away", line)

    def _report(self, base_url: str, kind: str, line: str) -> None:
        """Tell a line about a replica that is away, once."""
        if self._reported.get(base_url) != kind:
            self._reported[base_url] = kind
            self._watch.say(line)

    async def _answers(self, base_url: str, facts: ServerFacts) -> bool:
        """Check whether a server is healthy."""
        health = f"{root_of(base_url)}/health" if facts.vllm else f"{base_url}/models"
        return await self._http().answers(health)

    def _http(self) -> HttpClient:
        if self._client is None:
            self._client = self._new_client()
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
                    self._replicas.record_outage(url)
                    last = error
            if last is not None and not found:
                raise last
            return agree(found)

        return await self._retry.run(Replicas(self.urls[:1]), "", ask_all)

    async def _healthy(self) -> bool:
        """Check whether a server answers and still serves the same judge; those that were away and do are taken back.

        Raises:
            ServerDown: The first one that answers serves another model or version.
        """
        facts = await self.facts()
        healthy = False
        for base_url in self.urls:
            needed = not healthy or self._replicas.is_away(base_url)
            if not needed or not await self._answers(base_url, facts):
                continue
            try:
                await self._check_alike("the judge before the outage", base_url)
            except EngineError as error:
                if isinstance(error, ServerDown) and not healthy:
                    raise
                continue
            self._back(base_url)
            healthy = True
        return healthy

    async def _still_alike(self, base_url: str) -> None:
        """Check that a server that was unreachable still serves the same judge, before it gets any request.

        Raises:
            ServerDown: It serves another model or version.
            EngineError: It does not answer.
        """
        if not self._replicas.is_away(base_url):
            return
        async with self._checking:
            if self._replicas.is_away(base_url):
                await self._check_alike("the judge that was asked first", base_url)
                self._back(base_url)

    def _back(self, base_url: str) -> None:
        """Record that a server is there again, and tell it if it was reported as away."""
        seconds = self._replicas.back(base_url)
        if self._reported.pop(base_url, None) is not None:
            self._watch.say(f"{base_url} is back after {seconds:.0f} s and gets calls again")

    async def _check_alike(self, name: str, base_url: str) -> None:
        try:
            agree([(name, await self.facts()), (base_url, await self._ask(base_url))])
        except RequestRefused as error:
            raise ServerDown(f"{base_url} is back as another judge: {error}") from error

    def _check_model(self, url: str, asked: str, named: str | None) -> None:
        if named is None:
            raise WrongModel(f"{url} was asked for {asked!r} and does not say which model answered")
        if named not in (asked, self._reply_model):
            raise WrongModel(
                f"{url} was asked for {asked!r} and answered as {named[:MODEL_SHOWN]!r}; if that is the same model, "
                "set reply_model in the judge's preset"
            )

    def _check_counts(self, base_url: str, usage: WireUsage) -> None:
        """Tell once per server that its counts contradict each other."""
        if usage.is_contradictory and base_url not in self._miscounting:
            self._miscounting.add(base_url)
            self._watch.say(
                f"{base_url} reports {usage.cached_tokens:,} cached tokens of a prompt of {usage.prompt_tokens:,}; "
                "such numbers are left out"
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


def _encode_body(body: Mapping[str, Any]) -> bytes:
    try:
        content = to_json(body)
        if b"NaN" in content or b"Infinity" in content:  # as text, or as numbers, which JSON does not allow
            json.dumps(body, allow_nan=False)
        return content
    except (TypeError, ValueError) as error:
        raise RequestRefused(
            f"a request that cannot be written as JSON ({error}); check schema and extra_body"
        ) from error
