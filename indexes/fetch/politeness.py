"""Rate limits per host.

Invariant: to one host, two requests never start within its delay, and never more than its share are under way;
waiting for a host's turn takes no place from other hosts.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from random import Random

from indexes.fetch.client import Answer, Client
from indexes.fetch.faults import FetchFault, TimedOut
from indexes.fetch.settings import FetchSettings
from indexes.fetch.target import Target
from local_judge.base.http import retry_after

PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
"""HTTP statuses that may be another a little later."""
TIMEOUT_ATTEMPTS = 2
"""So often a request may time out: a host that hangs should not be waited for all day."""


class HostGate:
    """The turns of one host.

    Args:
        delay: seconds between the starts of two requests; may be raised later.
        per_host: requests under way here.
        everywhere: requests under way to all hosts.
    """

    def __init__(self, delay: float, per_host: int, everywhere: asyncio.Semaphore) -> None:
        self.delay = delay
        self._places = asyncio.Semaphore(per_host)
        self._everywhere = everywhere
        self._order = asyncio.Lock()
        self._next = 0.0

    @asynccontextmanager
    async def turn(self) -> AsyncGenerator[None]:
        """Wait for the host's turn; inside, one request may be sent."""
        clock = asyncio.get_running_loop().time
        async with self._places:
            async with self._order:
                await self._everywhere.acquire()
                while (wait := self._next - clock()) > 0:
                    self._everywhere.release()
                    await asyncio.sleep(wait)
                    await self._everywhere.acquire()
                self._next = clock() + self.delay
            try:
                yield
            finally:
                self._everywhere.release()

    def pause(self, seconds: float) -> None:
        """Let no request start for so long."""
        self._next = max(self._next, asyncio.get_running_loop().time() + seconds)


class Asker:
    """Sends requests at their host's turn, and again after passing faults.

    Args:
        client: sends them.
        settings: delays, limits and waits.
        rng: draws the waits; they are not part of what is stored.
    """

    def __init__(self, client: Client, settings: FetchSettings, rng: Random | None = None) -> None:
        self.client = client
        self._settings = settings
        self._rng = rng or Random()
        self._everywhere = asyncio.Semaphore(settings.concurrency)
        self._gates: dict[str, HostGate] = {}
        self.n_requests = 0

    def gate(self, host: str) -> HostGate:
        """The one gate of a host; `www.` makes no other one."""
        key = host.removeprefix("www.")
        if key not in self._gates:
            self._gates[key] = HostGate(self._settings.delay, self._settings.per_host, self._everywhere)
        return self._gates[key]

    async def ask(self, asked: Target, extra: tuple[tuple[str, str], ...] = ()) -> Answer:
        """The first answer that is no passing fault, or the last one.

        Raises:
            FetchFault: the last attempt brought no answer.
        """
        timeouts = 0
        gate = self.gate(asked.host)
        for attempt in range(self._settings.attempts):
            last = attempt == self._settings.attempts - 1
            try:
                async with gate.turn():
                    self.n_requests += 1
                    answer = await self.client.get(asked, extra)
            except FetchFault as fault:
                timeouts += isinstance(fault, TimedOut)
                if last or not fault.passing or timeouts == TIMEOUT_ATTEMPTS:
                    raise
                await asyncio.sleep(self._jitter(attempt))
                continue
            wait = self._wait(attempt, answer)
            if last or wait is None:
                return answer
            if answer.exchange.status in (429, 503):
                gate.pause(wait)  # the host is busy, not this page
            await asyncio.sleep(wait)
        raise AssertionError("attempts is at least 1")

    def _jitter(self, attempt: int) -> float:
        return self._rng.uniform(0.0, min(self._settings.max_backoff, self._settings.backoff * 2.0**attempt))

    def _wait(self, attempt: int, answer: Answer) -> float | None:
        """Seconds until the next attempt; None where there is to be none."""
        if answer.exchange.status not in PASSING:
            return None
        asked_for = retry_after(answer.header("retry-after"))
        if asked_for is None:
            return self._jitter(attempt)
        return None if asked_for > self._settings.max_retry_after else asked_for + self._jitter(attempt)
