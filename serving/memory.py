"""Memory of a preset on GPUs, and the smallest GPU that holds it.

Invariant: a GPU is named only if weights, one full context and a reserve fit; nothing is measured here.
"""

from __future__ import annotations

from collections.abc import Mapping

from serving.presets import Preset

GIB = 1 << 30

GPU_GIB: Mapping[str, float] = {
    "16 GB": 14.5,  # T4
    "24 GB": 23.5,  # RTX 4090
    "32 GB": 31.3,  # RTX 5090
    "48 GB": 44.3,  # L40S
    "80 GB": 79.1,  # A100, H100
    "96 GB": 94.9,  # RTX PRO 6000
    "141 GB": 139.8,  # H200
}
"""GiB that PyTorch reports for a GPU of a nominal size; of several models, the one with the least."""

RESERVE_GIB = 2.5
"""Room per GPU for activations and CUDA graphs; an assumption, since vLLM measures it when it starts."""


def context_gib(preset: Preset) -> float | None:
    """Return the size of the KV cache of one full context in GiB; None if the preset does not say it."""
    return preset.memory and preset.memory.kv_bytes_per_token * preset.context_tokens / GIB


def gib_per_gpu(preset: Preset) -> float | None:
    """Return the memory in GiB that each GPU of a preset needs; None if the preset does not say it.

    Formula: (weights / n + KV cache of one full context / min(n, KV heads) + reserve) / share, for n =
    `vllm.tensor_parallel` GPUs and the share `vllm.gpu_memory_utilization`.
    """
    memory, settings, cache = preset.memory, preset.vllm, context_gib(preset)
    if memory is None or settings is None or cache is None:
        return None
    n = settings.tensor_parallel
    need = memory.weights_gib / n + cache / min(n, memory.kv_heads) + RESERVE_GIB
    return need / (settings.gpu_memory_utilization or 1.0)


def smallest_gpu(preset: Preset) -> str | None:
    """Return the nominal size of the smallest GPUs that hold a preset; None if none does, or its memory is unknown."""
    need = gib_per_gpu(preset)
    return None if need is None else next((name for name, gib in GPU_GIB.items() if gib >= need), None)


def gpus(preset: Preset) -> str:
    """Return the number and size of the GPUs of one replica, such as `2 x 80 GB`; empty if unknown."""
    size = smallest_gpu(preset)
    return f"{preset.vllm.tensor_parallel} x {size}" if size is not None and preset.vllm is not None else ""
