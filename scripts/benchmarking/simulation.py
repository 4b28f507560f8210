"""Simulation of calls on a vLLM server: prompt tokens found in the prefix cache, and time, without a server or a model.

The scheduler is the real one (`Scheduler`), on an event loop whose clock jumps from event to event. The server is a
model of vLLM:

- A prompt is cached in whole blocks, each below the one before it. A new block takes the place of the one that was
  released longest ago, deepest first. Blocks of requests in progress stay. The last token is always computed.
- A request waits, in order of arrival, until a slot is free and its prompt and reply fit beside those in progress.
- Prompts are read one after the other at a fixed speed. Meanwhile no reply grows. Otherwise the replies in progress
  share a fixed speed equally.

Invariant: the same calls and arguments give the same result. Not modelled: preemption, speculative decoding, prompts
read in one step with replies (which is faster), and time on the network.
"""

from __future__ import annotations

import asyncio
import heapq
import math
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from selectors import DefaultSelector, SelectorKey
from typing import Literal, NamedTuple

from local_judge.judge.scheduler import Scheduler

Eviction = Literal["lru", "clairvoyant"]
"""Block that leaves a full cache: the one released longest ago, or the one whose next use is farthest in the future."""


class Segment(NamedTuple):
    """Part of a prompt that other prompts with the same beginning may share."""

    key: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Call:
    """One call: the shared beginning of its prompt, its own rest, and its reply."""

    prefix: tuple[Segment, ...]
    """Shared parts, from the first token on: such as the system text, then a report or a page."""
    own: int
    """Prompt tokens after the prefix, at least 1, which no other call shares."""
    reply: int = 1
    """Generated tokens."""
    group: str = ""
    """Prefix that the scheduler knows (`Prompt.prefix_key`)."""

    @property
    def prompt(self) -> int:
        """Prompt tokens."""
        return sum(part.tokens for part in self.prefix) + self.own


@dataclass(frozen=True)
class ServerModel:
    """Model of a judge's server."""

    kv_tokens: int
    """Size of the KV cache."""
    prefill: float
    """Prompt tokens computed per second."""
    decode: float
    """Tokens generated per second, by all replies together."""
    stream: float = math.inf
    """Maximum tokens per second of one reply."""
    slots: int = 256
    """Maximum number of requests in progress (`--max-num-seqs`)."""
    block: int = 16
    """Tokens of a block of the cache."""


@dataclass(frozen=True)
class Simulated:
    """Outcome of a simulation; token counts are exact sums over the calls."""

    calls: int
    prompt_tokens: int
    cached_tokens: int
    generated_tokens: int
    ideal_tokens: int
    """Prompt tokens that one cache without a limit computes, in whole blocks."""
    seconds: float
    """Time from the first call to the end of the last one."""
    busy: float
    """Seconds for which the server read or wrote."""

    @property
    def computed_tokens(self) -> int:
        """Prompt tokens that the servers computed."""
        return self.prompt_tokens - self.cached_tokens

    @property
    def hit_rate(self) -> float:
        """Share of the prompt tokens found in a cache."""
        return self.cached_tokens / self.prompt_tokens if self.prompt_tokens else 0.0

    @property
    def ideal_hit_rate(self) -> float:
        """Maximum of `hit_rate` for these calls, in any order and with any cache."""
        return 1 - self.ideal_tokens / self.prompt_tokens if self.prompt_tokens else 0.0


class Unfit(ValueError):
    """A call does not fit into the KV cache of a server."""


def simulate(
    calls: Sequence[Call],
    server: ServerModel,
    *,
    lookahead: int | None = None,
    scheduler: bool = True,
    eviction: Eviction = "lru",
) -> Simulated:
    """Simulate calls in the given order.

    Args:
        calls: All calls. A call does not depend on another.
        server: Model of the server.
        lookahead: Number of calls that the scheduler knows at a time; None for all.
        scheduler: Whether the scheduler sends the calls. Without it, they go to the server in the given order.
        eviction: Order in which blocks leave a full cache.

    Raises:
        Unfit: A call does not fit into an empty cache.
    """
    loop = _Loop()
    try:
        simulated = _server(calls, server, eviction, loop)
        loop.run_until_complete(_make(calls, simulated, lookahead or len(calls), scheduler))
        return Simulated(
            calls=len(calls),
            prompt_tokens=sum(call.prompt for call in calls),
            cached_tokens=simulated.cached,
            generated_tokens=sum(call.reply for call in calls),
            ideal_tokens=ideal_tokens(calls, server.block),
            seconds=loop.time(),
            busy=simulated.busy,
        )
    finally:
        loop.close()


def ideal_tokens(calls: Iterable[Call], block: int = 16) -> int:
    """Return the least number of prompt tokens that must be computed, in any order and with any cache.

    Formula: block x (distinct shared blocks) + sum over calls of the tokens after the last shared block.
    """
    seen: set[tuple[Segment, ...]] = set()
    total = 0
    for call in calls:
        start = 0
        for depth, part in enumerate(call.prefix, 1):
            end = start + part.tokens
            if call.prefix[:depth] not in seen:
                seen.add(call.prefix[:depth])
                total += block * (end // block - start // block)
            start = end
        total += call.prompt - block * (start // block)
    return total


def calls_of(prompts: Sequence[Sequence[int]], replies: Sequence[int], groups: Sequence[str]) -> list[Call]:
    """Return calls whose segments are the longest common parts of real prompts.

    Args:
        prompts: Token ids of each prompt, not empty.
        replies: Generated tokens of each.
        groups: Prefix key of each.
    """
    order = sorted(range(len(prompts)), key=lambda place: tuple(prompts[place]))
    shared = [0] * (
        len(order) + 1
    )  # tokens that each prompt has in common with the one before it, in this order
    for place in range(1, len(order)):
        shared[place] = _common(prompts[order[place - 1]], prompts[order[place]])
    calls: dict[int, Call] = {}
    open_cuts: list[tuple[int, str]] = []  # ends of the segments of the current prompt, with their keys
    for place, at in enumerate(order):
        last = len(prompts[at]) - 1  # the last token is always computed
        while open_cuts and open_cuts[-1][0] > shared[place]:
            open_cuts.pop()
        # Ends of what this prompt shares with later ones: the running minimum of the common parts that follow.
        ends, least = set[int](), last
        for later in range(place + 1, len(order)):
            least = min(least, shared[later])
            if least <= (open_cuts[-1][0] if open_cuts else 0):
                break
            ends.add(least)
        open_cuts += [(end, f"{place}:{end}") for end in sorted(ends)]
        starts = [0, *(end for end, _ in open_cuts)]
        parts = tuple(
            Segment(key, end - start)
            for start, (end, key) in zip(starts, open_cuts, strict=False)
            if end <= last
        )
        own = len(prompts[at]) - sum(part.tokens for part in parts)
        calls[at] = Call(parts, own, replies[at], groups[at])
    return [calls[at] for at in range(len(prompts))]


def _common(one: Sequence[int], other: Sequence[int]) -> int:
    for place, (first, second) in enumerate(zip(one, other, strict=False)):
        if first != second:
            return place
    return min(len(one), len(other))


@dataclass(eq=False, slots=True)
class _Node:
    """Segment in the tree of a cache, or the rest of one call."""

    parent: _Node | None
    path: tuple[Segment, ...]
    """Segments up to this one; empty for the rest of a call."""
    size: int
    """Blocks."""
    resident: int = 0
    """Blocks in the cache, from the first one on; all of them while a request uses the node."""
    users: int = 0
    """Requests in progress."""
    children: int = 0
    """Nodes of the tree below this one."""
    leaves_at: float = 0.0
    """Place in the order of eviction."""


Uses = dict[tuple[Segment, ...], deque[int]]


class PrefixCache:
    """KV cache of one server: a tree of segments, of which the blocks without users may leave.

    Args:
        n_blocks: Size.
        block: Tokens of a block.
        uses: Places in the order of calls at which each path of segments is still used, for "clairvoyant".
    """

    def __init__(self, n_blocks: int, block: int, uses: Uses | None = None) -> None:
        self._n_blocks = n_blocks
        self._block = block
        self._uses = uses
        self._nodes: dict[tuple[Segment, ...], _Node] = {}
        self._used = self._held = 0
        """Blocks in the cache, and those of requests in progress."""
        self._clock = 0
        self._leaving: list[tuple[float, int, _Node]] = []
        self._offered = 0

    def admit(self, call: Call) -> tuple[int, list[_Node]] | None:
        """Place a request; return the cached tokens of its prompt, and the nodes to release.

        Return None if it does not fit beside the requests in progress.
        """
        sizes = self._sizes(call)
        known = [self._nodes.get(call.prefix[:depth]) for depth in range(1, len(call.prefix) + 1)]
        new = sum(size for node, size in zip([*known, None], sizes, strict=True) if not (node and node.users))
        if self._held + new > self._n_blocks:
            return None
        self._held += new
        hits, nodes = 0, list[_Node]()
        for depth, size in enumerate(sizes, 1):
            parent = nodes[-1] if nodes else None
            node = known[depth - 1] if depth <= len(known) else None
            if node is None:
                path = call.prefix[:depth] if depth <= len(known) else ()
                node = _Node(parent, path, size)
                if path:
                    self._nodes[path] = node
                if parent is not None:
                    parent.children += 1
            if parent is None or parent.resident == parent.size:
                hits += node.resident
            node.users += 1
            nodes.append(node)
            if self._uses is not None and node.path:
                self._uses[node.path].popleft()
        self._evict(self._used + sum(node.size - node.resident for node in nodes) - self._n_blocks)
        for node in nodes:
            self._used += node.size - node.resident
            node.resident = node.size
        return min(hits, (call.prompt - 1) // self._block) * self._block, nodes

    def release(self, nodes: Sequence[_Node]) -> None:
        """Release the blocks of a request that has ended; they stay in the cache until others need the room."""
        self._clock += 1
        for node in reversed(nodes):
            node.users -= 1
            if node.users == 0:
                self._held -= node.size
                node.leaves_at = self._clock if self._uses is None else -self._next_use(node.path)
                self._offer(node)

    def _next_use(self, path: tuple[Segment, ...]) -> float:
        places = (self._uses or {}).get(path)
        return places[0] if places else math.inf

    def _sizes(self, call: Call) -> list[int]:
        """Return the blocks that end in each segment, then those of the rest with the reply."""
        ends = [0, *accumulate(part.tokens for part in call.prefix)]
        whole = [end // self._block for end in ends]
        last = -(-(call.prompt + call.reply) // self._block)
        return [after - before for before, after in pairwise([*whole, last])]

    def _offer(self, node: _Node) -> None:
        """Queue a node whose last block may leave."""
        if node.users == 0 and node.children == 0:
            self._offered += 1
            heapq.heappush(self._leaving, (node.leaves_at, self._offered, node))

    def _evict(self, blocks: int) -> None:
        """Remove `blocks` blocks that no request uses."""
        while blocks > 0:
            leaves_at, _, node = heapq.heappop(self._leaving)
            if node.users or node.children or leaves_at != node.leaves_at:
                continue  # used again since
            gone = min(blocks, node.resident)
            node.resident -= gone
            self._used -= gone
            blocks -= gone
            if node.resident:
                self._offer(node)
                continue
            self._nodes.pop(node.path, None)
            if node.parent is not None:
                node.parent.children -= 1
                self._offer(node.parent)


class _Server:
    """A server in simulated time: reads prompts one after the other, and writes replies side by side."""

    def __init__(self, model: ServerModel, cache: PrefixCache, loop: asyncio.AbstractEventLoop) -> None:
        self.model = model
        self._cache = cache
        self._loop = loop
        self._waiting: deque[tuple[Call, Callable[[], None], asyncio.Future[None]]] = deque()
        self._writing: list[tuple[float, int, list[_Node], asyncio.Future[None]]] = []
        """Heap of the replies in progress by their end, in tokens that each reply gets from the start on."""
        self._written = 0.0
        self._since: float | None = None
        """Time from which on the replies grow; None while a prompt is read."""
        self._timer: asyncio.TimerHandle | None = None
        self._order = 0
        self.cached = 0
        self.busy = 0.0

    async def answer(self, call: Call, started: Callable[[], None]) -> None:
        """Return at the end of the reply; `started` is called when the prompt has been read."""
        ended = self._loop.create_future()
        self._waiting.append((call, started, ended))
        reading = self._timer is not None and self._since is None
        if not reading:
            self._go_on()
        await ended

    def _go_on(self) -> None:
        """Read the next prompt if there is room for it; otherwise let the replies grow."""
        self._grow()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._waiting and len(self._writing) < self.model.slots:
            placed = self._cache.admit(self._waiting[0][0])
            if placed is not None:
                self._read(*placed)
                return
            if not self._writing:
                call = self._waiting.popleft()
                call[2].set_exception(
                    Unfit(f"a call of {call[0].prompt} + {call[0].reply} tokens does not fit")
                )
                self._loop.call_soon(self._go_on)
                return
        if self._writing:
            self._since = self._loop.time()
            left = max(0.0, self._writing[0][0] - self._written)
            self._timer = self._loop.call_later(left / self._speed(), self._end)

    def _read(self, cached: int, nodes: list[_Node]) -> None:
        call, started, ended = self._waiting.popleft()
        self.cached += cached
        seconds = (call.prompt - cached) / self.model.prefill
        self.busy += seconds

        def read() -> None:
            self._timer = None
            self._order += 1
            heapq.heappush(self._writing, (self._written + call.reply, self._order, nodes, ended))
            started()
            self._go_on()

        self._timer = self._loop.call_later(seconds, read)

    def _speed(self) -> float:
        return min(self.model.stream, self.model.decode / len(self._writing))

    def _grow(self) -> None:
        """Let the replies grow up to now."""
        if self._since is not None:
            seconds = self._loop.time() - self._since
            self._written += seconds * self._speed()
            self.busy += seconds
            self._since = None

    def _end(self) -> None:
        """End the reply that is complete."""
        self._grow()
        self._timer = None
        self._written, _, nodes, ended = heapq.heappop(self._writing)
        self._cache.release(nodes)
        ended.set_result(None)
        self._go_on()


def _server(
    calls: Sequence[Call], model: ServerModel, eviction: Eviction, loop: asyncio.AbstractEventLoop
) -> _Server:
    uses: Uses | None = None
    if eviction == "clairvoyant":
        uses = {}
        for place, call in enumerate(calls):
            for depth in range(1, len(call.prefix) + 1):
                uses.setdefault(call.prefix[:depth], deque()).append(place)
    return _Server(model, PrefixCache(model.kv_tokens // model.block, model.block, uses), loop)


async def _make(calls: Sequence[Call], server: _Server, lookahead: int, scheduled: bool) -> None:
    """Make all calls, of which `lookahead` wait or are in progress at a time."""
    scheduler = Scheduler(server.model.slots, server.model.kv_tokens) if scheduled else None
    waiting = iter(calls)

    async def ask() -> None:
        for call in waiting:
            if scheduler is None:
                await server.answer(call, lambda: None)
                continue
            tokens = sum(part.tokens for part in call.prefix)
            async with scheduler.turn(call.group, tokens) as turn:
                await server.answer(call, turn.started)

    async with asyncio.TaskGroup() as group:
        for _ in range(min(lookahead, len(calls))):
            group.create_task(ask())


class _Jumping(DefaultSelector):
    """Selector that returns at once, and sets the loop's clock to the end of the wait."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[SelectorKey, int]]:
        """Return no events."""
        if timeout is None:
            raise RuntimeError("nothing happens any more, and calls still wait")
        self.now += timeout
        return []


class _Loop(asyncio.SelectorEventLoop):
    """Event loop in simulated time, from 0 on."""

    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:
        """Return the simulated time."""
        return self._jumping.now
