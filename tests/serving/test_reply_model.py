"""A reply counts only if the model that was asked wrote it."""

from __future__ import annotations

import asyncio
import json

import pytest

from serving.engines import wire
from serving.engines.openai import OpenAIEngine
from serving.engines.sending import Servers
from serving.engines.wire import ChatReply, Heard, Once, parse
from serving.errors import EngineUnreachable, MalformedReply, WrongModel
from serving.retry import Retry
from serving.types import Message, Sampling
from tests.stub_server import Stub, StubPlan

PROMPT = [Message(role="user", content="Is it so?")]


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_reply_by_another_model_is_refused_and_both_are_named(streamed: bool) -> None:
    async with Stub(StubPlan(reply_model="small\x1b[31m-fallback" + "x" * 500)) as stub:
        engine = OpenAIEngine([stub.url])
        started = (lambda: None) if streamed else None
        with pytest.raises(
            WrongModel, match=r"asked for 'stub' and answered as 'small\\x1b\[31m-fallback"
        ) as caught:
            await engine.generate(PROMPT, Sampling(), started=started)
        with pytest.raises(WrongModel):
            await engine.choose(PROMPT, ["Yes", "No"])
        await engine.aclose()
    assert len(str(caught.value)) < 300
    assert len(stub.chats) == 2  # sent once each: the router has made up its mind


async def test_a_server_may_be_known_to_answer_under_another_name() -> None:
    async with Stub(StubPlan(reply_model="stub-2026-01-31")) as stub:
        engine = OpenAIEngine([stub.url], reply_model="stub-2026-01-31")
        reply = await engine.generate(PROMPT, Sampling())
        identity = await engine.identity()
        await engine.aclose()
    assert reply.text == '{"ok": true}'
    assert (identity.model, identity.options["reply_model"]) == ("stub", "stub-2026-01-31")


def event(model: str | None, text: str, finish: str | None = None, index: int = 0) -> bytes:
    choice = {"index": index, "delta": {"content": text}, "finish_reason": finish}
    return b"data: " + json.dumps({"model": model, "choices": [choice]}).encode()


def whole(model: str | None) -> bytes:
    return json.dumps({"model": model, "choices": [{"message": {"content": "{}"}}]}).encode()


async def answered_with(lines: list[bytes], *, streamed: bool) -> None:
    """Ask a server for a reply by `m`, which it gives in these lines."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.0 200 OK\r\n\r\n" + b"\n".join(lines) + b"\n")
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    servers = Servers([url], "m", api_key=None, timeout=60.0, concurrency=1, retry=Retry(attempts=1))
    try:
        if streamed:
            await servers.stream("", {"model": "m"}, False, Once(lambda: None))
        else:
            await servers.chat("", {"model": "m"})
    finally:
        await servers.aclose()
        server.close()


async def test_a_reply_that_names_no_model_is_refused() -> None:
    for lines, streamed in (
        ([whole(None)], False),
        ([whole(None)], True),
        ([event(None, "{}", "stop")], True),
    ):
        with pytest.raises(WrongModel, match="does not say which model answered"):
            await answered_with(lines, streamed=streamed)


async def test_every_piece_of_a_stream_has_to_name_the_model() -> None:
    await answered_with([event("m", '{"a":'), event("m", "1}", "stop")], streamed=True)
    for first, last in (("other", "m"), ("m", "other")):
        with pytest.raises(WrongModel, match="answered as 'other'"):
            await answered_with([event(first, '{"a":'), event(last, "1}", "stop")], streamed=True)


def test_a_second_reply_and_what_follows_the_end_are_not_read() -> None:
    heard = Heard("http://host")
    for line in (
        event("m", "B", index=1),
        event("m", "A", "stop"),
        event("m", "B", "length", index=1),
        b"data: [DONE]",
        event("other", "C", "length"),
    ):
        heard.take(line)
    reply = heard.reply(False)
    assert (reply.text, reply.finish_reason, list(heard.models)) == ("A", "stop", ["m"])
    body = {"choices": [{"index": n, "message": {"content": text}} for n, text in ((1, "B"), (0, "A"))]}
    assert parse(ChatReply, "http://host", json.dumps(body).encode()).generation(False).text == "A"


def test_a_stream_without_a_finish_reason_is_a_damaged_reply() -> None:
    """Only a stream that breaks off, without `[DONE]`, is a lost connection."""
    heard = Heard("http://host")
    heard.take(event("m", "A"))
    with pytest.raises(EngineUnreachable):
        heard.reply(False)
    heard.take(b"data: [DONE]")
    with pytest.raises(MalformedReply, match="without a finish_reason"):
        heard.reply(False)


def test_a_stream_of_nothing_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MAX_EVENTS", 3)
    heard = Heard("http://host")
    for _ in range(3):
        heard.take(b"data: {}")
    with pytest.raises(MalformedReply, match="more than 3 events"):
        heard.take(b"data: {}")
