"""Scheduler of calls to the engine.

Invariants: of the calls that share a prefix, one (the leader) goes first, and the others only after its
prompt has been processed, so that they find it in the prefix cache; after a leader that fails, the
next call leads; at most `concurrency` calls are in flight; the prefixes in flight together take at most
`kv_tokens`, unless there is only one. Calls go in order of arrival, with three exceptions: calls that wait for their
leader are skipped; a leader goes ahead when few calls are left that may follow one, so that the server stays busy while
the next prefix is processed; and calls whose prefix is held may overtake one that does not fit yet. The last two are
bounded, so that no call waits for ever. In a plan (`in_order_of`), calls go by phase and place instead, and in one
phase those whose prefix is held go before leaders. The order changes neither prompts nor replies.
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import math
import threading
from bisect import insort
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import TracebackType

Order = tuple[int, int, int]
"""Phase and place of a call in the plan, then number of its arrival; smaller ones go first."""

_UNPLANNED = 0
_PLAN: ContextVar[tuple[int, int] | None] = ContextVar("plan", default=None)
"""Round and place of this task's report; None without a plan."""


def in_order_of(place: int, per_round: int) -> None:
    """Give a place to all calls that this task, and tasks started by it, will make.

    Calls about reports go by place. Calls about pages go after those about the reports of the same round, when all
    claims about a page are known, and before the next round.

    Args:
        place: Place of the report in the plan.
        per_round: Number of reports in a round.
    """
    _PLAN.set((place // per_round, place))


def _planned(prefix_key: str) -> tuple[int, int]:
    plan = _PLAN.get()
    if plan is None:
        return _UNPLANNED, 0
    return 1 + 2 * plan[0] + prefix_key.startswith("page:"), plan[1]


@dataclass(eq=False)
class _Waiting:
    order: Order
    turn: asyncio.Future[bool]
    """Future whose result is whether the call leads."""


@dataclass(eq=False)
class _Group:
    """Calls that share a prefix."""

    key: str
    tokens: int
    waiting: list[_Waiting] = field(default_factory=list[_Waiting])
    """Calls that wait, in order."""
    running: int = 0
    warm: bool = False
    """True if the prefix has been processed since it is held."""


_WINDOWS = 2
"""Number of windows of `concurrency` calls: a leader takes about one in a full server, and a second keeps it busy."""


def _may_go(group: _Group) -> bool:
    return bool(group.waiting) and (group.warm or group.running == 0)


def _drop_cancelled(group: _Group) -> None:
    """Remove the calls whose tasks were cancelled but have not run since."""
    while group.waiting and group.waiting[0].turn.cancelled():
        group.waiting.pop(0)


class Turn:
    """Turn of a call: entering it waits until the call may go, and the call is in flight while the context is open.

    Leaving it without an exception also marks the prompt as processed.
    """

    def __init__(self, scheduler: Scheduler, prefix_key: str, tokens: int) -> None:
        self._scheduler = scheduler
        self._prefix_key = prefix_key
        self._tokens = tokens
        self._group: _Group | None = None
        self.leads = False
        """True if calls with the same prefix wait for `started` of this one."""

    async def __aenter__(self) -> Turn:
        self._group, self.leads = await self._scheduler.wait(self._prefix_key, self._tokens)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._group is not None
        self._scheduler.leave(self._group, processed=kind is None)

    def started(self) -> None:
        """Mark the prompt as processed, so that calls with the same prefix may follow. Thread-safe."""
        assert self._group is not None
        self._scheduler.processed(self._group)


class Scheduler:
    """Admission of calls to an engine, in one event loop."""

    def __init__(self, concurrency: int, kv_tokens: int | None = None) -> None:
        self._concurrency = max(1, concurrency)
        self._kv_tokens = kv_tokens
        self._groups: dict[str, _Group] = {}
        self._followers: list[tuple[Order, str]] = []
        """Heap of (order of the oldest waiting call, prefix) of groups with a warm prefix, and of stale entries."""
        self._leaders: list[tuple[Order, str]] = []
        """Heap of the same pairs for groups that need a leader."""
        self._arrivals = 0
        self._running = 0
        self._held: dict[str, _Group] = {}
        self._blocked: tuple[_Group, int] | None = None
        """Next group, whose prefix does not fit, and the number of calls that had arrived when that was found."""
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()

    def turn(self, prefix_key: str, tokens: int) -> Turn:
        """Return a turn to be entered.

        Args:
            prefix_key: Key of the prefix; calls with equal keys share it.
            tokens: Approximate size of the prefix in the KV cache, in tokens.
        """
        return Turn(self, prefix_key, tokens)

    async def wait(self, prefix_key: str, tokens: int) -> tuple[_Group, bool]:
        """Wait until a call may go; return its group and whether it leads. `leave` must follow."""
        group = self._groups.setdefault(prefix_key, _Group(prefix_key, tokens))
        call = _Waiting((*_planned(prefix_key), self._arrivals), self._loop.create_future())
        self._arrivals += 1
        insort(group.waiting, call, key=lambda waiting: waiting.order)
        self._offer(group)
        self._admit()
        try:
            return group, await call.turn
        except asyncio.CancelledError:
            if call.turn.cancelled():
                with contextlib.suppress(ValueError):
                    group.waiting.remove(call)
                self._settle(group)
            else:  # admitted, but cancelled before it woke
                self.leave(group, processed=False)
            raise

    def leave(self, group: _Group, *, processed: bool) -> None:
        """Record that an admitted call has ended."""
        group.warm |= processed
        group.running -= 1
        self._running -= 1
        self._settle(group)

    def processed(self, group: _Group) -> None:
        """Record that the prefix of `group` is in the cache. Thread-safe."""
        if threading.get_ident() != self._thread:
            self._loop.call_soon_threadsafe(self.processed, group)
        elif group.running and not group.warm:
            group.warm = True
            self._offer(group)
            self._admit()

    def _offer(self, group: _Group) -> None:
        """Queue the group if one of its calls may go, as a leader or as a follower."""
        if _may_go(group):
            line = self._followers if group.warm else self._leaders
            heapq.heappush(line, (group.waiting[0].order, group.key))

    def _admit(self) -> None:
        while self._running < self._concurrency:
            group = self._next()
            if group is None:
                return
            if group.key not in self._held and not self._make_room(group):
                group = self._overtaking()
                if group is None:
                    return
            self._send(group)

    def _next(self) -> _Group | None:
        """Return the group whose oldest call goes next, if there is room for it."""
        follower, leader = self._first(self._followers), self._first(self._leaders)
        if follower is None or leader is None:
            return follower or leader
        first, second = leader.waiting[0].order, follower.waiting[0].order
        if (
            first < second and not first[0] == second[0] != _UNPLANNED
        ):  # of one phase of a plan, followers go first
            return leader
        return leader if self._goes_ahead(leader) else follower

    def _first(self, line: list[tuple[Order, str]]) -> _Group | None:
        """Return the group at the head of a queue, and drop stale entries."""
        while line:
            order, key = line[0]
            group = self._groups.get(key)
            stands = self._followers if group is not None and group.warm else self._leaders
            if group is None or stands is not line or not _may_go(group) or group.waiting[0].order != order:
                heapq.heappop(line)
            elif group.waiting[0].turn.cancelled():
                _drop_cancelled(group)
                self._offer(group)
            else:
                return group
        return None

    def _goes_ahead(self, leader: _Group) -> bool:
        """Check whether a leader goes before older calls.

        It does if it has followers, its prefix fits beside the held ones, and fewer calls wait for those than
        `_WINDOWS` times the concurrency.
        """
        if len(leader.waiting) < 2 or not self._fits(leader):
            return False
        return sum(len(held.waiting) for held in self._held.values()) < _WINDOWS * self._concurrency

    def _fits(self, group: _Group) -> bool:
        return group.key in self._held or self._free() >= group.tokens

    def _free(self) -> float:
        """Return the tokens in the KV cache that no held prefix takes."""
        if self._kv_tokens is None:
            return math.inf
        return self._kv_tokens - sum(held.tokens for held in self._held.values())

    def _send(self, group: _Group) -> None:
        """Admit the group's oldest call."""
        self._held[group.key] = group
        if self._blocked is not None and self._blocked[0] is group:
            self._blocked = None
        group.running += 1
        self._running += 1
        group.waiting.pop(0).turn.set_result(not group.warm)
        self._offer(group)

    def _make_room(self, group: _Group) -> bool:
        """Check whether the prefix fits beside the held ones, after releasing those that no call uses."""
        if self._kv_tokens is None:
            return True
        if self._blocked is None or self._blocked[0] is not group:
            self._blocked = group, self._arrivals
        free = self._free()
        for held in list(self._held.values()):
            if free >= group.tokens:
                break
            if held.running == 0 and not self._goes_before_blocked(held):
                free += held.tokens
                held.warm = False
                del self._held[held.key]
                self._offer(held)
        return free >= group.tokens or not self._held

    def _overtaking(self) -> _Group | None:
        """Return the held group whose oldest call may go before that of the blocked group, which does not fit.

        Only calls that waited when the group was found not to fit may overtake it. They use what is in the cache, and
        their number is finite, so that the blocked group gets its turn.
        """
        for held in self._held.values():
            _drop_cancelled(held)
        able = [held for held in self._held.values() if _may_go(held) and self._goes_before_blocked(held)]
        return min(able, key=lambda held: held.waiting[0].order, default=None)

    def _goes_before_blocked(self, group: _Group) -> bool:
        return (
            self._blocked is not None
            and bool(group.waiting)
            and group.waiting[0].order[-1] < self._blocked[1]
        )

    def _settle(self, group: _Group) -> None:
        """Remove a group without calls, or queue its next call; then admit the calls that may go."""
        if group.running == 0 and not group.waiting:
            self._groups.pop(group.key, None)
            self._held.pop(group.key, None)
        else:
            self._offer(group)
        self._admit()
