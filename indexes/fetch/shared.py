"""Answers that several cited addresses lead to.

Invariant: within a run an address is asked for once as long as its answer is remembered, also while the first
asking is under way; what is remembered stays within a bound of bytes, and the oldest goes first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from weakref import WeakValueDictionary

from indexes.fetch.client import Answer

_OVERHEAD = 2_000
"""Bytes counted for an answer beside its body."""


class SharedAnswers:
    """Remembers answers by address.

    Args:
        limit: bytes to remember; 0 remembers nothing.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept: dict[str, Answer] = {}
        self._size = 0
        # Each lock lives as long as somebody waits for it.
        self._asking: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def get(self, url: str, ask: Callable[[], Awaitable[Answer]]) -> Answer:
        """The answer for an address: remembered, or that of `ask`, whose faults are not remembered."""
        lock = self._asking.get(url)
        if lock is None:
            self._asking[url] = lock = asyncio.Lock()
        async with lock:
            if url not in self._kept:
                answer = await ask()
                if answer.exchange.status >= 400:
                    return answer
                self._keep(url, answer)
                return answer
            return self._kept[url]

    def _keep(self, url: str, answer: Answer) -> None:
        size = _size(answer)
        if size > self._limit:
            return
        self._kept[url] = answer
        self._size += size
        while self._size > self._limit:
            oldest = next(iter(self._kept))
            self._size -= _size(self._kept.pop(oldest))


def _size(answer: Answer) -> int:
    return len(answer.exchange.body) + len(answer.head) + _OVERHEAD
