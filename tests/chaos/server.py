"""A model server whose reply depends on the request's body alone, and which misbehaves by a seed.

Invariant: whether, and how, the n-th request with one body goes wrong depends on the seed, the body and n, never on the
order in which requests arrive; every request is recorded with what became of it.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import math
import re
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, Self

from tests.stub_server import Received, StubPlan, http_answer, json_body, side_answer

DELAY = 0.03
"""Seconds that one answer takes, unless a trial wants more: longer than the transaction that stores it."""

ANSWERED = "answered"
"""The outcome of a request whose whole reply was sent and was right."""

BROKEN_TRANSPORT = ("reset", "cut", "hang", "500", "503", "429")
PAUSES = ("429", "503", "429 bare", "503 bare")
"""Overload with Retry-After, and without."""
OTHER_MODEL = "other model"
BROKEN_BODY = ("empty", "truncated", "garbage", "no completion", OTHER_MODEL)
BROKEN_CONTENT = ("no json", "other schema")
"""Of replies in words."""
BROKEN_PROBABILITIES = ("nan", "infinity", "huge", "missing", "none", "repeated")
"""Of replies with log-probabilities."""
SLOW = "trickle"
"""The right reply, in pieces."""
SIDE_FAULTS = ("reset", "cut", "500", "503", "garbage")
"""Of requests for facts (models, version, tokens)."""


@dataclass(frozen=True)
class Faults:
    """How often what goes wrong."""

    seed: int
    share: float
    kinds: Collection[str]
    side_share: float = 0.0
    """Of requests that are no chat completions."""

    def of(self, digest: str, nth: int, asked: dict[str, Any] | None) -> str | None:
        """The fault of the `nth` request with a body; `asked` is the parsed body of a chat completion."""
        rng = Random(f"{self.seed} {digest} {nth}")
        if rng.random() >= (self.share if asked is not None else self.side_share):
            return None
        fitting = SIDE_FAULTS if asked is None else fitting_faults(asked)
        kinds = [kind for kind in fitting if kind in self.kinds]
        return rng.choice(kinds) if kinds else None


def fitting_faults(asked: dict[str, Any]) -> tuple[str, ...]:
    """The faults that a chat completion can have."""
    own = BROKEN_PROBABILITIES if asked.get("logprobs") else BROKEN_CONTENT
    return (*BROKEN_TRANSPORT, *BROKEN_BODY, *own, SLOW, *PAUSES[2:])


@dataclass
class Asked:
    """One chat completion as it came, and what became of it."""

    digest: str
    key: str
    """The API key that it bore: tells the processes of a trial apart."""
    outcome: str = "under way"


@dataclass
class ModelServer:
    """`with ModelServer() as server` serves at `server.url`, on one port for its whole life."""

    plan: StubPlan = field(default_factory=StubPlan)
    """May be replaced while nothing is asked."""
    delay: float = DELAY
    faults: Faults | None = None
    asked: list[Asked] = field(default_factory=list[Asked])
    faulty: Counter[str] = field(default_factory=Counter[str])
    """Faults by kind, of all requests."""

    def __post_init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, name="model server")
        self._server: asyncio.Server | None = None
        self._clients: set[asyncio.Task[None]] = set()
        self._seen: Counter[str] = Counter()
        self.port = 0

    def __enter__(self) -> Self:
        self._thread.start()
        self.appear()
        self.url = f"http://127.0.0.1:{self.port}/v1"
        return self

    def __exit__(self, *_: object) -> None:
        self.vanish()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()

    def appear(self) -> None:
        """Listen, on the same port as before."""
        asyncio.run_coroutine_threadsafe(self._listen(), self.loop).result()

    def vanish(self) -> None:
        """Close the port and every connection at once."""
        asyncio.run_coroutine_threadsafe(self._close(), self.loop).result()

    def reset(self, plan: StubPlan | None = None, faults: Faults | None = None) -> None:
        """Forget all requests, and answer by `plan` with `faults` from now on."""
        self.plan = plan or self.plan
        self.set_faults(faults)
        self.delay = DELAY
        self.asked = []

    def set_faults(self, faults: Faults | None) -> None:
        """Misbehave in another way from now on."""
        self.faults = faults
        self._seen.clear()
        self.faulty = Counter()

    def wait_for(self, count: int, process_runs: Any, timeout: float = 60.0) -> None:
        """Until `count` chat completions were asked for since `reset`, or the process has ended."""
        deadline = time.monotonic() + timeout
        while len(self.asked) < count and process_runs() and time.monotonic() < deadline:
            time.sleep(0.002)

    def answered(self) -> Counter[str]:
        """How often each body was answered with success since `reset`."""
        return Counter(one.digest for one in self.asked if one.outcome == ANSWERED)

    def in_flight(self, latest: int) -> set[str]:
        """The bodies of what is under way, and of the `latest` requests that ended before."""
        ended = [one.digest for one in self.asked if one.outcome != "under way"]
        return {one.digest for one in self.asked if one.outcome == "under way"} | set(ended[-latest:])

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port, limit=64 << 20)
        self.port = int(self._server.sockets[0].getsockname()[1])

    async def _close(self) -> None:
        if self._server is not None:
            self._server.close()
            for client in self._clients:
                client.cancel()
            await asyncio.gather(*self._clients, return_exceptions=True)
            self._server = None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._clients.add(task)
        try:
            while (request := await _read(reader)) is not None and await self._answer(request, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._clients.discard(task)
            writer.transport.abort()

    async def _answer(self, request: Received, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; False ends the connection."""
        digest = hashlib.sha256(request.path.encode() + b"\n" + request.body).hexdigest()
        self._seen[digest] += 1
        nth = self._seen[digest]
        if not request.path.endswith("/chat/completions"):
            fault = self.faults and self.faults.of(digest, nth, None)
            status, content_type, body = side_answer(self.plan, request)
            return await self._send(writer, fault or None, body, content_type, status)
        asked: dict[str, Any] = request.json
        fault = self.faults and self.faults.of(digest, nth, asked)
        one = Asked(digest, request.headers.get("authorization", ""))
        self.asked.append(one)
        await asyncio.sleep(self.delay)
        try:
            kept = await self._send(writer, fault or None, self._body(asked, fault or None))
        except BaseException:
            one.outcome = "client gone"
            raise
        one.outcome = ANSWERED if fault in (None, SLOW) else str(fault)
        return kept

    def _body(self, asked: dict[str, Any], fault: str | None) -> bytes:
        plan = self.plan
        if asked.get("logprobs"):
            if plan.alternatives is not None:
                plan = replace(plan, top_logprobs=plan.alternatives(asked))
            plan = replace(plan, top_logprobs=_with_fault(plan.top_logprobs, fault))
        elif plan.answer is not None:
            plan = replace(plan, content=plan.answer(asked))
        if fault == "no json":
            plan = replace(plan, content='{"1": {')
        elif fault == "other schema":
            plan = replace(plan, content='{"hello": "world"}')
        elif fault == OTHER_MODEL:
            plan = replace(plan, model="another-model")
        return json_body(plan, asked)

    async def _send(
        self,
        writer: asyncio.StreamWriter,
        fault: str | None,
        body: bytes,
        content_type: str = "application/json",
        status: int = 200,
    ) -> bool:
        if fault is not None:
            self.faulty[fault] += 1
        if fault == "reset":
            connection: socket.socket = writer.get_extra_info("socket")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()
            return False
        if fault == "hang":
            await asyncio.sleep(60)
            return False
        if fault == "cut":
            writer.write(http_answer(status, body, content_type)[: -(len(body) // 2 + 1)])
            await writer.drain()
            return False
        status_word, _, bare = (fault or "").partition(" ")
        if status_word.isdigit():
            error = json.dumps({"error": {"message": "scripted fault"}}).encode()
            extra = "" if bare or status_word == "500" else "Retry-After: 1\r\n"
            writer.write(http_answer(int(status_word), error, extra=extra))
            await writer.drain()
            return True
        broken = {
            "empty": b"",
            "truncated": body[: len(body) // 2],
            "garbage": b"\x00<html>busy\xff",
            "no completion": b'{"hello": "world"}',
        }
        answer = http_answer(status, broken.get(fault or "", body), content_type)
        pieces = _pieces(answer) if fault == SLOW else (answer,)
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.02 if fault == SLOW else 0)
        return True


def _with_fault(
    alternatives: tuple[tuple[str, float], ...], fault: str | None
) -> tuple[tuple[str, float], ...]:
    """The first token's alternatives, as a broken server reports them."""
    match fault:
        case "nan":
            return tuple((token, float("nan")) for token, _ in alternatives)
        case "infinity":
            return tuple((token, float("inf")) for token, _ in alternatives)
        case "huge":
            return tuple((token, 800.0) for token, _ in alternatives)
        case "missing":
            return (("Maybe", -0.1),)
        case "repeated":  # each with half of its probability, which is no more than 1 together
            return tuple((token, value - math.log(2)) for token, value in alternatives for _ in range(2))
        case "none":
            return ()
        case _:
            return alternatives


def _pieces(answer: bytes) -> Iterable[bytes]:
    size = max(1, len(answer) // 8)
    return (answer[start : start + size] for start in range(0, len(answer), size))


async def _read(reader: asyncio.StreamReader) -> Received | None:
    """The next request of a connection; None at its end."""
    with contextlib.suppress(asyncio.IncompleteReadError):
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.strip().split("\r\n")
        method, path, _ = first.split(" ", 2)
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        length = re.fullmatch(r"\d+", headers.get("content-length", "0"))
        assert length is not None, head
        return Received(method, path, headers, await reader.readexactly(int(length[0])))
    return None
