"""What vLLM's /metrics say about load and cache, and what hostile text says: nothing."""

from __future__ import annotations

import time

import pytest

from serving.metrics import ServerLoad, kv_cache_tokens, server_load


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


def test_load_of_data_parallel_engines() -> None:
    metrics = """# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m"} 3.0
vllm:num_requests_running{engine="1",model_name="m"} 4.0
vllm:num_requests_waiting{engine="0",model_name="m"} 2.0
vllm:num_requests_waiting_by_reason{engine="0",reason="capacity"} 2.0
vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.5
vllm:kv_cache_usage_perc{engine="1",model_name="m"} 0.25
"""
    assert server_load(metrics) == ServerLoad(running=7, waiting=2, kv_usage=0.375)


@pytest.mark.parametrize("value", ["NaN", "+Inf", "-3.0", "1e300", "many", "7" * 1000])
def test_impossible_loads_are_unknown(value: str) -> None:
    assert server_load(f'vllm:num_requests_running{{engine="0"}} {value}\n') == ServerLoad()
