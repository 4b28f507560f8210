"""Every way in which a server can misbehave ends as the right error, after the right number of sendings."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable, Iterator
from random import Random

import pytest

from serving.engines.openai import OpenAIEngine
from serving.engines.server import ServerFacts, ask_server
from serving.engines.wire import ChatReply, ModelList, parse
from serving.errors import (
    EngineError,
    EngineFault,
    EngineOverloaded,
    EngineTimeout,
    EngineUnreachable,
    KeyRefused,
    MalformedReply,
    NoServer,
    PromptTooLong,
    RequestRefused,
)
from serving.http import Answer, HttpClient, refusal
from serving.types import Message, Sampling
from tests.stub_server import Fault, Stub, StubPlan

from ..waiting import Clock, until

PROMPT = [Message(role="user", content="Is it so?")]

VLLM_TOO_LONG = (
    "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens. "
    "Please reduce the length."
)


class Naps:
    """Takes the place of sleeping, and remembers."""

    def __init__(self) -> None:
        self.taken: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.taken.append(seconds)


def engine_for(
    *stubs: Stub, naps: Naps | None = None, attempts: int = 3, timeout: float = 60.0
) -> OpenAIEngine:
    urls = [stub.url for stub in stubs]
    sleep = naps or Naps()
    return OpenAIEngine(urls, max_attempts=attempts, timeout=timeout, rng=Random(1), sleep=sleep)


@pytest.fixture
def nowhere() -> Iterator[str]:
    """A base URL where nothing listens, nor can."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{bound.getsockname()[1]}/v1"


ALWAYS = [
    (Fault("500", message="boom"), EngineFault, 3, r"HTTP 500 \(boom\); look at the server's log"),
    (Fault("502"), EngineFault, 3, "HTTP 502"),
    (Fault("503"), EngineOverloaded, 3, "HTTP 503.*lower the concurrency"),
    (Fault("429"), EngineOverloaded, 3, "HTTP 429"),
    (Fault("408"), EngineTimeout, 2, "HTTP 408"),
    (Fault("drop"), EngineUnreachable, 3, "closed the connection"),
    (Fault("cut"), EngineUnreachable, 3, "closed the connection before its answer was complete"),
    (Fault("truncated"), MalformedReply, 3, "no ChatReply"),
    (Fault("empty"), MalformedReply, 3, "an empty body"),
    (Fault("text"), MalformedReply, 3, "no ChatReply"),
    (Fault("wrong"), MalformedReply, 3, r"choices: Field required"),
    (Fault("400", message="bad\nschema\x1b[31m"), RequestRefused, 1, r"HTTP 400 \(bad schema \[31m\)"),
    (Fault("401"), KeyRefused, 1, "give the API key"),
    (Fault("404"), RequestRefused, 1, "check the base URL"),
    (Fault("400", message=VLLM_TOO_LONG), PromptTooLong, 1, "maximum context length is 4096"),
    (
        Fault("422", message="inputs tokens + max_new_tokens must be <= 4096"),
        PromptTooLong,
        1,
        "shorten the prompt",
    ),
    (Fault("413"), PromptTooLong, 1, "HTTP 413"),
]


@pytest.mark.parametrize(
    ("fault", "kind", "sent", "said"), ALWAYS, ids=lambda value: getattr(value, "kind", None)
)
async def test_a_server_that_always_fails(
    fault: Fault, kind: type[EngineError], sent: int, said: str
) -> None:
    async with Stub(StubPlan(faults=(fault,), last_fault_stays=True)) as stub:
        engine = engine_for(stub)
        with pytest.raises(kind, match=said) as caught:
            await engine.generate(PROMPT, Sampling())
        await engine.aclose()
    message = str(caught.value)
    assert type(caught.value) is kind
    assert message.startswith(f"{stub.url}/chat/completions ")
    assert "\n" not in message
    assert message.endswith(f"(attempt {sent})") == (sent > 1)
    assert len(stub.chats) == sent


STREAMED = [
    (Fault("500"), EngineFault),
    (Fault("cut"), EngineUnreachable),
    (Fault("truncated"), (EngineUnreachable, MalformedReply)),
    (Fault("empty"), MalformedReply),
    (Fault("text"), MalformedReply),
    (Fault("wrong"), MalformedReply),
]


@pytest.mark.parametrize(("fault", "kind"), STREAMED, ids=lambda value: getattr(value, "kind", None))
async def test_a_stream_that_breaks(fault: Fault, kind: type[EngineError]) -> None:
    begun: list[str] = []
    async with Stub(StubPlan(faults=(fault, fault, fault))) as stub:
        engine = engine_for(stub)
        with pytest.raises(kind):
            await engine.generate(PROMPT, Sampling(), started=lambda: begun.append("begun"))
        assert len(stub.chats) == 3
        reply = await engine.generate(PROMPT, Sampling(), started=lambda: begun.append("again"))
        await engine.aclose()
    assert reply.text == '{"ok": true}'
    assert begun.count("again") == 1
    assert begun.count("begun") <= 1  # told once, however often it was sent


@pytest.mark.parametrize("kind", ["500", "503", "429", "drop", "cut", "truncated", "empty", "text", "wrong"])
async def test_what_passes_is_tried_again(kind: str) -> None:
    naps = Naps()
    async with Stub(StubPlan(faults=(Fault(kind), Fault(kind)))) as stub:
        engine = engine_for(stub, naps=naps)
        reply = await engine.generate(PROMPT, Sampling())
        await engine.aclose()
    assert reply.text == '{"ok": true}'
    assert len(stub.chats) == 3
    assert len({request.body for request in stub.chats}) == 1
    rng = Random(1)  # full jitter: U(0, 0.5), then U(0, 1)
    assert naps.taken == [rng.uniform(0, 0.5), rng.uniform(0, 1.0)]


async def test_retry_after_is_waited_for() -> None:
    naps = Naps()
    async with Stub(StubPlan(faults=(Fault("429", retry_after="7"),))) as stub:
        engine = engine_for(stub, naps=naps)
        await engine.generate(PROMPT, Sampling())
        await engine.aclose()
    assert naps.taken == [7.0 + Random(1).uniform(0, 0.5)]


@pytest.mark.parametrize("value", ["86400", "Fri, 31 Dec 2100 23:59:59 GMT"])
async def test_a_retry_after_of_a_day_ends_the_call(value: str) -> None:
    naps = Naps()
    async with Stub(StubPlan(faults=(Fault("429", retry_after=value),))) as stub:
        engine = engine_for(stub, naps=naps)
        with pytest.raises(EngineOverloaded):
            await engine.generate(PROMPT, Sampling())
        await engine.aclose()
    assert (naps.taken, len(stub.chats)) == ([], 1)


async def test_a_key_that_the_server_quotes_is_not_passed_on() -> None:
    async with Stub(StubPlan(faults=(Fault("401", message="wrong key: k-123"),))) as stub:
        engine = OpenAIEngine([stub.url], api_key="k-123")
        with pytest.raises(RequestRefused, match=r"wrong key: \*\*\*") as caught:
            await engine.generate(PROMPT, Sampling())
        await engine.aclose()
    assert "k-123" not in str(caught.value)


@pytest.mark.parametrize(("status", "named"), [(401, None), (403, "m"), (404, "m")])
async def test_a_wrong_key_is_told_when_the_server_is_asked_what_it_is(
    status: int, named: str | None
) -> None:
    class Refusing(HttpClient):
        async def get(self, url: str) -> Answer:
            raise refusal(url, status, {}, b"")

    client = Refusing(api_key="k", timeout=5)
    if named is None:
        with pytest.raises(KeyRefused, match="API key"):
            await ask_server(client, "http://host/v1", "m")
    else:  # perhaps it only does not list its models
        assert await ask_server(client, "http://host/v1", "m") == ServerFacts(model="m", vllm=False)
    await client.aclose()


def test_an_error_body_of_endless_brackets_is_still_an_error() -> None:
    error = refusal("http://host/v1", 500, {}, b"[" * 60_000)
    assert isinstance(error, EngineFault)
    assert str(error).startswith("http://host/v1 answered HTTP 500 ([[[")


@pytest.mark.parametrize("count", [-1, 10**30, True])
def test_a_count_that_cannot_be_kept_is_a_malformed_reply(count: int) -> None:
    body = {"choices": [{"message": {"content": "{}"}}], "usage": {"prompt_tokens": count}}
    with pytest.raises(MalformedReply, match=r"usage\.prompt_tokens"):
        parse(ChatReply, "http://host/v1/chat/completions", json.dumps(body).encode())


def test_true_is_no_length_of_a_context() -> None:
    with pytest.raises(MalformedReply, match=r"data\.0\.max_model_len"):
        parse(ModelList, "http://host/v1/models", b'{"data": [{"id": "m", "max_model_len": true}]}')


async def test_a_server_that_hangs_runs_into_the_time_limit(clock: Clock) -> None:
    async with Stub(StubPlan(faults=(Fault("hang"),), last_fault_stays=True)) as stub:
        engine = engine_for(stub, attempts=5, timeout=60)
        call = asyncio.create_task(engine.generate(PROMPT, Sampling()))
        for attempt in (1, 2):
            await until(lambda attempt=attempt: len(stub.chats) == attempt)
            clock.advance(61)  # aiohttp rounds the limit up
        with pytest.raises(
            EngineTimeout, match=r"did not answer within 60 s; raise the time limit.*attempt 2"
        ):
            await call
        await engine.aclose()
    assert len(stub.chats) == 2


async def test_a_body_without_end_is_not_read_to_its_end() -> None:
    async with Stub(StubPlan(faults=(Fault("huge"),), last_fault_stays=True)) as stub:
        engine = engine_for(stub, attempts=1)
        with pytest.raises(MalformedReply, match="more than 32 MiB"):
            await engine.generate(PROMPT, Sampling())
        await engine.aclose()


async def test_a_server_that_is_down(nowhere: str) -> None:
    naps = Naps()
    engine = OpenAIEngine([nowhere], max_attempts=3, sleep=naps)
    with pytest.raises(EngineUnreachable, match=rf"^nothing answers at {nowhere}; start the server"):
        await engine.generate(PROMPT, Sampling())
    await engine.aclose()
    assert len(naps.taken) == 2


async def test_many_callers_of_a_server_that_is_down_share_one_look(nowhere: str) -> None:
    naps = Naps()
    engine = OpenAIEngine([nowhere], max_attempts=3, sleep=naps)
    calls = [engine.generate(PROMPT, Sampling()) for _ in range(20)]
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    await engine.aclose()
    assert {type(outcome) for outcome in outcomes} == {NoServer}
    assert len(naps.taken) == 2


async def test_a_server_that_comes_up_later_is_found(ports: Callable[[int], list[int]]) -> None:
    stub, [port] = Stub(), ports(1)
    engine = OpenAIEngine([f"http://127.0.0.1:{port}/v1"], max_attempts=1)
    with pytest.raises(EngineUnreachable):
        await engine.generate(PROMPT, Sampling())
    await stub.start(port=port)
    assert (await engine.generate(PROMPT, Sampling())).text == '{"ok": true}'
    await engine.aclose()
    await stub.stop()


async def test_something_that_speaks_no_http() -> None:
    async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail.example ESMTP\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    engine = OpenAIEngine([f"http://127.0.0.1:{port}/v1"], "m", max_attempts=1)
    with pytest.raises((MalformedReply, EngineUnreachable), match=f"http://127.0.0.1:{port}/v1"):
        await engine.generate(PROMPT, Sampling())
    await engine.aclose()
    server.close()
    await server.wait_closed()


def prompts(number: int) -> list[list[Message]]:
    return [[Message(role="user", content=f"Report {n}. " + "text " * 1000)] for n in range(number)]


async def test_a_prefix_stays_on_one_replica() -> None:
    async with Stub() as left, Stub() as right:
        engine = engine_for(left, right)
        for question in ("first batch", "second batch", "third batch"):
            for report in prompts(12):
                await engine.generate([*report, Message(role="user", content=question)], Sampling())
        await engine.aclose()
    homes = [{request.json["messages"][0]["content"] for request in stub.chats} for stub in (left, right)]
    assert homes[0] | homes[1] == {report[0].content for report in prompts(12)}
    assert homes[0] & homes[1] == set()
    assert len(left.chats) + len(right.chats) == 36


async def test_a_replica_that_goes_down_is_passed_over_without_waiting() -> None:
    naps = Naps()
    async with Stub() as left:
        async with Stub() as right:
            engine = engine_for(left, right, naps=naps)
            await engine.identity()
        for report in prompts(12):
            assert (await engine.generate(report, Sampling())).text == '{"ok": true}'
        await engine.aclose()
    assert len(left.chats) == 12
    assert naps.taken == []


async def test_a_replica_that_fails_hands_over_after_a_wait() -> None:
    naps = Naps()
    broken = StubPlan(faults=(Fault("500"),), last_fault_stays=True)
    async with Stub(broken) as left, Stub() as right:
        engine = engine_for(left, right, naps=naps)
        for report in prompts(40):  # their addresses decide whose they are
            assert (await engine.generate(report, Sampling())).text == '{"ok": true}'
        await engine.aclose()
    assert len(right.chats) == 40
    assert 0 < len(left.chats) == len(naps.taken) < 40


async def test_servers_of_different_models_are_no_replicas() -> None:
    async with Stub(StubPlan(context_tokens=100)) as left, Stub(StubPlan(model="other")) as right:
        engine = engine_for(left, right)
        with pytest.raises(RequestRefused, match=r"are not replicas: model is 'stub' and 'other'"):
            await engine.identity()
        await engine.aclose()


async def test_replicas_lend_the_smallest_context_and_all_their_caches() -> None:
    async with Stub(StubPlan(context_tokens=100)) as left, Stub(StubPlan(context_tokens=200)) as right:
        engine = engine_for(left, right)
        limits = await engine.limits()
        await engine.aclose()
    assert (limits.context_tokens, limits.kv_tokens) == (100, 32_000)


async def test_cancelling_a_call_leaves_the_engine_whole() -> None:
    async with Stub(StubPlan(faults=(Fault("hang"),))) as stub:
        engine = engine_for(stub)
        call = asyncio.create_task(engine.generate(PROMPT, Sampling()))
        await until(lambda: len(stub.chats) == 1)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert (await engine.generate(PROMPT, Sampling())).text == '{"ok": true}'
        await engine.aclose()


class SaysOfItself(HttpClient):
    """A server that answers every GET with the same body."""

    def __init__(self, body: dict[str, object]) -> None:
        super().__init__(api_key=None, timeout=1.0)
        self.body = json.dumps(body).encode()

    async def get(self, url: str) -> Answer:
        return Answer(url, self.body)


async def test_metrics_that_are_too_long_leave_the_size_of_the_cache_unknown() -> None:
    class Long(HttpClient):
        async def get(self, url: str) -> Answer:
            if url.endswith("/metrics"):
                raise MalformedReply(f"{url} answers with more than 32 MiB")
            if url.endswith("/models"):
                return Answer(url, json.dumps({"data": [{"id": "m", "owned_by": "vllm"}]}).encode())
            raise refusal(url, 404, {}, b"")

    client = Long(api_key=None, timeout=1.0)
    assert await ask_server(client, "http://h/v1", None) == ServerFacts(model="m", vllm=True)
    await client.aclose()


async def test_what_a_server_says_of_itself_makes_no_long_message() -> None:
    long = SaysOfItself({"data": [{"id": "m" * 1_000_000}]})
    with pytest.raises(
        MalformedReply, match=r"data.0.id: String should have at most 500 characters"
    ) as caught:
        await ask_server(long, "http://h/v1", None)
    assert len(str(caught.value)) < 300
    await long.aclose()
    many = SaysOfItself({"data": [{"id": f"model-{n}"} for n in range(100_000)]})
    for model in (None, "qwen"):
        with pytest.raises(RequestRefused, match=r"model-19, …") as refused:
            await ask_server(many, "http://h/v1", model)
        assert len(str(refused.value)) < 400
    await many.aclose()


@pytest.mark.parametrize("streamed", [False, True])
async def test_more_cached_tokens_than_the_prompt_has_are_left_out_and_told_once(streamed: bool) -> None:
    """The stub counts "Is it so?" as 9 // 4 + 1 = 3 tokens, and says that 4,000 of them were cached."""
    told: list[str] = []
    async with Stub(StubPlan(cached_tokens=4000)) as stub:
        engine = OpenAIEngine([stub.url], tell=told.append)
        started = (lambda: None) if streamed else None
        replies = [await engine.generate(PROMPT, Sampling(), started=started) for _ in range(2)]
        await engine.aclose()
    assert [reply.usage.cached_tokens for reply in replies] == [None, None]
    assert [reply.usage.prompt_tokens for reply in replies] == [3, 3]
    [line] = told
    assert "reports 4,000 cached tokens of a prompt of 3" in line
