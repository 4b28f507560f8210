"""Requests to an application in this process: typed errors, and nothing left behind."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from serving.engines.asgi import AppClient, Application, AppThread, Event, Opened
from serving.errors import (
    EngineFault,
    EngineOverloaded,
    EngineTimeout,
    LaunchFailed,
    PromptTooLong,
    ServerDown,
)

from ..waiting import SECONDS, Clock, until

URL = "http://in-process/v1/chat/completions"
Send = Callable[[Event], Awaitable[None]]


def opened(application: Application) -> Opened:
    @asynccontextmanager
    async def context() -> AsyncGenerator[Application]:
        yield application

    return context


async def answer(send: Send, status: int, body: bytes, **headers: str) -> None:
    named = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": named})
    await send({"type": "http.response.body", "body": body})


async def test_an_error_status_is_the_error_that_it_is_over_http() -> None:
    async def application(scope: Event, receive: Callable[[], Awaitable[Event]], send: Send) -> None:
        if scope["path"] == "/busy":
            await answer(send, 503, b"", retry_after="7")
        else:
            await answer(send, 400, b'{"error": {"message": "maximum context length is 8"}}')

    client = AppClient(AppThread(opened(application)), 60.0)
    with pytest.raises(EngineOverloaded) as busy:
        await client.get("http://in-process/busy")
    assert busy.value.retry_after == 7.0
    with pytest.raises(PromptTooLong, match="maximum context length is 8"):
        await client.post(URL, b"{}")
    assert not await client.answers("http://in-process/busy")
    assert await client.answers("http://in-process/other")
    await client.aclose()
    await client.aclose()
    assert "application" not in {thread.name for thread in threading.enumerate()}


async def test_an_answer_that_breaks_off_is_a_fault() -> None:
    async def application(scope: Event, receive: Callable[[], Awaitable[Event]], send: Send) -> None:
        if scope["path"] == "/part":
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"da", "more_body": True})
        raise ValueError("a defect")

    client = AppClient(AppThread(opened(application)), 60.0)
    for path in ("/part", "/nothing"):
        with pytest.raises(EngineFault, match=f"{path} ended without a complete answer"):
            await client.get(f"http://in-process{path}")
    await client.aclose()


async def test_lines_arrive_as_they_are_sent() -> None:
    more = asyncio.Event()

    async def application(scope: Event, receive: Callable[[], Awaitable[Event]], send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"data: 1\nda", "more_body": True})
        await asyncio.sleep(0.01)
        await send({"type": "http.response.body", "body": b"ta: 2\r\nend"})

    client = AppClient(AppThread(opened(application)), 60.0)
    async with client.stream(URL, b"{}") as lines:
        assert [line async for line in lines] == [b"data: 1", b"data: 2", b"end"]
    await client.aclose()
    assert not more.is_set()


async def test_a_caller_that_stops_waiting_is_a_closed_connection(clock: Clock) -> None:
    heard: list[str] = []
    told = threading.Event()

    async def application(scope: Event, receive: Callable[[], Awaitable[Event]], send: Send) -> None:
        heard.append((await receive())["type"])
        heard.append((await receive())["type"])
        told.set()

    client = AppClient(AppThread(opened(application)), 600.0)
    late = asyncio.create_task(client.post(URL, b"{}"))
    await until(lambda: heard)
    clock.advance(600)
    with pytest.raises(EngineTimeout, match=r"did not answer within 600 s"):
        await late
    assert await asyncio.to_thread(told.wait, SECONDS)
    assert heard == ["http.request", "http.disconnect"]
    told.clear()
    waiting = asyncio.create_task(client.post(URL, b"{}"))
    await until(lambda: len(heard) == 3)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert await asyncio.to_thread(told.wait, SECONDS)
    await client.aclose()


async def test_a_start_that_fails_fails_every_call() -> None:
    @asynccontextmanager
    async def context() -> AsyncGenerator[Application]:
        raise LaunchFailed("out of memory")
        yield  # pyright: ignore

    client = AppClient(AppThread(context), 60.0)
    for _ in range(2):
        with pytest.raises(LaunchFailed, match="out of memory"):
            await client.get(URL)
    await client.aclose()


async def test_closing_interrupts_a_start() -> None:
    begun, interrupted = threading.Event(), threading.Event()

    @asynccontextmanager
    async def context() -> AsyncGenerator[Application]:
        begun.set()
        interrupted.wait(SECONDS)  # as vLLM waits for its engine
        raise LaunchFailed("its process has ended")
        yield  # pyright: ignore

    client = AppClient(AppThread(context, interrupted.set), 60.0)
    waiting = asyncio.create_task(client.get(URL))
    await until(begun.is_set)
    waiting.cancel()
    await client.aclose()
    assert interrupted.is_set()


async def test_a_dead_engine_ends_the_run_instead_of_failing_every_call() -> None:
    async def application(scope: Event, receive: Callable[[], Awaitable[Event]], send: Send) -> None:
        await answer(send, 500, b'{"error": "the engine is dead"}')

    def check() -> None:
        raise ServerDown("vLLM in this process has ended")

    client = AppClient(AppThread(opened(application)), 60.0, check)
    with pytest.raises(ServerDown, match="has ended"):
        await client.post(URL, b"{}")
    await client.aclose()
