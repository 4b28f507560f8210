"""Settings of a run.

Invariant: unknown keys are errors that name the file and the key; options of the command line override the file, and
the metrics of a LiveResearchBench batch file are used only if neither sets them.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from local_judge.base.errors import ConfigError, SettingError, brief, first_problem, os_errors, problem_of
from local_judge.base.files import MOST_YAML, read_utf8
from local_judge.base.model import Frozen
from local_judge.base.strict_yaml import load_yaml
from local_judge.claims.config import ClaimsConfig
from local_judge.protocols.base import AnyProtocol, load_protocol
from local_judge.protocols.originals import Original, PromptSource
from local_judge.tasks.layouts import BATCH_SUFFIXES, read_batch

T = TypeVar("T", bound=BaseModel)

BATCHED = "liveresearchbench"
"""Protocol whose batch files choose metrics."""

_DEEPEST = 20
"""Maximum number of levels of a setting's name; the settings themselves have fewer."""


class RunConfig(Frozen):
    """Everything except the inputs that can change the results of a run."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    protocols: tuple[str, ...] = Field(default=("deer",), min_length=1)
    """Protocols to run, in the order of the tables; by default `deer`."""
    claims: ClaimsConfig = ClaimsConfig()
    """Settings of the claim set."""
    reasks: int = Field(default=2, ge=0, le=5)
    """Number of times that an unanswered item is asked again."""
    date: dt.date | None = None
    """Day of the evaluation; it fills the dates that tasks leave open."""
    prompts: PromptSource | None = None
    """Source of the prompts; by default those of this package."""
    settings: dict[str, dict[str, Any]] = Field(default_factory=dict[str, dict[str, Any]])
    """Settings of each protocol, by its name."""


def settled(config: RunConfig) -> RunConfig:
    """Return `config` with the protocols' default settings filled in, as the manifest records it.

    Raises:
        ConfigError: a protocol is unknown, does not have a setting, or has settings without being run; or its published
            prompts are asked for and cannot be used.
    """
    settings = {
        name: load_protocol(name, config.settings.get(name)).settings.model_dump(mode="json")
        for name in config.protocols
    }
    idle = [name for name in config.settings if name not in config.protocols]
    if idle:
        raise SettingError(
            f"{idle[0]}: not a protocol of this run; add --protocol {idle[0]}, or leave the setting out",
            idle[:1],
        )
    made = config.model_copy(update={"settings": settings})
    if config.prompts is None:
        for protocol in chosen_protocols(made):
            made = made.model_copy(update={"claims": protocol.claim_settings(made.claims)})
    original_prompts(made)
    return made


def original_prompts(config: RunConfig) -> dict[str, Original]:
    """Return the published prompts of each protocol to run; none if the prompts are those of this package.

    Raises:
        ConfigError: a protocol has none, or not with its settings, or the run has no date and they show one.
    """
    source = config.prompts
    if source is None:
        return {}
    protocols = chosen_protocols(config)
    undated = [protocol.name for protocol in protocols if protocol.dated_prompts and config.date is None]
    if undated:
        raise ConfigError(f"{undated[0]}: the published prompts show the day of the evaluation; give --date")
    found = {protocol.name: protocol.original_prompts(source) for protocol in protocols}
    given, defaults = config.claims, ClaimsConfig()
    for name in ClaimsConfig.model_fields:
        value = getattr(given, name)
        if name != "ranker" and value != getattr(defaults, name):
            raise ConfigError(
                f"claims.{name}={value}: not in the published code; leave it out with its prompts"
            )
    return found


def chosen_protocols(config: RunConfig) -> list[AnyProtocol]:
    """Return the protocols to run, with their settings."""
    return [load_protocol(name, config.settings.get(name)) for name in config.protocols]


def with_batch_metrics(paths: Sequence[Path], config: RunConfig) -> RunConfig:
    """Return `config` with the LiveResearchBench metrics that the batch files among `paths` name, in that order.

    The config stays unchanged if it does not run LiveResearchBench or sets its metrics itself.

    Raises:
        InputError: a batch file cannot be read.
    """
    given = config.settings.get(BATCHED, {})
    if BATCHED not in config.protocols or "parts" in given:
        return config
    batches = [read_batch(path) for path in paths if path.suffix.lower() in BATCH_SUFFIXES]
    parts = list(dict.fromkeys(name for batch in batches for name in batch.criteria))
    if not parts:
        return config
    return config.model_copy(update={"settings": {**config.settings, BATCHED: {**given, "parts": parts}}})


def parse_settings(texts: Sequence[str]) -> dict[str, Any]:
    """Return settings such as `deer.scale=5` as the nested mapping of a config file; the values are YAML.

    Raises:
        ConfigError: a text has no `protocol.key=`, or its value is not YAML.
    """
    settings: dict[str, Any] = {}
    for text in texts:
        path, equals, value = text.partition("=")
        steps = [step.strip() for step in path.split(".")]
        if not equals or not 2 <= len(steps) <= _DEEPEST or not all(steps):
            raise ConfigError(f"--set {brief(text)}: expected PROTOCOL.KEY=VALUE, such as deer.scale=5")
        try:
            nested: Any = load_yaml(value)
        except ValueError as error:
            raise ConfigError(f"--set {brief(text)}: {error}") from None
        for step in reversed(steps):
            nested = {step: nested}
        settings = laid_over(settings, cast("dict[str, Any]", nested), nulls=True)
    return settings


def parse_prompts(sources: Sequence[str], allow: Sequence[str] = ()) -> dict[str, Any] | None:
    """Return the `prompts` of a run file for options such as `original=PATH`; None without any.

    Raises:
        ConfigError: a source is not `original=PATH`.
    """
    paths: list[str] = []
    for text in sources:
        kind, _, path = text.partition("=")
        if kind.strip() != "original" or not path.strip():
            raise ConfigError(
                f"--prompts {brief(text)}: expected original=PATH, the checkout of a published project"
            )
        paths.append(path.strip())
    found = {"original": paths or None, "allow": list(allow) or None}
    return {key: value for key, value in found.items() if value} or None


def read_mapping(path: Path) -> dict[str, Any]:
    """Read a YAML file of settings; an empty file has none.

    Raises:
        ConfigError: The file cannot be read, or is not a mapping.
    """
    try:
        with os_errors(ConfigError, f"{path}: cannot be read"):
            loaded: object = load_yaml(read_utf8(path, MOST_YAML))
    except ValueError as error:
        raise ConfigError(f"{path}: {' '.join(str(error).split())}") from None
    if loaded is not None and not isinstance(loaded, dict):
        raise ConfigError(f"{path}: expected a mapping of settings")
    return cast("dict[str, Any]", loaded or {})


OPTION_NAMES = {
    "base_urls": "base_url",
    "calibrations": "calibration",
    "judges": "judge",
    "protocols": "protocol",
    "qualifications": "qualification",
}
"""Names of options by their key in a run file, where the two differ."""


def validated(model: type[T], data: object, place: str, given: Mapping[str, Any] | None = None) -> T:
    """Return `data` as a model.

    Args:
        model: the model.
        data: values of a file and of options.
        place: the file; `options` if there is none.
        given: values of the options of `run`, nested as in the file; the message names the option of a value from it.

    Raises:
        ConfigError: a value is invalid; names the place and the key.
    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        steps = [str(step) for step in error.errors()[0]["loc"]]
        keys = steps[1:] if steps[:1] == ["claims"] else steps
        if given is not None and has_key(given, steps) and keys and keys[0] != "reports":
            problem = problem_of(error.errors()[0])
            option = "--" + OPTION_NAMES.get(keys[0], keys[0]).replace("_", "-")
            raise ConfigError(f"{option}{' ' if problem.startswith('must ') else ': '}{problem}") from None
        raise ConfigError(f"{place}: {first_problem(error, 'the settings', model)}") from None


def has_key(given: object, steps: Sequence[str], *, nulls: bool = False) -> bool:
    """Check whether nested mappings have a key, or a value on the way to it; without `nulls`, None is no value."""
    for step in steps:
        if not isinstance(given, dict):
            break
        if step not in given:
            return False
        given = cast("dict[str, object]", given)[step]
    return nulls or given is not None


def laid_over(below: dict[str, Any], above: dict[str, Any], *, nulls: bool = False) -> dict[str, Any]:
    """Return `below` overridden by `above`; without `nulls`, None in `above` means that an option was not given."""
    merged = dict(below)
    for key, value in above.items():
        if isinstance(value, dict):
            # An empty section is None in YAML. A value that is not a section is refused later.
            section: object = {} if merged.get(key) is None else merged[key]
            if isinstance(section, dict):
                section = laid_over(
                    cast("dict[str, Any]", section), cast("dict[str, Any]", value), nulls=nulls
                )
            merged[key] = section
        elif value is not None or nulls:
            merged[key] = value
    return merged


def varied_settings(configs: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Return, for each resolved config of a run, the settings in which the configs differ.

    Args:
        configs: `config` of each run's manifest.

    Returns:
        Values as JSON, texts without quotation marks, by their names for `--set`. All have the same names, in the order
        of the configs.
    """
    flat = [dict(_named(config)) for config in configs]
    names = dict.fromkeys(name for one in flat for name in one)
    varied = [name for name in names if len({one.get(name, ABSENT) for one in flat}) > 1]
    return [{name: one.get(name, ABSENT) for name in varied} for one in flat]


ABSENT = "–"
"""Value of a setting that a run does not have."""


def _named(value: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield the leaves of a config with their names."""
    for key, one in value.items():
        if isinstance(one, Mapping) and one:
            # The settings of protocols are named by the protocol alone: `deer.parts`.
            below = "" if not prefix and key == "settings" else f"{prefix}{key}."
            yield from _named(cast("Mapping[str, Any]", one), below)
        else:
            yield f"{prefix}{key}", one if isinstance(one, str) else json.dumps(one, ensure_ascii=False)
