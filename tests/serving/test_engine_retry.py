"""Where requests go and when they go again: order, waiting, and the memory of who was down."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from random import Random

import pytest

from serving.errors import EngineFault, EngineOverloaded, EngineUnreachable
from serving.metrics import ServerLoad
from serving.replicas import Replicas
from serving.retry import Retry

URLS = ["http://a/v1", "http://b/v1", "http://c/v1"]


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_every_replica_is_home_to_a_fair_share_of_prefixes() -> None:
    replicas = Replicas(URLS)
    homes = [replicas.order(f"report {number}")[0] for number in range(3000)]
    # binomial with p = 1/3: mean 1000, deviation 26; four deviations
    assert all(abs(homes.count(url) - 1000) < 104 for url in URLS)


def test_the_order_does_not_depend_on_how_the_urls_are_listed() -> None:
    assert Replicas(URLS).order("x") == Replicas(list(reversed(URLS))).order("x")


def test_taking_a_replica_away_moves_only_its_own_prefixes() -> None:
    all_three, two = Replicas(URLS), Replicas(URLS[:2])
    for number in range(200):
        home = all_three.order(f"report {number}")[0]
        if home != URLS[2]:
            assert two.order(f"report {number}")[0] == home


def test_a_replica_that_went_away_is_asked_last_until_it_is_back() -> None:
    clock = Clock()
    replicas = Replicas(URLS, clock)
    usual = replicas.order("x")
    replicas.record_outage(usual[0])
    clock.now += 40.0
    assert replicas.order("x") == [*usual[1:], usual[0]]
    use = {one.url: one for one in replicas.use()}[usual[0]]
    assert (use.away, use.seconds_away) == (True, 40.0)
    assert replicas.back(usual[0]) == 40.0
    clock.now += 5.0
    assert replicas.order("x") == usual
    use = {one.url: one for one in replicas.use()}[usual[0]]
    assert (use.away, use.seconds_away) == (False, 40.0)


def test_one_prefix_fills_a_replica_up_to_the_bound_and_then_the_next() -> None:
    replicas = Replicas(URLS)
    first, second, third = replicas.order("x")
    with ExitStack() as stack:
        sent: list[str] = []
        for _ in range(60):
            sent.append(replicas.order("x")[0])
            stack.enter_context(replicas.sending(sent[-1]))
            replicas.reads(sent[-1], "x")
        assert sent[:8] == [first] * 8  # SMALL_LOAD
        # at most WARM_BALANCE times the mean of 20, so that two replicas read the prefix and not three
        assert [sent.count(url) for url in (first, second, third)] == [35, 25, 0]
        # a prefix that no replica has read goes where its bound, BALANCE times the mean, is not reached
        assert {replicas.order(f"new {n}")[0] for n in range(100)} == {second, third}


def test_a_prefix_stays_where_it_was_read() -> None:
    replicas = Replicas(URLS)
    first, second, _ = replicas.order("x")
    with ExitStack() as stack:
        for _ in range(8):
            stack.enter_context(replicas.sending(first))
        assert replicas.order("x")[0] == second
        replicas.reads(second, "x")
    assert replicas.order("x")[0] == second
    replicas.record_outage(second)
    replicas.back(second)  # with an empty cache
    assert replicas.order("x")[0] == first


def test_requests_of_other_clients_count() -> None:
    replicas = Replicas(URLS)
    first, second, _ = replicas.order("x")
    with replicas.sending(first):
        replicas.record_load(first, ServerLoad(running=20, waiting=10), in_flight=1)
        assert replicas.order("x")[0] == second
        replicas.record_load(first, ServerLoad(running=1), in_flight=1)
        assert replicas.order("x")[0] == first


def test_a_replica_with_a_full_cache_is_passed_over_while_another_has_room() -> None:
    replicas = Replicas(URLS)
    usual = replicas.order("x")
    replicas.record_load(usual[0], ServerLoad(kv_usage=0.95), in_flight=0)
    assert replicas.order("x") == [*usual[1:], usual[0]]
    for url in usual:
        replicas.record_load(url, ServerLoad(kv_usage=0.95), in_flight=0)
    assert replicas.order("x") == usual


def test_a_replica_that_asked_for_a_pause_is_asked_after_it() -> None:
    clock = Clock()
    replicas = Replicas(URLS, clock)
    usual = replicas.order("x")
    for url, seconds in zip(usual, (20.0, None, 30.0), strict=True):
        assert replicas.pause() == 0.0
        with suppress(EngineOverloaded), replicas.sending(url):
            raise EngineOverloaded("HTTP 503", retry_after=seconds)
    assert replicas.pause() == 1.0  # without Retry-After
    clock.now += 1.0
    assert replicas.order("x")[0] == usual[1]
    overload = replicas.overload(usual[0])
    assert overload is not None and overload.retry_after == 19.0


def test_waiting_grows_with_full_jitter_up_to_the_cap() -> None:
    retry = Retry(base=0.5, cap=3.0, rng=Random(4))
    rng = Random(4)
    waits = [retry.delay(attempt, EngineFault("x")) for attempt in range(1, 6)]
    assert waits == [rng.uniform(0.0, bound) for bound in (0.5, 1.0, 2.0, 3.0, 3.0)]


@pytest.mark.parametrize(("asked", "waits"), [(0.0, True), (300.0, True), (300.1, False)])
def test_retry_after_is_honoured_up_to_five_minutes(asked: float, waits: bool) -> None:
    wait = Retry(rng=Random(0)).delay(1, EngineOverloaded("x", retry_after=asked))
    assert (wait is not None) == waits
    assert wait is None or asked <= wait <= asked + 0.5


async def test_unreachable_replicas_are_passed_over_within_one_attempt() -> None:
    asked: list[str] = []
    naps: list[float] = []

    async def send(url: str) -> str:
        asked.append(url)
        raise EngineUnreachable(f"{url} is down")

    async def nap(seconds: float) -> None:
        naps.append(seconds)

    retry = Retry(attempts=2, rng=Random(0), sleep=nap)
    with pytest.raises(EngineUnreachable, match=r"is down \(attempt 2\)"):
        await retry.run(Replicas(URLS), "x", send)
    assert sorted(asked[:3]) == URLS
    assert len(asked) == 6
    assert len(naps) == 1
