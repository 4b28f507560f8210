"""Where requests go and when they go again: order, waiting, and the memory of who was down."""

from __future__ import annotations

import time
from random import Random

import pytest

from serving.engines.server import kv_cache_tokens
from serving.errors import EngineFault, EngineOverloaded, EngineUnreachable
from serving.retry import DOWN_SECONDS, Replicas, Retry

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


def test_a_replica_that_was_down_is_asked_last_for_a_while() -> None:
    clock = Clock()
    replicas = Replicas(URLS, clock)
    usual = replicas.order("x")
    replicas.unreachable(usual[0])
    assert replicas.order("x") == [*usual[1:], usual[0]]
    clock.now += DOWN_SECONDS
    assert replicas.order("x") == usual


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


@pytest.mark.parametrize(
    ("line", "tokens"),
    [
        # vLLM 0.32: the label that knows of cache groups goes before the product
        ('block_size="128",engine="0",kv_cache_size_tokens="2097152",num_gpu_blocks="4096"', 2_097_152),
        ('block_size="16",engine="0",num_gpu_blocks="1000",num_gpu_blocks_override="None"', 16_000),
        ('block_size="16",engine="0",kv_cache_size_tokens="None",num_gpu_blocks="None"', None),
    ],
)
def test_kv_cache_tokens_of_vllm(line: str, tokens: int | None) -> None:
    metrics = f"# TYPE vllm:cache_config_info gauge\nvllm:cache_config_info{{{line}}} 1.0\n"
    assert kv_cache_tokens(metrics) == tokens


def test_kv_caches_of_data_parallel_engines_are_added() -> None:
    line = 'vllm:cache_config_info{{block_size="16",engine="{}",num_gpu_blocks="10"}} 1.0\n'
    assert kv_cache_tokens(line.format(0) + line.format(1)) == 320


def test_metrics_without_a_cache_say_nothing() -> None:
    assert kv_cache_tokens("python_info 1.0\n") is None


def test_a_label_without_end_takes_time_that_grows_with_its_length() -> None:
    begun = time.process_time()
    assert kv_cache_tokens("vllm:cache_config_info{" + "a" * 1_000_000) is None
    assert time.process_time() - begun < 2.0  # with the square of the length: hours
