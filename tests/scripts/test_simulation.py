"""Simulated calls: cached tokens and times with known values, and the cache against one that keeps single blocks."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from random import Random

import pytest

from scripts.benchmarking.simulation import (
    Call,
    Segment,
    ServerModel,
    Unfit,
    calls_of,
    ideal_tokens,
    simulate,
)

A, B, C = Segment("a", 32), Segment("b", 32), Segment("c", 32)
SMALL = ServerModel(kv_tokens=1 << 20, prefill=100.0, decode=10.0)


def test_the_ideal_counts_each_shared_block_once() -> None:
    # Segment a fills blocks 0 and 1. Segment d ends at token 40, in block 2, which no two calls share.
    deep = (A, Segment("d", 8))
    assert (
        ideal_tokens([Call((A,), 10), Call((A,), 20), Call(deep, 5), Call(deep, 6)]) == 32 + 10 + 20 + 13 + 14
    )
    assert ideal_tokens([]) == 0


def test_an_unlimited_cache_reaches_the_ideal_in_any_order() -> None:
    calls = [Call((prefix,), 10, 1, prefix.key) for prefix in (A, B, A, C, B, A)]
    for order in (calls, calls[::-1]):
        found = simulate(order, SMALL)
        assert found.computed_tokens == found.ideal_tokens == 3 * 32 + 6 * 10
        assert found.hit_rate == found.ideal_hit_rate == 96 / (6 * 42)


def test_the_last_token_of_a_prompt_is_computed() -> None:
    # 33 tokens, of which blocks 0 and 1 are cached; with 32 tokens the second block would hold the last one.
    assert simulate([Call((A,), 1), Call((A,), 1)], SMALL).cached_tokens == 32
    whole = Segment("a", 31)
    assert simulate([Call((whole,), 1), Call((whole,), 1)], SMALL).cached_tokens == 16


def test_the_time_is_that_of_prompts_and_replies() -> None:
    one = Call((), 100, 10)
    assert simulate([one], SMALL).seconds == pytest.approx(1 + 1)
    # Both prompts are read first (2 s), then the replies share 10 tokens per second: 20 tokens take 2 s.
    two = simulate([one, one], SMALL)
    assert two.seconds == pytest.approx(2 + 2)
    assert two.busy == pytest.approx(4)
    # No reply grows faster than its stream: 10 tokens at 2 per second.
    slow = ServerModel(kv_tokens=1 << 20, prefill=100.0, decode=10.0, stream=2.0)
    assert simulate([one, one], slow).seconds == pytest.approx(2 + 5)
    # A slot for one request: the second waits for the end of the first.
    single = ServerModel(kv_tokens=1 << 20, prefill=100.0, decode=10.0, slots=1)
    assert simulate([one, Call((), 50, 5)], single).seconds == pytest.approx(1 + 1 + 0.5 + 0.5)
    # A cache with room for one of them has the same effect.
    narrow = ServerModel(kv_tokens=112, prefill=100.0, decode=10.0)
    assert simulate([one, one], narrow, scheduler=False).seconds == pytest.approx(4)


def test_a_call_that_fits_no_cache_is_refused() -> None:
    tiny = ServerModel(kv_tokens=64, prefill=100.0, decode=10.0)
    with pytest.raises(ExceptionGroup) as refused:
        simulate([Call((), 10), Call((A,), 40)], tiny)
    assert isinstance(refused.value.exceptions[0], Unfit)


def test_the_clairvoyant_cache_keeps_what_is_used_next() -> None:
    # Three prefixes in turn, and room for two: the one that was released longest ago is always the next.
    calls = [Call((prefix,), 16, 1, prefix.key) for _ in range(10) for prefix in (A, B, C)]
    room = ServerModel(kv_tokens=16 * 6, prefill=100.0, decode=10.0, slots=1)
    found = {
        eviction: simulate(calls, room, scheduler=False, eviction=eviction).cached_tokens
        for eviction in ("lru", "clairvoyant")
    }
    assert found["lru"] == 0
    assert found["clairvoyant"] >= 32 * 10


def single_blocks(calls: Sequence[Call], n_blocks: int, block: int) -> int:
    """Cached tokens of calls, one after the other, in a cache of single blocks as vLLM keeps it."""
    free: OrderedDict[tuple[object, ...], None] = OrderedDict()  # first: leaves next
    cached = 0
    for number, call in enumerate(calls):
        tokens: list[object] = [(part.key, i) for part in call.prefix for i in range(part.tokens)]
        tokens += [(number, i) for i in range(call.own + call.reply)]
        blocks = [tuple(tokens[: end or None]) for end in range(block, len(tokens) + 1, block)]
        blocks += [tuple(tokens)] if len(tokens) % block else []
        hits = 0
        while hits < min(len(blocks), (call.prompt - 1) // block) and blocks[hits] in free:
            hits += 1
        for one in blocks:
            free.pop(one, None)
        while len(free) > n_blocks - len(blocks):
            free.popitem(last=False)
        free.update(dict.fromkeys(reversed(blocks)))
        cached += hits * block
    return cached


@pytest.mark.parametrize("seed", range(8))
def test_the_cache_is_that_of_single_blocks(seed: int) -> None:
    rng = Random(seed)
    reports = [Segment(f"report{k}", rng.randrange(1, 40)) for k in range(4)]
    pages = [Segment(f"page{k}", rng.randrange(1, 40)) for k in range(4)]
    calls = [
        Call(
            (Segment("system", 6), rng.choice(reports), *rng.choice([[], [rng.choice(pages)]])),
            rng.randrange(1, 9),
            rng.randrange(1, 5),
        )
        for _ in range(60)
    ]
    n_blocks = rng.randrange(24, 60)
    model = ServerModel(n_blocks * 4, prefill=100.0, decode=10.0, slots=1, block=4)
    found = simulate(calls, model, scheduler=False)
    assert found.cached_tokens == single_blocks(calls, n_blocks, 4)


def test_prompts_become_calls_with_the_segments_that_they_share() -> None:
    system, report = [1] * 10, [2] * 20
    prompts = [[*system, *report, 3, 4], [*system, 9, 9], [*system, *report, 5], [*system, *report, 3, 6]]
    calls = calls_of(prompts, [7, 8, 9, 10], ["r", "", "r", "r"])
    assert [call.prompt for call in calls] == [len(prompt) for prompt in prompts]
    assert [[part.tokens for part in call.prefix] for call in calls] == [
        [10, 20, 1],
        [10],
        [10, 20],
        [10, 20, 1],
    ]
    assert calls[0].prefix == calls[3].prefix
    assert calls[0].prefix[:2] == calls[2].prefix
    assert [(call.reply, call.group) for call in calls] == [(7, "r"), (8, ""), (9, "r"), (10, "r")]


@pytest.mark.parametrize("seed", range(4))
def test_the_ideal_of_real_prompts_is_that_of_their_blocks(seed: int) -> None:
    rng = Random(seed)
    prompts = [[rng.randrange(2) for _ in range(rng.randrange(1, 30))] for _ in range(50)]
    calls = calls_of(prompts, [1] * 50, [""] * 50)
    assert [call.prompt for call in calls] == [len(prompt) for prompt in prompts]
    # Each distinct block once, if a later prompt goes beyond it, and the tokens of each prompt after them.
    last_shared = [4 * ((sum(part.tokens for part in call.prefix)) // 4) for call in calls]
    shared = {
        tuple(prompt[:end])
        for prompt, last in zip(prompts, last_shared, strict=True)
        for end in range(4, last + 1, 4)
    }
    rest = sum(len(prompt) - last for prompt, last in zip(prompts, last_shared, strict=True))
    assert ideal_tokens(calls, 4) == 4 * len(shared) + rest
