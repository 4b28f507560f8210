"""The least that a server must compute, and reading what it did compute."""

from __future__ import annotations

import pytest

from scripts.benchmarking.prefixes import ideal_computed
from scripts.benchmarking.vllm_server import MeasuringError, PromptCounters, block_tokens, read_counters

pytestmark = pytest.mark.slow


def test_one_prompt_is_computed_whole() -> None:
    assert ideal_computed([list(range(37))], block=16) == 37


def test_shared_blocks_are_computed_once() -> None:
    # 40 shared tokens are two whole blocks of 16 and 8 more, which do not fill a block: these are not shared.
    shared = list(range(40))
    prompts = [[*shared, 100, 101, 102], [*shared, 200], [*shared, 300, 301]]
    # 2 blocks x 16, and the tails 43 - 32 = 11, 41 - 32 = 9, 42 - 32 = 10
    assert ideal_computed(prompts, block=16) == 32 + 11 + 9 + 10


def test_a_block_counts_as_shared_only_after_the_same_blocks() -> None:
    # The second block is the same, the first is not: four distinct blocks of 4.
    assert ideal_computed([[1, 1, 1, 1, 9, 9, 9, 9, 5], [2, 2, 2, 2, 9, 9, 9, 9, 5]], block=4) == 4 * 4 + 2


def test_the_last_token_is_always_computed() -> None:
    # Two equal prompts of two blocks: the second needs its last block again.
    assert ideal_computed([list(range(8))] * 2, block=4) == 8 + 4


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_the_order_of_the_prompts_does_not_matter(order: tuple[int, int]) -> None:
    # The short one is the opening of the long one: taken first, it is computed whole and all of it is shared.
    prompts = [list(range(8)), list(range(10))]
    assert ideal_computed([prompts[i] for i in order], block=4) == 8 + 2


METRICS = """\
# HELP vllm:prompt_tokens_total Number of prefill tokens processed.
# TYPE vllm:prompt_tokens_total counter
vllm:prompt_tokens_total{engine="0",model_name="m"} 120.0
vllm:prompt_tokens_total{engine="1",model_name="m"} 30.0
vllm:prompt_tokens_by_source_total{engine="0",model_name="m",source="local_compute"} 56.0
vllm:prompt_tokens_by_source_total{engine="1",model_name="m",source="local_compute"} 30.0
vllm:prompt_tokens_by_source_total{engine="0",model_name="m",source="local_cache_hit"} 64.0
vllm:prompt_tokens_by_source_total{engine="0",model_name="m",source="external_kv_transfer"} 0.0
vllm:cache_config_info{block_size="128",engine="0",num_gpu_blocks="999"} 1.0
"""


def test_counters_are_summed_over_engines_and_taken_by_source() -> None:
    assert read_counters(METRICS) == PromptCounters(total=150, computed=86, cached=64)
    assert PromptCounters(150, 86, 64).since(PromptCounters(120, 60, 60)) == PromptCounters(30, 26, 4)
    assert block_tokens(METRICS) == 128


def test_a_server_without_the_counters_is_refused() -> None:
    with pytest.raises(MeasuringError, match="prompt_tokens_total"):
        read_counters('vllm:generation_tokens_total{engine="0"} 1.0\n')
