"""Telling an outage of the servers from the failure of one call, and waiting for its end.

Invariant: a call is lost to an outage only if a health check fails too; while an outage lasts nothing is sent but
health checks, and no call uses up an attempt.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import datetime

from serving.errors import EngineError, ServerDown

SUSPICIOUS = 2
"""Calls that fail one after the other, with no answer between them, before the servers' health is checked."""

CHECK_SECONDS = 2.0
"""Between two health checks."""


class ServerWatch:
    """Watches servers that are alike; one for all calls to them.

    Args:
        name: of the servers, for messages.
        healthy: whether at least one of them answers; raises `ServerDown` for a server that is back as another one.
        patience: seconds that an outage may last; 0 never waits, so that each call fails by itself.
        tell: is given one line when an outage begins and when it ends.
        clock, sleep: of the waiting.
    """

    def __init__(
        self,
        name: str,
        healthy: Callable[[], Awaitable[bool]],
        *,
        patience: float,
        tell: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._name = name
        self._healthy = healthy
        self._patience = patience
        self._tell = tell
        self._clock = clock
        self._sleep = sleep
        self._failures = 0
        self._outage: asyncio.Task[bool] | None = None
        self._down: ServerDown | None = None

    async def ready(self) -> None:
        """Wait for the end of an outage, if there is one.

        Raises:
            ServerDown: the servers stay away.
        """
        if self._down is not None:
            raise self._down
        if self._outage is not None:
            await asyncio.shield(self._outage)

    def answered(self) -> None:
        """Note that a call was answered."""
        self._failures = 0

    async def lost(self, error: EngineError, *, final: bool) -> bool:
        """Whether a call failed because of an outage; returns when that is over.

        Args:
            error: how the call failed.
            final: whether the call has no attempt left, so that health is checked at the first failure.

        Raises:
            ServerDown: the servers stay away for longer than they are waited for.
        """
        if not error.retryable or not self._patience:
            return False
        if self._down is not None:
            raise self._down
        if self._outage is None:
            self._failures += 1
            if self._failures < SUSPICIOUS and not final:
                return False
            self._outage = asyncio.create_task(self._wait(error))
            self._outage.add_done_callback(self._ended)
        return await asyncio.shield(self._outage)

    async def aclose(self) -> None:
        """Stop waiting."""
        if self._outage is not None:
            self._outage.cancel()
            await asyncio.wait([self._outage])

    def _ended(self, task: asyncio.Task[bool]) -> None:
        self._outage = None
        if not task.cancelled():
            task.exception()  # seen: no warning where every call that waited was cancelled

    async def _wait(self, error: EngineError) -> bool:
        try:
            if await self._healthy():
                return False
            begun = self._clock()
            minutes = f"{self._patience / 60:g} min"
            self._say(f"{self._name} does not answer; waiting for it up to {minutes} ({error})")
            while (left := self._patience - (self._clock() - begun)) > 0:
                await self._sleep(min(CHECK_SECONDS, left))
                if await self._healthy():
                    self._say(f"{self._name} is back after {self._clock() - begun:.0f} s; going on")
                    self._failures = 0
                    return True
            raise ServerDown(
                f"{self._name} has not answered for {minutes}; what is finished is kept: start the server, then run "
                "the same command again"
            )
        except ServerDown as down:
            self._down = down
            raise

    def _say(self, line: str) -> None:
        self._tell(f"{datetime.now().astimezone():%H:%M:%S} {line}")
