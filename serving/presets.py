"""Judge presets: model, weights, engine and settings of a judge, read from YAML.

Invariant: a preset pins everything that can change a reply. An unknown key, an invalid value or an unknown name is one
line that names the file and the key.
"""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, cast

from pydantic import (
    Field,
    PrivateAttr,
    ValidationError,
    field_validator,
    model_validator,
)

from local_judge.base.files import MOST_YAML, read_utf8
from local_judge.base.model import Frozen
from local_judge.base.problems import first_problem
from local_judge.base.strict_yaml import load_yaml
from serving.engines import ENGINES
from serving.errors import PresetError
from serving.preset_sections import EmbeddedSettings, Memory, Reasoning, VllmSettings, Weights, Yarn
from serving.types import ChatArgument, EngineLimits, Sampling

THINKING_SUFFIX = "-thinking"
INVARIANT_SUFFIX = "-invariant"
"""Suffix of a preset's name that switches `vllm.batch_invariant` on; `-thinking` may follow."""


class Preset(Frozen):
    """Configuration of one judge."""

    name: str
    """Name of the file without suffix; not written in the file."""
    description: str
    """One line."""
    model: str
    """Model id under which replies are recorded."""
    licence: str
    """Licence of the weights."""
    quantisation: str | None = None
    """Quantisation, for the record."""
    engine: str
    """Engine that runs the model: a name in `serving.engines.ENGINES`."""
    weights: Weights
    """Source of the weights."""
    context_tokens: int = Field(ge=1024)
    """Maximum length of prompt and reply together, in tokens."""
    native_context_tokens: int | None = Field(default=None, ge=1024)
    """Context length of the model without scaling; null if unknown."""
    yarn: Yarn | None = None
    """Scaling for contexts that are longer than the native one."""
    memory: Memory | None = None
    """Memory on GPUs, for the record and for the choice of a GPU."""
    concurrency: int = Field(default=64, ge=1)
    """Number of requests to keep in flight per server."""
    timeout_seconds: float = Field(default=600.0, gt=0)
    """Time limit of one request over HTTP, from sending to the last byte."""
    reply_model: str | None = None
    """Model name in the server's replies, if it differs from `model`; any other is refused."""
    chat_arguments: tuple[ChatArgument, ...] = ("enable_thinking",)
    """Arguments of the model's chat template; no others are sent. Empty for models with a Mistral tokenizer, for which
    vLLM refuses any."""
    sampling: Sampling = Sampling()
    """Sampling parameters; greedy by default."""
    threshold: float = Field(default=0.5, gt=0, lt=1)
    """Minimum P(yes) of a yes. Small judges are biased to one side; if it is not 0.5, the preset's file names the data
    on which it was fitted."""
    structured: Literal["json_schema", "none"] = "json_schema"
    """Constraint of replies by a server: with `json_schema` it decodes under the schema; with `none` replies are
    only parsed, repaired, validated and requested again."""
    reasoning: Reasoning | None = None
    """Settings of a model that can reason before it answers."""
    vllm: VllmSettings | None = None
    """Settings of vLLM, for an engine with this section."""
    embedded: EmbeddedSettings | None = None
    """Settings of an engine in this process, for an engine with this section."""

    _code_allowed: bool = PrivateAttr(default=False)

    @property
    def code_allowed(self) -> bool:
        """True if the user lets this preset run code, which no file can say."""
        return self._code_allowed

    def allowing_code(self, allowed: bool = True) -> Preset:
        """Return the preset, with the user's permission to run code."""
        copy = self.model_copy()
        copy._code_allowed = allowed
        return copy

    @field_validator("engine")
    @classmethod
    def _check_engine(cls, engine: str) -> str:
        if engine not in ENGINES:
            raise ValueError(f"no engine {engine!r}; there are: {', '.join(ENGINES)}")
        return engine

    @model_validator(mode="after")
    def _has_the_settings_of_its_engine(self) -> Preset:
        needed = ENGINES[self.engine].section
        for section, settings in (("vllm", self.vllm), ("embedded", self.embedded)):
            if (settings is None) == (section == needed):
                with_it = " or ".join(name for name, kind in ENGINES.items() if kind.section == section)
                raise ValueError(f"the section {section} goes with engine: {with_it}, and only with it")
        if self.reasoning is not None and self.reasoning.always != self.sampling.thinking:
            raise ValueError("sampling.thinking has to be true exactly where reasoning.always is")
        return self

    @model_validator(mode="after")
    def _fits_the_context(self) -> Preset:
        native = self.native_context_tokens
        if self.yarn is not None and (native is None or self.vllm is None):
            raise ValueError("yarn needs native_context_tokens, and the section vllm")
        longest = native if self.yarn is None else self.yarn.max_context_tokens
        if longest is not None and self.context_tokens > longest:
            raise ValueError(
                f"context_tokens is {self.context_tokens}, but the model reads at most {longest}"
            )
        return self

    @model_validator(mode="after")
    def _sends_what_the_model_knows(self) -> Preset:
        reasoning = self.reasoning
        samplings = (self.sampling,) if reasoning is None else (self.sampling, reasoning.sampling)
        if any(one.reasoning_effort for one in samplings) and "reasoning_effort" not in self.chat_arguments:
            raise ValueError("sampling.reasoning_effort needs reasoning_effort in chat_arguments")
        if reasoning is not None and not reasoning.always and "enable_thinking" not in self.chat_arguments:
            raise ValueError("reasoning that can be switched off needs enable_thinking in chat_arguments")
        if self.embedded is not None and any(one.beyond_nucleus for one in samplings):
            raise ValueError(
                "sampling: an embedded engine knows temperature and top_p; remove top_k, min_p, the penalties and "
                "reasoning_effort"
            )
        return self

    @property
    def config_overrides(self) -> dict[str, Any] | None:
        """Changes to the model's `config.json` that its context needs; None for a context within the native one.

        YaRN's factor is context / native context, since a larger one than needed costs quality on short texts. vLLM
        takes `max_position_embeddings` for the length after scaling.
        """
        native = self.native_context_tokens
        if self.yarn is None or native is None or self.context_tokens <= native:
            return None
        factor = self.context_tokens / native
        scaling = {"rope_type": "yarn", "factor": factor, "original_max_position_embeddings": native}
        changes = {
            "max_position_embeddings": self.context_tokens,
            "rope_parameters": {**self.yarn.rope, **scaling},
        }
        return {"text_config": changes} if self.yarn.nested else changes

    @property
    def server_env(self) -> dict[str, str]:
        """Environment variables that vLLM needs for this preset."""
        settings = self.vllm or VllmSettings()
        env: dict[str, str] = {}
        if settings.batch_invariant:
            env["VLLM_BATCH_INVARIANT"] = "1"
        if settings.system_date is not None:
            env["VLLM_SYSTEM_START_DATE"] = settings.system_date
        if self.config_overrides is not None:  # the tokenizer may name the native context as its limit
            env["VLLM_ALLOW_LONG_MAX_MODEL_LEN"] = "1"
        return {**env, **settings.env}

    @property
    def reply_options(self) -> dict[str, Any]:
        """Options of a server that can change a reply and that it does not report itself.

        `args` may contain anything (a quantisation, a KV cache), so all of it counts.
        """
        settings = self.vllm or VllmSettings()
        changed: dict[str, Any] = {
            "compact_json": None if settings.compact_json else False,
            "args": list(settings.args) or None,
            "tokenizer_mode": None if settings.tokenizer_mode == "auto" else settings.tokenizer_mode,
            "batch_invariant": settings.batch_invariant or None,
            "system_date": settings.system_date,
            "config_overrides": self.config_overrides,
        }
        always = {"dtype": settings.dtype, "kv_cache_dtype": settings.kv_cache_dtype}
        return {**always, **{name: value for name, value in changed.items() if value is not None}}

    @property
    def limits(self) -> EngineLimits:
        """Context and number of requests in flight that the preset sets for every engine."""
        return EngineLimits(context_tokens=self.context_tokens, concurrency=self.concurrency)

    @property
    def pinned(self) -> bool:
        """True if a digest or a commit fixes the weights."""
        return self.weights.sha256 is not None or self.weights.revision is not None


def preset_folder() -> Path:
    """Return the folder of the packaged presets: beside this module in a wheel, else in the repository."""
    here = Path(__file__).parent
    packaged = here / "configs" / "judges"
    return packaged if packaged.is_dir() else here.parent / "configs" / "judges"


def list_presets() -> list[str]:
    """Return the names of all packaged presets, sorted; a model with optional reasoning has two."""
    names: list[str] = []
    for path in preset_folder().glob("*.yaml"):
        reasoning = _read(path).reasoning
        optional = reasoning is not None and not reasoning.always
        names += [path.stem, path.stem + THINKING_SUFFIX] if optional else [path.stem]
    return sorted(names)


def load_preset(name_or_path: str | Path) -> Preset:
    """Return the preset with this name, or the one in this YAML file.

    `NAME-thinking` is NAME with reasoning switched on: the same weights and server, other sampling. `NAME-invariant` is
    NAME on a server with batch-invariant kernels. `NAME-invariant-thinking` is both.

    Raises:
        PresetError: There is no such preset or file, it is not YAML, or a key or value is invalid.
    """
    path, text = preset_path(name_or_path), str(name_or_path)
    preset = _read(path)
    if not text.startswith(f"{path.stem}-"):
        return preset
    server = text.removesuffix(THINKING_SUFFIX)
    changes: dict[str, Any] = {"name": text}
    if server != text:
        if preset.reasoning is None or preset.reasoning.always:
            raise _no_preset(text)
        changes["sampling"] = preset.reasoning.sampling
    if server != path.stem:
        if preset.vllm is None:
            raise _no_preset(text)
        if not preset.vllm.invariant_kernels:
            raise PresetError(
                f"{text}: vLLM has no batch-invariant kernels for it; use {text.replace(INVARIANT_SUFFIX, '')}"
            )
        changes["vllm"] = preset.vllm.model_copy(update={"batch_invariant": True})
    return preset.model_copy(update=changes)


def preset_path(name_or_path: str | Path) -> Path:
    """Return the file of a preset; for `NAME-thinking` and `NAME-invariant`, that of NAME.

    Raises:
        PresetError: There is no such preset or file.
    """
    text = str(name_or_path)
    if text.endswith((".yaml", ".yml")) or "/" in text:
        path = Path(text)
        if not path.is_file():
            raise PresetError(f"no preset file {path}; `local-judge judge show` lists the packaged ones")
        return path
    server = text.removesuffix(THINKING_SUFFIX)
    for name in (text, server, server.removesuffix(INVARIANT_SUFFIX)):
        path = preset_folder() / f"{name}.yaml"
        if path.is_file():
            return path
    raise _no_preset(text)


def _no_preset(name: str) -> PresetError:
    near = get_close_matches(name, list_presets(), 1)
    hint = f"did you mean {near[0]}? " if near else ""
    return PresetError(f"no judge preset {name!r}; {hint}`local-judge judge show` lists all presets")


def _read(path: Path) -> Preset:
    try:
        loaded: object = load_yaml(read_utf8(path, MOST_YAML))
    except OSError as error:
        raise PresetError(f"{path}: cannot be read ({error.strerror or error})") from error
    except ValueError as error:
        raise PresetError(f"{path}: not readable as YAML: {' '.join(str(error).split())}") from error
    if not isinstance(loaded, dict):
        raise PresetError(f"{path}: a preset is a mapping of keys to values")
    fields = cast("dict[str, Any]", loaded)
    if "name" in fields:
        raise PresetError(f"{path}: name: a preset is named by its file; remove this key")
    try:
        return Preset.model_validate({**fields, "name": path.stem})
    except ValidationError as error:
        raise PresetError(f"{path}: {first_problem(error, model=Preset)}") from error
