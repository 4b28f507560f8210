"""An OpenAI-compatible server without a model: answers after a fixed delay and misbehaves on demand.

Invariant: what it does depends on its `StubPlan` and on the order of the requests alone, and it costs its
machine so little (one hand-written asyncio protocol, no framework) that a benchmark measures the client.

    python -m tests.stub_server --port 8009 --delay-ms 50 --slots 64
    python -m tests.stub_server --port 8009 --model NAME --fill
    python -m tests.stub_server --port 8009 --fault 500*2 --fault hang
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Self
from zlib import crc32

from tests.stub_replies import fill

FAULT_WORDS = ("hang", "drop", "cut", "truncated", "empty", "text", "wrong", "huge")
"""Besides any HTTP status: never answer; close without answering; close in the middle of the body; half of
the JSON under a matching Content-Length; no body; text that is not JSON; JSON that is no chat completion; 64
MiB of spaces."""

HUGE_BYTES = 64 << 20
_HEADER_END = b"\r\n\r\n"


@dataclass(frozen=True)
class Fault:
    """One misbehaviour: an HTTP status as text ("500") or one of `FAULT_WORDS`."""

    kind: str
    retry_after: str | None = None
    """The Retry-After header, for a status."""
    message: str = "scripted fault"
    """The error text, for a status."""

    def __post_init__(self) -> None:
        if self.kind not in FAULT_WORDS and not (self.kind.isdigit() and 400 <= int(self.kind) < 600):
            raise ValueError(
                f"fault {self.kind!r} is neither a status of 400 to 599 nor one of {', '.join(FAULT_WORDS)}"
            )


@dataclass(frozen=True)
class StubPlan:
    """How the stub answers."""

    delay: float = 0.0
    """Seconds that one answer takes."""
    spread: float = 0.0
    """Share by which single answers take longer or shorter, evenly and by a digest of the request."""
    slots: int = 64
    """Answers under way at one time; further requests wait in order."""
    content: str = '{"ok": true}'
    """The text of every reply."""
    answer: Callable[[Mapping[str, Any]], str] | None = None
    """Makes the text of a reply from the request instead; see `tests.stub_replies.fill`."""
    reasoning: str | None = None
    model: str = "stub"
    reply_model: str | None = None
    """The model that its replies name; None for the one that it serves."""
    context_tokens: int = 32_768
    vllm: bool = True
    """Whether it has what vLLM adds: /version, /tokenize, /metrics, `max_model_len`."""
    top_logprobs: tuple[tuple[str, float], ...] = (("Yes", -0.25), ("No", -1.75))
    """The first token's alternatives, most likely first; none: it takes no `logprobs`."""
    alternatives: Callable[[Mapping[str, Any]], tuple[tuple[str, float], ...]] | None = None
    """Makes them from the request instead."""
    reads: int | None = None
    """Prompt tokens that it reads of a longer prompt, without an error, as Ollama does."""
    faults: tuple[Fault, ...] = ()
    """Taken one by one by the first chat completions; after the last, answers are in order."""
    last_fault_stays: bool = False
    """Whether the last fault repeats for ever."""
    cache_tokens: int | None = None
    """Size of a prefix cache, whose hits are reported; None: every prompt counts as half cached."""
    kv_blocks: int = 1000
    """Size of the KV cache that /metrics reports, in blocks of 16 tokens; calls in flight have to fit into it."""
    cached_tokens: int | None = None
    """Number of cached tokens that every reply reports, whatever is true."""
    prefill_seconds: float = 0.0
    """Time per prompt token that is not cached. Prompts are read one after the other."""


class PrefixCache:
    """Blocks of `BLOCK` tokens that a server has read, as vLLM keeps them; the least recently used leave first."""

    BLOCK = 16

    def __init__(self, tokens: int) -> None:
        self.n_blocks = tokens // self.BLOCK
        self.blocks: OrderedDict[int, None] = OrderedDict()

    def read(self, prompt: str) -> int:
        """Read a prompt; returns how many of its tokens were cached."""
        size, hits, digest, missed = 4 * self.BLOCK, 0, 0, False
        for start in range(0, len(prompt) - size + 1, size):
            digest = crc32(prompt[start : start + size].encode(), digest)
            missed |= digest not in self.blocks
            hits += not missed
            self.blocks[digest] = None
            self.blocks.move_to_end(digest)
        while len(self.blocks) > self.n_blocks:
            self.blocks.popitem(last=False)
        return hits * self.BLOCK


@dataclass(frozen=True)
class Received:
    """One request as it came."""

    method: str
    path: str
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes

    @property
    def json(self) -> Any:
        """The body, parsed."""
        return json.loads(self.body)


@dataclass
class Stub:
    """The server's state; `async with Stub(plan) as stub` serves on a free port of 127.0.0.1."""

    plan: StubPlan = field(default_factory=StubPlan)
    keep: bool = True
    """Whether to keep every request in `received` (off for benchmarks: memory stays flat)."""
    received: list[Received] = field(default_factory=list[Received])
    busy: int = 0
    peak: int = 0
    """Most answers that were under way at one time."""
    silent: bool = False
    """Whether it takes requests of all kinds and answers none."""
    held_from: int | None = None
    """Number of chat completions after which further ones wait for `release`; None answers all."""
    held: list[Callable[[], None]] = field(default_factory=list[Callable[[], None]])
    """Starts of the answers that wait."""

    def __post_init__(self) -> None:
        self.faults = deque(self.plan.faults)
        self.waiting: deque[tuple[Received, Callable[[int | None], None]]] = deque()
        self.cache = None if self.plan.cache_tokens is None else PrefixCache(self.plan.cache_tokens)
        self.computed = self.cached = 0
        """Prompt tokens read and found, if there is a prefix cache."""
        self.ended: list[tuple[float, float]] = []
        """Of each answer since the last look (GET /stub/ended), if requests are not kept: its end, and the sum of the
        times for which the slots were taken until then."""
        self._taken, self._since = 0.0, 0.0
        self._read_until = 0.0
        self.clients: set[_Connection] = set()
        self._server: asyncio.Server | None = None

    async def start(self, host: str = "127.0.0.1", port: int = 0) -> int:
        """Listen; returns the port."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Connection(self), host, port, backlog=1024)
        return int(self._server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        """Close the port and every connection."""
        if self._server is not None:
            self._server.close()
            for client in list(self.clients):
                client.abort()
            await self._server.wait_closed()
            self._server = None

    def metrics(self) -> str:
        """Gauges and counters in the format of vLLM's /metrics."""
        source = 'prompt_tokens_by_source_total{source="local_%s",engine="0"}'
        values = {
            'num_requests_running{engine="0"}': self.busy,
            'num_requests_waiting{engine="0"}': len(self.waiting),
            'prompt_tokens_total{engine="0"}': self.computed + self.cached,
            source % "compute": self.computed,
            source % "cache_hit": self.cached,
        }
        return "".join(f"vllm:{name} {value}.0\n" for name, value in values.items())

    def forget(self) -> None:
        """Empty the prefix cache."""
        if self.cache is not None:
            self.cache.blocks.clear()

    async def __aenter__(self) -> Self:
        self.url = f"http://127.0.0.1:{await self.start()}/v1"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    @property
    def chats(self) -> list[Received]:
        """The chat completions that were asked for."""
        return [request for request in self.received if request.path.endswith("/chat/completions")]

    def next_fault(self) -> Fault | None:
        """The misbehaviour that the next chat completion gets."""
        if not self.faults:
            return None
        if len(self.faults) == 1 and self.plan.last_fault_stays:
            return self.faults[0]
        return self.faults.popleft()

    def release(self) -> None:
        """Answer what is held, and hold nothing more."""
        held, self.held, self.held_from = self.held, [], None
        for begin in held:
            begin()

    def enter(
        self, request: Received, answer: Callable[[int | None], None], begin: float | None = None
    ) -> None:
        """Run `answer` with the number of cached tokens, after the delay, when a slot is free.

        The delay counts from `begin`, the time at which the slot became free: on a busy machine, timers are late, and
        the server still answers slots / delay calls per second.
        """
        if self.busy >= self.plan.slots:
            self.waiting.append((request, answer))
            return
        self._count_taken()
        self.busy += 1
        self.peak = max(self.peak, self.busy)
        loop = asyncio.get_running_loop()
        cached, read_at = None, loop.time() if begin is None else begin
        if self.cache is not None:
            asked = request.json
            cached = self.cache.read("".join(message["content"] for message in asked["messages"]))
            computed = prompt_tokens(asked) - cached
            self.computed, self.cached = self.computed + computed, self.cached + cached
            read_at = self._read_until = max(read_at, self._read_until) + computed * self.plan.prefill_seconds
        delay = self.plan.delay
        if self.plan.spread:
            delay *= 1 + self.plan.spread * (2 * (crc32(request.body) / 0xFFFFFFFF) - 1)
        end = read_at + delay
        loop.call_at(end, self._leave, end, partial(answer, cached))

    def _count_taken(self) -> None:
        """Add the time that the slots were taken since the last change."""
        now = asyncio.get_running_loop().time()
        self._taken += self.busy * (now - self._since)
        self._since = now

    def _leave(self, end: float, answer: Callable[[], None]) -> None:
        self._count_taken()
        self.busy -= 1
        if not self.keep:
            self.ended.append((self._since, self._taken))
        if self.waiting:
            self.enter(*self.waiting.popleft(), begin=end)
        answer()


class _Connection(asyncio.Protocol):
    """One client: requests in, answers out, one after the other, kept alive."""

    def __init__(self, stub: Stub) -> None:
        self.stub = stub
        self.buffer = bytearray()
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.stub.clients.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.transport = None
        self.stub.clients.discard(self)

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while (end := self.buffer.find(_HEADER_END)) >= 0:
            head = bytes(self.buffer[:end]).decode("latin-1").split("\r\n")
            headers = {
                name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])
            }
            stop = end + len(_HEADER_END) + int(headers.get("content-length", "0"))
            if len(self.buffer) < stop:
                return
            method, path, _ = head[0].split(" ", 2)
            body = bytes(self.buffer[end + len(_HEADER_END) : stop])
            del self.buffer[:stop]
            self.take(Received(method, path, headers, body))

    def take(self, request: Received) -> None:
        """Answer one request, now or after the delay."""
        if self.stub.keep:
            self.stub.received.append(request)
        if self.stub.silent:
            return
        if request.path == "/stub/ended":
            ended, self.stub.ended = self.stub.ended, []
            self.send(http_answer(200, json.dumps(ended).encode()))
            return
        if not request.path.endswith("/chat/completions"):
            status, content_type, body = side_answer(self.stub.plan, request, self.stub.metrics())
            self.send(http_answer(status, body, content_type))
            return
        if self.stub.held_from is not None and len(self.stub.chats) > self.stub.held_from:
            self.stub.held.append(partial(self.begin, request))
        else:
            self.begin(request)

    def begin(self, request: Received) -> None:
        """Begin to answer one chat completion, unless the client has gone."""
        fault = None if self.transport is None else self.stub.next_fault()
        if self.transport is None or (fault is not None and fault.kind == "hang"):
            return
        self.stub.enter(request, partial(self.chat, request, fault))

    def chat(self, request: Received, fault: Fault | None, cached: int | None) -> None:
        """Answer one chat completion, well or ill."""
        asked: dict[str, Any] = json.loads(request.body)
        streamed = bool(asked.get("stream"))
        plan = self.stub.plan
        if plan.answer is not None and not asked.get("logprobs"):
            plan = replace(plan, content=plan.answer(asked))
        if plan.alternatives is not None and asked.get("logprobs"):
            plan = replace(plan, top_logprobs=plan.alternatives(asked))
        body = sse_body(plan, asked, cached) if streamed else json_body(plan, asked, cached)
        content_type = "text/event-stream" if streamed else "application/json"
        if fault is None:
            self.send(http_answer(200, body, content_type))
        elif fault.kind.isdigit():
            error = {"error": {"message": fault.message, "type": "scripted", "code": int(fault.kind)}}
            extra = f"Retry-After: {fault.retry_after}\r\n" if fault.retry_after is not None else ""
            self.send(http_answer(int(fault.kind), json.dumps(error).encode(), extra=extra))
        elif fault.kind == "drop":
            self.abort()
        elif fault.kind == "cut":
            self.send(http_answer(200, body, content_type)[: -len(body) // 2])
            if self.transport is not None:
                self.transport.close()
        else:
            bodies = {"truncated": body[: len(body) // 2], "empty": b"", "text": b"<html>busy</html>"}
            bodies |= {
                "wrong": b'{"hello": "world"}',
                "huge": b" " * (HUGE_BYTES if fault.kind == "huge" else 0),
            }
            self.send(http_answer(200, bodies[fault.kind], content_type))

    def send(self, answer: bytes) -> None:
        """Write, unless the client has gone."""
        if self.transport is not None:
            self.transport.write(answer)

    def abort(self) -> None:
        """Close at once."""
        if self.transport is not None:
            self.transport.abort()


def http_answer(status: int, body: bytes, content_type: str = "application/json", extra: str = "") -> bytes:
    """One HTTP/1.1 answer."""
    fixed = f"HTTP/1.1 {status} Stub\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\n"
    return f"{fixed}{extra}\r\n".encode("latin-1") + body


def number_of(token: str) -> int:
    """Number of a token."""
    return crc32(token.encode()) % 100_000


def prompt_tokens(asked: Mapping[str, Any]) -> int:
    """Four characters a token."""
    return sum(len(message["content"]) for message in asked["messages"]) // 4 + 1


def usage(plan: StubPlan, asked: Mapping[str, Any], cached: int | None) -> dict[str, Any]:
    """Plausible counts; without a prefix cache, half of the prompt is cached."""
    prompt = min(prompt_tokens(asked), plan.reads or sys.maxsize)
    counts: dict[str, Any] = {"prompt_tokens": prompt, "completion_tokens": len(plan.content) // 4 + 1}
    counts["total_tokens"] = prompt + counts["completion_tokens"]
    if plan.vllm:
        cached = plan.cached_tokens if plan.cached_tokens is not None else cached
        counts["prompt_tokens_details"] = {"cached_tokens": prompt // 2 if cached is None else cached}
    return counts


def json_body(plan: StubPlan, asked: Mapping[str, Any], cached: int | None = None) -> bytes:
    """A chat completion in one piece."""
    message: dict[str, Any] = {"role": "assistant", "content": plan.content}
    if plan.reasoning is not None:
        message["reasoning"] = plan.reasoning
    choice: dict[str, Any] = {"index": 0, "message": message, "finish_reason": "stop"}
    if asked.get("logprobs") and plan.top_logprobs:
        numbers = asked.get("return_tokens_as_token_ids")
        top = [
            {"token": f"token_id:{number_of(token)}" if numbers else token, "logprob": value}
            for token, value in plan.top_logprobs
        ]
        message["content"] = plan.top_logprobs[0][0]
        choice |= {"finish_reason": "length", "logprobs": {"content": [{**top[0], "top_logprobs": top}]}}
    answer = {
        "id": "stub",
        "object": "chat.completion",
        "created": 0,
        "model": plan.reply_model or plan.model,
        "choices": [choice],
    }
    return json.dumps({**answer, "usage": usage(plan, asked, cached)}).encode()


def sse_body(plan: StubPlan, asked: Mapping[str, Any], cached: int | None = None) -> bytes:
    """A chat completion as server-sent events: role, reasoning, the text in two pieces, end, usage."""
    half = len(plan.content) // 2
    deltas: list[dict[str, str]] = [{"role": "assistant", "content": ""}]
    if plan.reasoning is not None:
        deltas.append({"reasoning": plan.reasoning})
    deltas += [{"content": plan.content[:half]}, {"content": plan.content[half:]}]
    choices: list[list[dict[str, Any]]] = [
        [{"index": 0, "delta": delta, "finish_reason": None}] for delta in deltas
    ]
    choices.append([{"index": 0, "delta": {}, "finish_reason": "stop"}])
    model = plan.reply_model or plan.model
    events: list[dict[str, Any]] = [{"model": model, "choices": choice} for choice in choices]
    events.append({"model": model, "choices": [], "usage": usage(plan, asked, cached)})
    return b"".join(b"data: %b\n\n" % json.dumps(event).encode() for event in events) + b"data: [DONE]\n\n"


def side_answer(plan: StubPlan, request: Received, metrics: str = "") -> tuple[int, str, bytes]:
    """Status, content type and body of everything that is not a chat completion; `metrics`: the server's counters."""
    answer: dict[str, Any] | None = None
    if request.path == "/v1/models":
        card: dict[str, Any] = {"id": plan.model, "object": "model", "owned_by": "stub"}
        answer = {
            "data": [card | ({"owned_by": "vllm", "max_model_len": plan.context_tokens} if plan.vllm else {})]
        }
    elif request.path == "/health":
        answer = {}
    elif plan.vllm and request.path == "/version":
        answer = {"version": "0.0-stub"}
    elif plan.vllm and request.path == "/tokenize":
        asked = request.json
        text = asked.get("prompt") or "".join(message["content"] for message in asked["messages"])
        tokens = [number_of(text[start : start + 4]) for start in range(0, len(text), 4)]
        answer = {"count": len(tokens), "max_model_len": plan.context_tokens, "tokens": tokens}
    elif plan.vllm and request.path == "/metrics":
        labels = f'block_size="16",engine="0",num_gpu_blocks="{plan.kv_blocks}"'
        text = f"vllm:cache_config_info{{{labels}}} 1.0\n"
        return 200, "text/plain", (text + metrics).encode()
    if answer is None:
        return 404, "application/json", b'{"detail": "Not Found"}'
    return 200, "application/json", json.dumps(answer).encode()


def parse_fault(text: str) -> list[Fault]:
    """`KIND` or `KIND*TIMES`."""
    kind, _, times = text.partition("*")
    return [Fault(kind)] * int(times or "1")


async def serve(plan: StubPlan, host: str, port: int) -> None:
    """Serve until cancelled; prints the base URL as the first line of stdout."""
    stub = Stub(plan, keep=False)
    port = await stub.start(host, port)
    print(f"http://{host}:{port}/v1", flush=True)
    try:
        await asyncio.Event().wait()
    finally:
        await stub.stop()


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line until Ctrl-C."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.stub_server", description="OpenAI-compatible server without a model"
    )
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0: any free port, printed on stdout")
    parser.add_argument("--delay-ms", type=float, default=0.0)
    parser.add_argument("--spread", type=float, default=0.0, help="share by which single delays differ")
    parser.add_argument("--slots", type=int, default=64, help="answers under way at one time")
    parser.add_argument("--model", default=StubPlan.model, help="the model that it claims to serve")
    parser.add_argument("--content", default=StubPlan.content, help="the text of every reply")
    parser.add_argument(
        "--fill", action="store_true", help="reply with the least JSON of the schema asked for"
    )
    parser.add_argument(
        "--fault", action="append", default=[], help="KIND or KIND*TIMES, in order; may be repeated"
    )
    parser.add_argument("--last-fault-stays", action="store_true")
    given = parser.parse_args(arguments)
    try:
        faults = tuple(fault for text in given.fault for fault in parse_fault(text))
    except ValueError as error:
        parser.error(f"--fault: {error}")
    plan = StubPlan(
        delay=given.delay_ms / 1000,
        spread=given.spread,
        slots=given.slots,
        content=given.content,
        answer=fill if given.fill else None,
        model=given.model,
        faults=faults,
        last_fault_stays=given.last_fault_stays,
    )
    try:
        asyncio.run(serve(plan, given.host, given.port))
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
