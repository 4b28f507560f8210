"""A reply that comes in pieces (server-sent events).

Invariant: pieces become a reply only when the stream has come to its end and has said why it ended; a stream
that breaks off is an error like any other.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, cast

from serving.engines.wire import ChatChunk, ChatReply, generation, parse
from serving.errors import EngineError, EngineFault, EngineUnreachable, MalformedReply
from serving.http import refusal
from serving.types import Generation, Usage

MAX_EVENTS = 1 << 18
"""Most events of one reply; a token takes one as a rule, and no reply has as many tokens."""


class Once:
    """Calls a callback at the first call and never again, over all attempts of a request."""

    def __init__(self, callback: Callable[[], None]) -> None:
        self._callback: Callable[[], None] | None = callback

    def __call__(self) -> None:
        """Tell, the first time."""
        callback, self._callback = self._callback, None
        if callback is not None:
            callback()


class Heard:
    """A stream of server-sent events on its way to becoming a reply."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.text: list[str] = []
        self.thought: list[str] = []
        self.finish: str | None = None
        self.usage = Usage()
        self.models: dict[str | None, None] = {}
        """Those that its pieces name, in order; None of one that names none."""
        self.done = False
        self.events = 0
        self.whole: list[bytes] = []
        """Lines of a server that does not stream and answers in one piece."""

    def take(self, line: bytes) -> bool:
        """Add one line; whether the model has said anything so far."""
        if self.done:
            return True
        if line.startswith(b"data:"):
            data = line[5:].strip()
            self.events += 1
            if data == b"[DONE]":
                self.done = True
            elif self.events > MAX_EVENTS:
                raise MalformedReply(
                    f"{self.url} sends more than {MAX_EVENTS:,} events for one reply; look at its log"
                )
            else:
                self._event(parse(ChatChunk, self.url, data))
        elif line and not line.startswith((b":", b"event:", b"id:", b"retry:")):
            self.whole.append(line)
        return bool(self.text or self.thought)

    def _event(self, chunk: ChatChunk) -> None:
        if chunk.error is not None:
            raise _stream_error(self.url, chunk.error)
        if chunk.usage is not None:
            self.usage = chunk.usage.usage()
        for choice in chunk.choices:
            if choice.index:  # of a second reply, which nobody asked for
                continue
            self.models[chunk.model] = None
            if choice.delta.content:
                self.text.append(choice.delta.content)
            if choice.delta.thought:
                self.thought.append(choice.delta.thought)
            self.finish = choice.finish_reason or self.finish

    def reply(self, thinking: bool) -> Generation:
        """The reply, once the stream has ended."""
        if self.whole or (self.finish is None and not self.text and not self.thought):
            whole = parse(ChatReply, self.url, b"".join(self.whole))
            self.models[whole.model] = None
            return whole.generation(thinking)
        if self.finish is None:
            raise EngineUnreachable(f"{self.url} ended its stream before the reply; look at the server's log")
        thought = "".join(self.thought) if self.thought else None
        return generation("".join(self.text), thought, self.finish, self.usage, thinking)


def _stream_error(url: str, said: Any) -> EngineError:
    """An error that came after the status 200 had been sent."""
    body = json.dumps({"error": said}).encode()
    code = cast("dict[str, Any]", said).get("code") if isinstance(said, dict) else None
    if isinstance(code, int) and 400 <= code < 600:
        return refusal(url, code, {}, body)
    return EngineFault(f"{url} broke off its reply ({body.decode()[:300]}); look at the server's log")
