"""When each call may go to the engine.

Invariants: of the calls that share a prefix, one (the leader) goes first, and the others only after its
prompt has been processed, so that they find it in the prefix cache; a leader that fails hands over to the
next in line; at most `concurrency` calls are in flight; the prefixes in flight together take at most
`kv_tokens`, unless it is one alone. Calls go in the order in which they came, passing over only those that
wait for their leader; calls whose prefix is held may overtake one that does not fit yet, but only those that
were already there, so none waits for ever. Nothing here touches what is asked or answered: results do not
depend on it.
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import threading
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass(eq=False)
class _Waiting:
    order: int
    turn: asyncio.Future[bool]
    """Its result is whether the call leads."""


@dataclass(eq=False)
class _Group:
    """Calls that share a prefix."""

    key: str
    tokens: int
    waiting: deque[_Waiting] = field(default_factory=deque[_Waiting])
    running: int = 0
    held: bool = False
    """Whether its prefix counts as lying in the KV cache."""
    warm: bool = False
    """Whether its prefix has been processed since it is held."""


class Turn:
    """One admitted call. Its engine calls `started` when the prompt has been processed; from any thread."""

    def __init__(self, scheduler: Scheduler, group: _Group, leads: bool) -> None:
        self._scheduler = scheduler
        self._group = group
        self.leads = leads
        """Whether calls with the same prefix wait for this one's `started`."""

    def started(self) -> None:
        """The prompt has been processed: calls with the same prefix may follow."""
        self._scheduler.processed(self._group)


class Scheduler:
    """Admits calls to an engine. All methods belong to one event loop."""

    def __init__(self, concurrency: int, kv_tokens: int | None = None) -> None:
        self._concurrency = max(1, concurrency)
        self._kv_tokens = kv_tokens
        self._groups: dict[str, _Group] = {}
        self._ready: list[tuple[int, str]] = []
        """Heap of (order of the oldest waiting call, prefix) of groups that may go, and stale entries."""
        self._order = 0
        self._running = 0
        self._held: dict[str, _Group] = {}
        self._blocked: tuple[_Group, int] | None = None
        """The group next in line whose prefix does not fit, and the order of the first call after that."""
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()

    @asynccontextmanager
    async def turn(self, prefix_key: str, tokens: int) -> AsyncGenerator[Turn]:
        """Wait for a turn; the call is in flight while the context is open.

        Leaving it without an exception also says that the prompt has been processed.

        Args:
            prefix_key: calls with equal keys share their prefix.
            tokens: about how many tokens the prefix takes in the KV cache.
        """
        group = self._groups.setdefault(prefix_key, _Group(prefix_key, tokens))
        call = _Waiting(self._order, self._loop.create_future())
        self._order += 1
        group.waiting.append(call)
        self._offer(group)
        self._admit()
        try:
            leads = await call.turn
        except asyncio.CancelledError:
            if call.turn.cancelled():
                with contextlib.suppress(ValueError):
                    group.waiting.remove(call)
                self._settle(group)
            else:  # admitted, but cancelled before it woke
                self._leave(group)
            raise
        try:
            yield Turn(self, group, leads)
            group.warm = True
        finally:
            self._leave(group)

    def processed(self, group: _Group) -> None:
        """The prefix of `group` is in the cache; may be called from any thread."""
        if threading.get_ident() != self._thread:
            self._loop.call_soon_threadsafe(self.processed, group)
        elif group.running and not group.warm:
            group.warm = True
            self._offer(group)
            self._admit()

    def _offer(self, group: _Group) -> None:
        """Put the group in line if a call of it may go: as leader, or after one that has been processed."""
        if self._may_go(group):
            heapq.heappush(self._ready, (group.waiting[0].order, group.key))

    def _admit(self) -> None:
        while self._ready and self._running < self._concurrency:
            order, key = self._ready[0]
            group = self._groups.get(key)
            if group is None or not self._may_go(group) or group.waiting[0].order != order:
                heapq.heappop(self._ready)
            elif group.waiting[0].turn.cancelled():  # its task has not woken yet to leave by itself
                group.waiting.popleft()
                self._offer(group)
            elif key in self._held or self._make_room(group):
                self._send(group)
            else:
                overtaking = self._overtaking()
                if overtaking is None:
                    return
                self._send(overtaking)

    def _send(self, group: _Group) -> None:
        """Admit the group's oldest call."""
        self._held[group.key] = group
        if self._blocked is not None and self._blocked[0] is group:
            self._blocked = None
        group.running += 1
        self._running += 1
        call = group.waiting.popleft()
        if not call.turn.cancelled():
            call.turn.set_result(not group.warm)
        self._offer(group)

    def _make_room(self, group: _Group) -> bool:
        """Whether the prefix fits beside those held; those that no call uses now are given up for it."""
        if self._kv_tokens is None:
            return True
        if self._blocked is None or self._blocked[0] is not group:
            self._blocked = group, self._order
        free = self._kv_tokens - sum(held.tokens for held in self._held.values())
        for held in list(self._held.values()):
            if free >= group.tokens:
                break
            if held.running == 0 and not self._goes_before_blocked(held):
                free += held.tokens
                held.warm = False
                del self._held[held.key]
        return free >= group.tokens or not self._held

    def _overtaking(self) -> _Group | None:
        """The held group whose oldest call may go before that of the blocked group, which does not fit.

        Only calls that were there when the group was found not to fit: they use what lies in the cache, they
        are finite, and no later one joins them, so the blocked group gets its turn.
        """
        able = [
            held for held in self._held.values() if self._may_go(held) and self._goes_before_blocked(held)
        ]
        return min(able, key=lambda held: held.waiting[0].order, default=None)

    def _may_go(self, group: _Group) -> bool:
        return bool(group.waiting) and (group.warm or group.running == 0)

    def _goes_before_blocked(self, group: _Group) -> bool:
        return self._blocked is not None and bool(group.waiting) and group.waiting[0].order < self._blocked[1]

    def _leave(self, group: _Group) -> None:
        group.running -= 1
        self._running -= 1
        self._settle(group)

    def _settle(self, group: _Group) -> None:
        """After a call has left: forget a group that has none, or let its next call go; then whoever may."""
        if group.running == 0 and not group.waiting:
            self._groups.pop(group.key, None)
            self._held.pop(group.key, None)
        else:
            self._offer(group)
        self._admit()
