"""Where a request goes, and when it goes again.

Invariant: which replica is asked first depends only on the request's prefix and the list of base URLs, so
that one prefix meets one prefix cache; what cannot succeed is sent once; waiting grows exponentially with
full jitter (delay ~ U(0, min(cap, base * 2^k)) before retry k = 0, 1, ...), and never ends before the
server's Retry-After.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TypeVar

from serving.errors import EngineError, EngineOverloaded, EngineTimeout, EngineUnreachable
from serving.outage import ServerWatch

T = TypeVar("T")

LONGEST_RETRY_AFTER = 300.0
"""Seconds. A server that asks for more is not waited for."""

TIMEOUT_ATTEMPTS = 2
"""So often a request may run into the time limit: a server that hangs should not be waited for all day."""

MOST_OUTAGES = 3
"""Outages that one request may sit out: one that meets more of them may be what brings the server down."""

DOWN_SECONDS = 30.0
"""For so long a replica that could not be reached is asked last."""


class Replicas:
    """Base URLs in the order in which a prefix should try them (rendezvous hashing).

    Taking a URL away moves only the prefixes that were at home on it.
    """

    def __init__(self, urls: Sequence[str], clock: Callable[[], float] = time.monotonic) -> None:
        self.urls = tuple(urls)
        self._clock = clock
        self._down_until: dict[str, float] = {}
        self.away: set[str] = set()
        """Those that could not be reached, and have not said since what they are."""

    def order(self, prefix: str) -> list[str]:
        """All URLs, the home of `prefix` first; those lately unreachable last."""
        if len(self.urls) == 1:
            return [self.urls[0]]
        now = self._clock()
        text = prefix.encode()

        def rank(url: str) -> tuple[bool, bytes]:
            return self._down_until.get(url, 0.0) > now, hashlib.blake2b(text, key=_key(url)).digest()

        return sorted(self.urls, key=rank)

    def unreachable(self, url: str) -> None:
        """Remember that `url` could not be reached."""
        self._down_until[url] = self._clock() + DOWN_SECONDS
        self.away.add(url)


def _key(url: str) -> bytes:
    return hashlib.blake2b(url.encode(), digest_size=32).digest()


@dataclass
class Retry:
    """Sends until one replica answers, the error is final, or the attempts are used up."""

    attempts: int = 5
    """Rounds; within a round every replica that cannot be reached is passed over at once."""
    base: float = 0.5
    cap: float = 30.0
    rng: Random = field(default_factory=Random)
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def run(
        self,
        replicas: Replicas,
        prefix: str,
        send: Callable[[str], Awaitable[T]],
        watch: ServerWatch | None = None,
    ) -> T:
        """The first answer of `send(base_url)`.

        Args:
            replicas: where the request may go.
            prefix: by which its home is found.
            send: makes one attempt.
            watch: knows of outages, which are sat out; None counts every failure as an attempt.

        Raises:
            EngineError: the last one met, with the number of attempts in its message when there were several.
            ServerDown: an outage lasts too long.
        """
        order = replicas.order(prefix)
        attempt, outages, timeouts = 1, 0, 0
        while True:
            if watch is not None:
                await watch.ready()
            try:
                answer = await _first_reachable(replicas, order, send)
            except EngineError as error:
                final = not error.retryable or attempt == self.attempts
                timed_out = isinstance(error, EngineTimeout)
                final = final or (timed_out and timeouts + 1 == TIMEOUT_ATTEMPTS)
                if watch is not None and outages < MOST_OUTAGES and await watch.lost(error, final=final):
                    outages += 1
                    continue
                wait = self.delay(attempt, error)
                if final or wait is None:
                    if attempt == 1:
                        raise
                    raise type(error)(
                        f"{error} (attempt {attempt})", retry_after=error.retry_after
                    ) from error
                if not isinstance(error, EngineOverloaded):
                    order = order[1:] + order[:1]
                attempt += 1
                timeouts += timed_out
            else:
                if watch is not None:
                    watch.answered()
                return answer
            await self.sleep(wait)

    def delay(self, attempt: int, error: EngineError) -> float | None:
        """Seconds before the next attempt; None when the server asks for longer than is waited for."""
        jitter = self.rng.uniform(0.0, min(self.cap, self.base * 2.0 ** (attempt - 1)))
        if error.retry_after is None:
            return jitter
        return None if error.retry_after > LONGEST_RETRY_AFTER else error.retry_after + jitter


async def _first_reachable(
    replicas: Replicas, order: Sequence[str], send: Callable[[str], Awaitable[T]]
) -> T:
    for url in order[:-1]:
        try:
            return await send(url)
        except EngineUnreachable:
            replicas.unreachable(url)
    try:
        return await send(order[-1])
    except EngineUnreachable:
        replicas.unreachable(order[-1])
        raise
