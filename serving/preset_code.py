"""Settings of presets that can run code, which need the user's permission.

A preset is a file that people exchange. Invariant: what it sets can tune the engine, but load no code and open no file,
unless the user allows it (`Preset.allowing_code`): arguments, variables and properties that are not listed here are
refused. All presets of the project keep to the lists.

Names of arguments and variables: vLLM 0.32 (`vllm/engine/arg_utils.py`, `vllm/envs.py`), PyTorch, NCCL and OpenMP;
of properties: OpenVINO's CPU plugin.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from serving.errors import PresetError
from serving.presets import Preset

ALLOWING = "--allow-preset-code"
"""Option of the commands that start judges."""

_FLAG = ""
_NUMBER = r"-?\d+(?:\.\d+)?[kKmMgG]?"
_WORD = r"[A-Za-z0-9][\w-]*"
"""No dot and no slash: vLLM imports some values that are dotted names of Python."""

_ARGUMENTS: Mapping[str, str] = {
    **dict.fromkeys(
        (
            *("--enforce-eager", "--language-model-only", "--skip-mm-profiling", "--disable-sliding-window"),
            *("--enable-chunked-prefill", "--no-enable-chunked-prefill", "--disable-cascade-attn"),
            *("--async-scheduling", "--no-async-scheduling", "--disable-hybrid-kv-cache-manager"),
            *("--disable-custom-all-reduce", "--disable-log-stats", "--enable-log-requests"),
            *("--no-enable-log-requests", "--enable-expert-parallel", "--enable-dbo", "--enable-eplb"),
            *("--enable-flashinfer-autotune", "--no-enable-flashinfer-autotune"),
        ),
        _FLAG,
    ),
    **dict.fromkeys(
        (
            *("--block-size", "--cpu-offload-gb", "--dbo-decode-token-threshold", "--kv-cache-memory-bytes"),
            *("--dbo-prefill-token-threshold", "--decode-context-parallel-size", "--kv-offloading-size"),
            *("--distributed-timeout-seconds", "--long-prefill-token-threshold", "--mamba-block-size"),
            *("--max-cudagraph-capture-size", "--max-num-batched-tokens", "--max-parallel-loading-workers"),
            *("--mm-processor-cache-gb", "--num-gpu-blocks-override", "--optimization-level"),
            *("--pipeline-parallel-size", "--renderer-num-workers", "--stream-interval", "--swap-space"),
        ),
        _NUMBER,
    ),
    **dict.fromkeys(
        (
            *("--all2all-backend", "--attention-backend", "--gdn-prefill-backend", "--mamba-backend"),
            *("--mamba-cache-dtype", "--mamba-cache-mode", "--mamba-ssm-cache-dtype", "--moe-backend"),
            *("--linear-backend", "--performance-mode", "--quantization", "--uvicorn-log-level"),
        ),
        _WORD,
    ),
    "--config-format": "auto|hf|mistral",
    "--distributed-executor-backend": "mp|ray|uni",
    "--limit-mm-per-prompt": r'\{(?:"\w+": ?\d+(?:, ?(?="))?)*\}|\w+=\d+(?:,\w+=\d+)*',
    "--load-format": "auto|safetensors|fastsafetensors|mistral|gguf|bitsandbytes|dummy",
    "--model-impl": "auto|vllm|transformers",
    "--safetensors-load-strategy": "lazy|eager|prefetch",
    "--scheduling-policy": "fcfs|priority",
}
"""Arguments of vLLM, each with a pattern of its value. None takes a path: the weights are named by `weights`."""

_VARIABLES = re.compile(
    r"VLLM_(?:ATTENTION_BACKEND|CPU_(?:KVCACHE_SPACE|OMP_THREADS_BIND|NUM_OF_RESERVED_CPU|INT4_W4A8|ATTN_SPLIT_KV)"
    r"|(?:USE|MOE_USE)_DEEP_GEMM|USE_DEEP_GEMM_E8M0|DEEP_GEMM_WARMUP|USE_FLASHINFER_\w+|USE_TRITON_\w+"
    r"|ALLREDUCE_USE_\w+|ROCM_\w+|MARLIN_(?:USE_ATOMIC_ADD|INPUT_DTYPE)|FLOAT32_MATMUL_PRECISION|KV_CACHE_LAYOUT"
    r"|ALLOW_LONG_MAX_MODEL_LEN|WORKER_MULTIPROC_METHOD|ENABLE_V1_MULTIPROCESSING|LOGGING_LEVEL|LOG_STATS_INTERVAL"
    r"|(?:ENGINE_READY_TIMEOUT|ENGINE_ITERATION_TIMEOUT)_S|(?:EXECUTE_MODEL|WORKER_SHUTDOWN)_TIMEOUT_SECONDS"
    r"|SKIP_P2P_CHECK|DISABLE_PYNCCL|DISABLE_COMPILE_CACHE|USE_V2_MODEL_RUNNER|USE_NCCL_SYMM_MEM|XGRAMMAR_CACHE_MB)"
    r"|NCCL_(?:DEBUG|(?:P2P|IB|SHM|CUMEM|NVLS|MNNVL)_(?:DISABLE|ENABLE|LEVEL)|SOCKET_IFNAME|IB_HCA|TIMEOUT|ALGO|PROTO)"
    r"|(?:OMP|MKL|OPENBLAS|NUMEXPR)_NUM_THREADS|TOKENIZERS_PARALLELISM|CUBLAS_WORKSPACE_CONFIG|CUDA_DEVICE_ORDER"
    r"|PYTORCH_(?:CUDA_)?ALLOC_CONF"
)
"""Environment variables. None names a file, a module, a library, a host or the network."""

_VARIABLE_VALUE = re.compile(r"[\w.,:|+ =-]*")

_PROPERTIES = re.compile(
    r"INFERENCE_(?:NUM_THREADS|PRECISION_HINT)|(?:KV|KEY|VALUE)_CACHE_(?:PRECISION|GROUP_SIZE)|NUM_STREAMS"
    r"|DYNAMIC_QUANTIZATION_GROUP_SIZE|(?:PERFORMANCE|EXECUTION_MODE)_HINT|SCHEDULING_CORE_TYPE|ENABLE_(?:CPU_PINNING|CPU_RESERVATION|HYPER_THREADING|MMAP)"
    r"|CPU_DENORMALS_OPTIMIZATION|MODEL_DISTRIBUTION_POLICY"
)
"""Device properties of OpenVINO."""


def code_settings(preset: Preset) -> tuple[str, ...]:
    """Return the settings of a preset that can run code on this machine, by their keys."""
    return tuple(dict.fromkeys(_find_code_settings(preset)))


def check_code(preset: Preset) -> None:
    """Refuse a preset that can run code, unless the user has allowed it.

    Raises:
        PresetError: Names the settings.
    """
    found = () if preset.code_allowed else code_settings(preset)
    if found:
        raise PresetError(
            f"{preset.name}: {', '.join(found)} can run code on this machine; read the preset, and allow it with "
            f"{ALLOWING}"
        )


def _find_code_settings(preset: Preset) -> Iterator[str]:
    settings = preset.vllm
    if settings is not None:
        values = {
            "model": preset.model,
            "vllm.kv_cache_dtype": settings.kv_cache_dtype,
            "vllm.tokenizer_mode": settings.tokenizer_mode,
            "reasoning.parser": "" if preset.reasoning is None else preset.reasoning.parser,
        }
        # vLLM would read such a value as another argument.
        yield from (key for key, value in values.items() if value.startswith("-"))
        yield from (f"vllm.args {word}" for word in _unlisted_arguments(settings.args))
        for name, value in settings.env.items():
            if not (_VARIABLES.fullmatch(name) and _VARIABLE_VALUE.fullmatch(value)):
                yield f"vllm.env {name}"
    properties = {} if preset.embedded is None else preset.embedded.properties
    for name, value in properties.items():
        if not (_PROPERTIES.fullmatch(name) and isinstance(value, str | int | float)):
            yield f"embedded.properties {name}"


def _unlisted_arguments(args: Sequence[str]) -> Iterator[str]:
    """Yield the arguments that are not listed, or whose value does not have their pattern."""
    words, named = iter(args), False
    for word in words:
        name, equals, value = word.partition("=")
        name = name.replace("_", "-")  # as vLLM reads it
        pattern = _ARGUMENTS.get(name)
        if pattern is None:
            if word.startswith("-") or not named:
                yield name
            named = True  # words that follow are its values
            continue
        named = False
        if pattern == _FLAG:
            if equals:
                yield word
            continue
        if not equals:
            value = next(words, "")
        if not re.fullmatch(pattern, value):
            yield f"{name} {value}".strip()
