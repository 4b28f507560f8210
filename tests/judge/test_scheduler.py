"""Leader first, bounded, fair, and never stuck, whatever the delays, failures and cancellations."""

from __future__ import annotations

import asyncio
import random
from collections import Counter

import pytest

from local_judge.judge.scheduler import Scheduler, Turn, in_order_of

from ..waiting import SECONDS, until


class Broken(Exception):
    """A call that fails."""


class Watch:
    """Runs calls and checks the invariants at every step."""

    def __init__(self, scheduler: Scheduler, concurrency: int, kv_tokens: int | None, tokens: int) -> None:
        self.scheduler = scheduler
        self.concurrency = concurrency
        self.kv_tokens = kv_tokens
        self.tokens = tokens
        self.running: Counter[str] = Counter()
        self.leading: set[str] = set()
        self.leaders: Counter[str] = Counter()
        self.done: list[str] = []
        self.peak = 0

    async def call(self, prefix: str, name: str, delay: float, starts: float, fails: bool) -> str:
        async with self.scheduler.turn(prefix, self.tokens) as turn:
            self.enter(prefix, turn)
            try:
                await asyncio.sleep(starts)
                if fails:
                    raise Broken(name)
                self.leading.discard(prefix)
                turn.started()
                await asyncio.sleep(delay)
            finally:
                if turn.leads:
                    self.leading.discard(prefix)
                self.running[prefix] -= 1
        self.done.append(name)
        return name

    def enter(self, prefix: str, turn: Turn) -> None:
        assert prefix not in self.leading, "a follower went before its leader's prompt was processed"
        if turn.leads:
            assert self.running[prefix] == 0
            self.leading.add(prefix)
            self.leaders[prefix] += 1
        self.running[prefix] += 1
        total = sum(self.running.values())
        self.peak = max(self.peak, total)
        assert total <= self.concurrency
        prefixes = sum(count > 0 for count in self.running.values())
        if self.kv_tokens is not None:
            assert prefixes == 1 or prefixes * self.tokens <= self.kv_tokens


@pytest.mark.parametrize("seed", range(12))
async def test_invariants_under_random_delays_failures_and_cancellations(seed: int) -> None:
    rng = random.Random(seed)
    concurrency = rng.choice([1, 2, 5, 16])
    kv_tokens = rng.choice([None, 50, 250, 1000])
    watch = Watch(Scheduler(concurrency, kv_tokens), concurrency, kv_tokens, tokens=100)
    tasks: dict[str, asyncio.Task[str]] = {}
    expected: dict[str, str] = {}
    for n in range(150):
        name, prefix = f"call-{n}", f"prefix-{rng.randrange(9)}"
        fails, delay, starts = rng.random() < 0.15, rng.random() * 0.002, rng.random() * 0.002
        tasks[name] = asyncio.create_task(watch.call(prefix, name, delay, starts, fails))
        expected[name] = "Broken" if fails else name
        if rng.random() < 0.3:
            await asyncio.sleep(rng.random() * 0.001)
        if rng.random() < 0.1:
            victim = rng.choice(sorted(tasks))
            if not tasks[victim].done():
                tasks[victim].cancel()
                expected[victim] = "CancelledError"
    async with asyncio.timeout(SECONDS):
        results = await asyncio.gather(*tasks.values(), return_exceptions=True)
    found = {
        name: type(result).__name__ if isinstance(result, BaseException) else result
        for name, result in zip(tasks, results, strict=True)
    }
    assert found == expected
    assert +watch.running == Counter()
    async with asyncio.timeout(SECONDS):  # and it is as good as new
        assert await watch.call("prefix-0", "after", 0, 0, False) == "after"


async def test_followers_go_together_once_the_leader_has_started() -> None:
    scheduler = Scheduler(8)
    log: list[str] = []
    may_start, may_end = asyncio.Event(), asyncio.Event()

    async def call(name: str) -> None:
        async with scheduler.turn("report", 10) as turn:
            log.append(f"{name}{'*' if turn.leads else ''}")
            await may_start.wait()
            turn.started()
            await may_end.wait()

    tasks = [asyncio.create_task(call(name)) for name in "abcd"]
    await asyncio.sleep(0.005)
    assert log == ["a*"]
    may_start.set()
    await until(lambda: len(log) == 4)
    assert log == ["a*", "b", "c", "d"]  # all in flight, and a has not ended
    may_end.set()
    await asyncio.gather(*tasks)


async def test_a_prefix_without_calls_goes_cold() -> None:
    scheduler = Scheduler(8)
    leads: list[bool] = []
    for _ in range(3):
        async with scheduler.turn("report", 10) as turn:
            leads.append(turn.leads)
    assert leads == [True, True, True]


async def test_without_started_the_leaders_end_releases_all() -> None:
    scheduler = Scheduler(8)
    log: list[bool] = []

    async def call() -> None:
        async with scheduler.turn("page", 10) as turn:
            log.append(turn.leads)
            await asyncio.sleep(0.001)

    await asyncio.gather(*(call() for _ in range(6)))
    assert log == [True] + [False] * 5


async def admitted(scheduler: Scheduler, calls: list[tuple[str, str]], tokens: int = 10) -> list[str]:
    """The order in which calls (prefix, name) go, each starting before and ending after the next is admitted."""
    order: list[str] = []

    async def call(prefix: str, name: str) -> None:
        async with scheduler.turn(prefix, tokens) as turn:
            order.append(name + "*" * turn.leads)
            turn.started()
            await asyncio.sleep(0.001)

    async with asyncio.timeout(SECONDS):
        await asyncio.gather(*(call(prefix, name) for prefix, name in calls))
    return order


async def test_a_leader_goes_ahead_while_few_calls_wait_for_a_slot() -> None:
    calls = [("a", f"a{n}") for n in range(6)] + [("b", "b0"), ("b", "b1")]
    # One slot, so two windows are two calls. When a2 has gone, a3 to a5 wait: enough. When a3 has, a4 and a5: enough.
    # When a4 has, only a5: b0 goes ahead of it, so that b1 can follow at once.
    for kv_tokens in (None, 20):  # 20 are both prefixes
        order = await admitted(Scheduler(1, kv_tokens), calls)
        assert order == ["a0*", "a1", "a2", "a3", "a4", "b0*", "a5", "b1"]


async def test_no_leader_goes_ahead_without_room_or_without_followers() -> None:
    calls = [("a", f"a{n}") for n in range(4)] + [("b", "b0"), ("b", "b1")]
    in_order = ["a0*", "a1", "a2", "a3", "b0*", "b1"]
    assert await admitted(Scheduler(1, kv_tokens=19), calls) == in_order
    assert await admitted(Scheduler(1), calls[:-1]) == in_order[:-1]


async def test_a_failed_leader_hands_over_to_the_next() -> None:
    scheduler = Scheduler(8)
    watch = Watch(scheduler, 8, None, 10)
    calls = [watch.call("p", str(n), 0.001, 0.001, fails=n < 2) for n in range(5)]
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert [isinstance(result, Broken) for result in results] == [True, True, False, False, False]
    assert watch.leaders["p"] == 3


async def test_a_stream_of_calls_to_one_prefix_does_not_starve_a_large_one() -> None:
    scheduler = Scheduler(concurrency=2, kv_tokens=100)
    order: list[str] = []

    async def call(prefix: str, tokens: int) -> None:
        async with scheduler.turn(prefix, tokens) as turn:
            turn.started()
            order.append(prefix)
            await asyncio.sleep(0.0005)

    async def stream() -> None:
        while "large" not in order:
            await call("small", 10)

    streams = [asyncio.create_task(stream()) for _ in range(6)]
    await asyncio.sleep(0.005)
    async with asyncio.timeout(SECONDS):
        before = len(order)
        await asyncio.gather(call("large", 100), *streams)  # fits only alone
    # At most one round of the six was in line before it, and one more came before it was found not to fit.
    assert order.index("large") - before <= 12


async def test_interleaved_prefixes_share_although_only_one_fits() -> None:
    scheduler = Scheduler(concurrency=4, kv_tokens=100)
    leads: list[bool] = []

    async def call(prefix: str) -> None:
        async with scheduler.turn(prefix, 100) as turn:
            leads.append(turn.leads)
            await asyncio.sleep(0.0005)

    await asyncio.gather(*(call(f"report-{n % 5}") for n in range(50)))
    # Each of the five prefixes is processed once, and the first once more: when the second came and was found
    # not to fit, only one call of the first was there.
    assert sum(leads) == 6


async def test_a_prefix_larger_than_the_cache_still_goes_alone() -> None:
    scheduler = Scheduler(concurrency=4, kv_tokens=50)
    async with asyncio.timeout(SECONDS), scheduler.turn("huge", 1000) as turn:
        assert turn.leads


async def test_started_may_be_called_from_another_thread() -> None:
    scheduler = Scheduler(4)
    order: list[str] = []
    end = asyncio.Event()

    async def leader() -> None:
        async with scheduler.turn("p", 1) as turn:
            await asyncio.to_thread(turn.started)
            await end.wait()
            order.append("leader")

    async def follower() -> None:
        async with scheduler.turn("p", 1):
            order.append("follower")
            end.set()

    async with asyncio.timeout(SECONDS):
        await asyncio.gather(leader(), follower())
    assert order == ["follower", "leader"]


async def test_a_call_cancelled_as_its_leader_fails_leaves_no_slot_taken() -> None:
    scheduler = Scheduler(concurrency=1, kv_tokens=100)
    order: list[str] = []

    async def call(prefix: str, name: str, fails: bool = False) -> None:
        async with scheduler.turn(prefix, 100):
            order.append(name)
            await asyncio.sleep(0)
            if fails:
                follower.cancel()  # in the same turn of the loop, so that its task has not woken yet
                raise Broken

    leader = asyncio.create_task(call("a", "a0", fails=True))
    follower = asyncio.create_task(call("a", "a1"))
    last = asyncio.create_task(call("a", "a2"))
    other = asyncio.create_task(call("b", "b0"))
    async with asyncio.timeout(SECONDS):
        results = await asyncio.gather(leader, follower, last, other, return_exceptions=True)
    assert [type(result).__name__ for result in results] == [
        "Broken",
        "CancelledError",
        "NoneType",
        "NoneType",
    ]
    assert order == ["a0", "a2", "b0"]


async def test_planned_calls_go_by_report_then_by_page_in_rounds() -> None:
    scheduler, done, arrived = Scheduler(1, kv_tokens=10), list[str](), asyncio.Event()

    async def call(place: int, prefix: str) -> None:
        in_order_of(place, 2)
        async with scheduler.turn(prefix, 10):
            done.append(f"{place} {prefix}")
            await arrived.wait()

    asked = [(place, prefix) for prefix in ("page:a", "page:b", "report") for place in (3, 2, 1, 0)]
    async with asyncio.TaskGroup() as group:
        group.create_task(call(0, "first"))
        await asyncio.sleep(0)
        for place, prefix in asked:
            group.create_task(call(place, f"report:{place}" if prefix == "report" else prefix))
        await asyncio.sleep(0)
        arrived.set()
    # Reports 0 and 1 are the first round. While a page is held, all calls about it go, of any round.
    assert done[1:] == [
        *("0 report:0", "1 report:1"),
        *(f"{place} {page}" for page in ("page:a", "page:b") for place in range(4)),
        *("2 report:2", "3 report:3"),
    ]
