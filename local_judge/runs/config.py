"""The settings of a run.

Invariant: unknown keys are errors that name the file and the key; what the command line says wins over the file.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

from pydantic import BaseModel, Field, ValidationError

from local_judge.claims.config import ClaimsConfig
from local_judge.errors import ConfigError, brief
from local_judge.protocols.base import AnyProtocol, load_protocol
from serving.strict_yaml import load_yaml
from serving.types import Frozen

T = TypeVar("T", bound=BaseModel)

_DEEPEST = 20
"""Levels of a setting's name; the settings themselves have fewer."""


class RunConfig(Frozen):
    """Everything that changes what a run finds, but its inputs."""

    protocols: tuple[str, ...] = Field(default=("deer",), min_length=1)
    claims: ClaimsConfig = ClaimsConfig()
    reasks: int = Field(default=2, ge=0, le=5)
    """How often an unanswered item is asked for again."""
    date: dt.date | None = None
    """The day on which the reports are evaluated; what a task leaves open is filled from it."""
    settings: dict[str, dict[str, Any]] = Field(default_factory=dict[str, dict[str, Any]])
    """Of the protocols, by name; each protocol says what can be set."""


def settled(config: RunConfig) -> RunConfig:
    """`config` with what it leaves to the protocols filled in, as the manifest records it.

    Raises:
        ConfigError: an unknown protocol, or settings that it does not take, or of one that is not run.
    """
    settings = {
        name: load_protocol(name, config.settings.get(name)).settings.model_dump(mode="json")
        for name in config.protocols
    }
    idle = [name for name in config.settings if name not in config.protocols]
    if idle:
        raise ConfigError(f"settings: {idle[0]!r} is not among the protocols to run")
    return config.model_copy(update={"settings": settings})


def chosen_protocols(config: RunConfig) -> list[AnyProtocol]:
    """The protocols to run, as they are set."""
    return [load_protocol(name, config.settings.get(name)) for name in config.protocols]


def parse_settings(texts: Sequence[str]) -> dict[str, Any]:
    """`deer.scale=5` and the like as the nested mapping that a config file would hold; the values are YAML.

    Raises:
        ConfigError: a text without `protocol.key=`, or whose value is no YAML.
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


def load_config(
    path: Path | None,
    overrides: dict[str, Any],
    *,
    completed: Callable[[RunConfig], RunConfig] = lambda config: config,
) -> RunConfig:
    """The config of a YAML file, with `overrides` (nested, None values ignored) laid over it, settled.

    Args:
        path: the file.
        overrides: of the command line.
        completed: fills in what neither file nor overrides have chosen, before the defaults do.

    Raises:
        ConfigError: the file cannot be read, is not a mapping, or has an unknown key or a value out of range.
    """
    data: dict[str, Any] = {}
    if path is not None:
        try:
            loaded: object = load_yaml(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ConfigError(f"{path}: {' '.join(str(error).split())}") from None
        if loaded is not None and not isinstance(loaded, dict):
            raise ConfigError(f"{path}: expected a mapping of settings")
        data = cast("dict[str, Any]", loaded or {})
    place = str(path) if path else "options"
    laid = laid_over(data, {key: value for key, value in overrides.items() if key != "settings"})
    settings = overrides.get("settings")
    if settings:
        laid = laid_over(laid, {"settings": settings}, nulls=True)
    return settled(completed(validated(RunConfig, laid, place)))


def validated(model: type[T], data: object, place: str) -> T:
    """`data` as a model.

    Raises:
        ConfigError: one line that names the place, the key and what is wrong with it.
    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"])) or "the whole"
        if first["type"] == "extra_forbidden":
            raise ConfigError(f"{place}: unknown key {key!r}") from None
        raise ConfigError(f"{place}: {key}: {first['msg']} (got {brief(first['input'])})") from None


def laid_over(below: dict[str, Any], above: dict[str, Any], *, nulls: bool = False) -> dict[str, Any]:
    """`above` over `below`. `nulls`: whether None is a value; of an option, it says that it was not given."""
    merged = dict(below)
    for key, value in above.items():
        if isinstance(value, dict):
            # A section that a file leaves empty is None in YAML. One that is no section is refused as it stands.
            section: object = {} if merged.get(key) is None else merged[key]
            if isinstance(section, dict):
                section = laid_over(
                    cast("dict[str, Any]", section), cast("dict[str, Any]", value), nulls=nulls
                )
            merged[key] = section
        elif value is not None or nulls:
            merged[key] = value
    return merged
