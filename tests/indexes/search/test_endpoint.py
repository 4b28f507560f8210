"""Embeddings by a server: what is sent, what is believed, what is tried again. The servers are real, on loopback."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import pytest
from aiohttp import web

from indexes.search import endpoint
from indexes.search.encoder import PRESETS
from indexes.search.endpoint import EndpointEncoder
from indexes.search.errors import EncoderError, EndpointError

Answer = Callable[[dict[str, Any], int], web.Response]
"""Made of the request's body and its number."""


class Server:
    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.url = ""

    async def handle(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.requests.append(body)
        self.headers.append(dict(request.headers))
        return self.answer(body, len(self.requests))


@contextmanager
def serving(answer: Answer) -> Generator[Server]:
    """A server in a thread of its own."""
    server, loop, ready = Server(answer), asyncio.new_event_loop(), threading.Event()

    async def start() -> web.AppRunner:
        app = web.Application()
        app.router.add_post("/v1/embeddings", server.handle)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        server.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        return runner

    def run() -> None:
        runner = loop.run_until_complete(start())
        ready.set()
        loop.run_forever()
        loop.run_until_complete(runner.cleanup())
        loop.close()

    thread = threading.Thread(target=run)
    thread.start()
    assert ready.wait(120)
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


def vectors(body: dict[str, Any], number: int) -> web.Response:
    """Two dimensions: the length of the text, and 1. The last text comes first."""
    data = [{"index": i, "embedding": [len(text), 1]} for i, text in enumerate(body["input"])]
    return web.json_response({"object": "list", "data": data[::-1], "usage": {"prompt_tokens": 3}})


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "_FIRST_WAIT", 0.001)


def test_what_is_sent_and_what_comes_back() -> None:
    with serving(vectors) as server:
        encoder = EndpointEncoder(server.url + "/", "minilm", revision="abc", batch=2, concurrency=1)
        found = encoder.encode_documents(["a", "bb", "cccc"])
    assert server.requests == [
        {"model": "minilm", "input": ["a", "bb"], "encoding_format": "float"},
        {"model": "minilm", "input": ["cccc"], "encoding_format": "float"},
    ]
    assert "Authorization" not in server.headers[0]
    # (1, 1) / sqrt(2), (2, 1) / sqrt(5), (4, 1) / sqrt(17)
    assert found[:, 1].tolist() == pytest.approx([2**-0.5, 5**-0.5, 17**-0.5])
    assert encoder.dimension == 2
    assert (encoder.identity.model, encoder.identity.revision) == ("minilm", "abc")
    assert encoder.encode_documents([]).shape == (0, 2)


def test_a_preset_sends_its_prompts() -> None:
    preset = PRESETS["qwen3-embedding-0.6b"].model_copy(update={"dimension": 2})
    with serving(vectors) as server:
        encoder = EndpointEncoder(server.url, "qwen", revision="r", preset=preset, api_key="key")
        assert encoder.dimension == 2
        assert server.requests == []
        encoder.encode_queries(["who?"])
        encoder.encode_documents(["text"])
    [query], [document] = (body["input"] for body in server.requests)
    assert [body["truncate_prompt_tokens"] for body in server.requests] == [preset.max_tokens] * 2
    assert query == preset.query_prompt + "who?"
    assert query.startswith("Instruct: Given a statement or a question, ")
    assert document == "text"
    assert server.headers[0]["Authorization"] == "Bearer key"


def test_the_dimension_is_asked_for_once() -> None:
    with serving(vectors) as server:
        encoder = EndpointEncoder(server.url, "m", revision="r")
        assert (encoder.dimension, encoder.dimension) == (2, 2)
    assert len(server.requests) == 1


async def test_under_a_running_loop() -> None:
    with serving(vectors) as server:
        assert EndpointEncoder(server.url, "m", revision="r").encode_queries(["a"]).shape == (1, 2)


def test_passing_faults_are_tried_again() -> None:
    def failing_twice(body: dict[str, Any], number: int) -> web.Response:
        return vectors(body, number) if number > 2 else web.Response(status=503, text="busy")

    with serving(failing_twice) as server:
        assert EndpointEncoder(server.url, "m", revision="r").encode_queries(["a"]).shape == (1, 2)
        assert len(server.requests) == 3


def test_attempts_are_bounded() -> None:
    with serving(lambda body, number: web.Response(status=500, text="out of\nmemory")) as server:
        encoder = EndpointEncoder(server.url, "m", revision="r", attempts=3)
        with pytest.raises(
            EndpointError, match=r"no embeddings in 3 attempts: status 500: out of memory; is"
        ):
            encoder.encode_queries(["a"])
        assert len(server.requests) == 3
    with pytest.raises(EndpointError, match=r"no embeddings in 2 attempts: Cannot connect"):
        EndpointEncoder(server.url, "m", revision="r", attempts=2).encode_queries(["a"])


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (
            web.json_response({"error": "no such model"}, status=404),
            r"refused 2 texts for model 'm' with status 404",
        ),
        (web.Response(status=302, headers={"Location": "http://127.0.0.1:1/"}), r"with status 302"),
        (web.Response(text="<html>"), r"did not answer with embeddings but: <html>"),
        (web.json_response({"data": [{"index": 0, "embedding": "AAAA"}]}), r"did not answer with embeddings"),
        (web.json_response({"data": [{"index": 0, "embedding": [1]}]}), r"vectors \[0\]... for 2 texts"),
        (
            web.json_response({"data": [{"index": 0, "embedding": [1]}] * 2}),
            r"vectors \[0, 0\]... for 2 texts; each must come once",
        ),
    ],
)
def test_answers_that_are_not_believed(answer: web.Response, reason: str) -> None:
    with serving(lambda body, number: answer) as server:
        with pytest.raises(EndpointError, match=reason):
            EndpointEncoder(server.url, "m", revision="r").encode_queries(["a", "b"])
        assert len(server.requests) == 1


def test_another_dimension_is_another_model() -> None:
    with (
        serving(vectors) as server,
        pytest.raises(EncoderError, match=r"gives 2 dimensions for m, not 1024: it serves another model"),
    ):
        EndpointEncoder(server.url, "m", revision="r", preset=PRESETS["bge-m3"]).encode_queries(["a"])


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match="'localhost:8000' is not the URL of a server"):
        EndpointEncoder("localhost:8000", "m", revision="r")
    with pytest.raises(ValueError, match="is not the URL of a server"):
        EndpointEncoder("http://gpu..local:8000/v1", "m", revision="r")
    with pytest.raises(ValueError, match="at least 1"):
        EndpointEncoder("http://localhost:8000/v1", "m", revision="r", attempts=0)


def test_an_endless_answer_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "_MOST_BODY", 1 << 20)
    with (
        serving(lambda body, number: web.Response(body=b" " * (2 << 20))) as server,
        pytest.raises(EndpointError, match="more than 1 MiB"),
    ):
        EndpointEncoder(server.url, "m", revision="r").encode_queries(["a"])
