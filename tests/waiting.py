"""Waiting for conditions, and a clock that a test puts forward. The time limit only ends a test that hangs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

SECONDS = 120.0


def wait_until(holds: Callable[[], object], seconds: float = SECONDS) -> None:
    """Wait for a condition that other threads or processes bring about."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"it did not come true in {seconds:g} s"
        time.sleep(0.01)


async def until(holds: Callable[[], object], seconds: float = SECONDS) -> None:
    """Wait for a condition that other tasks bring about."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"it did not come true in {seconds:g} s"
        await asyncio.sleep(0.001)


class Clock:
    """The clock of the running event loop: what sleeps until a time to which it is put forward wakes up at once."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        now, self._ahead = loop.time, 0.0
        setattr(loop, "time", lambda: now() + self._ahead)  # noqa: B010 - a method

    def advance(self, seconds: float) -> None:
        """Put the clock forward."""
        self._ahead += seconds
