"""Run file: a whole evaluation in one YAML file, which `local-judge run FILE` evaluates.

Invariants: unknown keys are errors that name the file and the key; options of the command line override the file, and
the file overrides the environment; relative paths in the file start at its folder, and `~` is the user's home.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any, cast

import yaml
from pydantic import Field, StringConstraints

from local_judge.base.errors import ConfigError, SettingError
from local_judge.base.model import Frozen
from local_judge.protocols.base import path_settings
from local_judge.runs.planning.config import RunConfig, has_key, laid_over, read_mapping, settled, validated
from local_judge.tasks.files import TaskFiles
from local_judge.tasks.layouts import BATCH_SUFFIXES
from serving.engines import PERSISTENT, Persistence

BATCH_KEY = "input_files"
"""Key that every batch file of LiveResearchBench has."""

DRAWS = 1000
"""Maximum number of draws."""

MACHINE_KEYS = frozenset(
    ("out", "base_urls", "serve", "offline", "wait_for_server", "attempts", "fail_after")
)
"""Keys that say where and how persistently judges are asked, which no result depends on."""

_PATHS = (
    *("reports", "out", "snapshot", "ledger", "calibrations", "qualifications"),
    *TaskFiles.model_fields,
)
"""Keys whose values are paths."""


class Selection(Frozen):
    """Reports of some systems on some tasks."""

    systems: tuple[str, ...] = ()
    """Systems; empty for all. An empty name stands for reports whose input names no system."""
    tasks: tuple[str, ...] = ()
    """Ids of tasks; empty for all."""


class RunFile(TaskFiles, RunConfig):
    """Inputs, judges, settings and output of a run."""

    reports: tuple[Path, ...] = ()
    """Reports: files and folders, in this order."""
    system: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)] | None = None
    """System that wrote the reports, where the input names none."""
    select: tuple[Selection, ...] = ()
    """Reports to evaluate: those that one of these selections has; all if there is none."""
    limit: int | None = Field(default=None, ge=1)
    """Number of reports to evaluate, from the first selected one on."""
    snapshot: Path | None = None
    """Snapshot directory; needed if a protocol reads pages."""
    judges: tuple[str, ...] = ()
    """Presets by name or file."""
    draw: int = Field(default=0, ge=0, lt=DRAWS)
    """Number of the draw: judges with a temperature above 0 answer each draw with other random seeds."""
    extractor: str | None = None
    """Judge that extracts the claims of all judges."""
    base_urls: tuple[str, ...] = ()
    """URL of a server, or NAME=URL for one of several judges."""
    serve: bool = False
    """Start the judge's servers, then stop them."""
    calibrations: tuple[Path, ...] = ()
    """Calibrations of a judge (`local-judge judge calibrate --out`)."""
    qualifications: tuple[Path, ...] = ()
    """Qualification of a judge (`qualification.json` of `local-judge judge qualify`), shown with the
    results."""
    offline: bool = True
    """Refuse every connection except to judge and ledger."""
    wait_for_server: float = Field(default=PERSISTENT.wait_seconds / 60, ge=0)
    """Minutes to wait for a server that stops answering; 0 does not wait."""
    attempts: int = Field(default=PERSISTENT.attempts, ge=1)
    """Maximum number of attempts per call."""
    fail_after: int | None = Field(default=None, ge=1)
    """Stop after this number of failed calls to one judge."""
    out: Path | None = None
    """Run directory."""
    ledger: Path | None = None
    """File for replies; by default in or beside --out."""

    @property
    def config(self) -> RunConfig:
        """Settings that can change results; those that are not given stay unset, so that other defaults can apply."""
        given = self.model_fields_set & RunConfig.model_fields.keys()
        return RunConfig.model_validate({name: getattr(self, name) for name in given})

    @property
    def files(self) -> TaskFiles:
        """Files that belong to the tasks."""
        return TaskFiles.model_validate({name: getattr(self, name) for name in TaskFiles.model_fields})

    @property
    def persistence(self) -> Persistence:
        """Limits on retries and on waiting for servers."""
        return Persistence(self.attempts, 60 * self.wait_for_server, self.fail_after)

    def as_yaml(self) -> str:
        """Return the text of a file that says the same in any folder: its paths are absolute."""
        dumped = with_paths(self.model_dump(mode="json"), Path.cwd())
        return yaml.safe_dump(dumped, sort_keys=False, allow_unicode=True)


def recorded_run(file: RunFile) -> dict[str, Any]:
    """Return the settings of a run that its manifest records beside `config`, as plain data."""
    return file.model_dump(mode="json", exclude={*MACHINE_KEYS, *RunConfig.model_fields}, exclude_none=True)


def is_run_file(path: Path) -> bool:
    """Check whether a path is a run file: a YAML file other than LiveResearchBench's batch files.

    Raises:
        ConfigError: a YAML file that cannot be read.
    """
    return path.suffix.lower() in BATCH_SUFFIXES and BATCH_KEY not in read_mapping(path)


def load_run_file(
    path: Path | None, overrides: Mapping[str, Any], defaults: Mapping[str, Any] | None = None
) -> RunFile:
    """Return a run file, overridden by options.

    Args:
        path: the YAML file; None for options alone.
        overrides: values from the command line, nested as in the file; None is ignored except in `settings`.
        defaults: values from the environment, for keys that neither the file nor the command line has.

    Raises:
        ConfigError: the file cannot be read, is not a mapping, or has an unknown key or an invalid value.
    """
    file = _laid(path, overrides, defaults)
    with setting_places(path, overrides):
        settled(file.config)
    return file


def _laid(
    path: Path | None, overrides: Mapping[str, Any], defaults: Mapping[str, Any] | None = None
) -> RunFile:
    """Return a run file whose settings of protocols are not checked; see `load_run_file`."""
    data = {} if path is None else with_paths(read_mapping(path), path.parent)
    data = {**(defaults or {}), **{key: value for key, value in data.items() if value is not None}}
    laid = laid_over(data, {key: value for key, value in overrides.items() if key != "settings"})
    if overrides.get("settings"):
        laid = laid_over(laid, {"settings": overrides["settings"]}, nulls=True)
    return validated(RunFile, laid, str(path) if path else "options", overrides)


def load_config(
    path: Path | None,
    overrides: Mapping[str, Any],
    *,
    completed: Callable[[RunConfig], RunConfig] = lambda config: config,
) -> RunConfig:
    """Return the settled settings of a run file, overridden by options.

    Args:
        path: the file; its inputs, judges and output are ignored.
        overrides: as in `load_run_file`.
        completed: fills in settings that neither file nor overrides choose, before the defaults apply.
    """
    with setting_places(path, overrides):
        return settled(completed(_laid(path, overrides).config))


@contextmanager
def setting_places(path: Path | None, overrides: Mapping[str, Any]) -> Generator[None]:
    """Name the option `--set` or the file in the error of a setting."""
    try:
        yield
    except SettingError as error:
        if overrides.get("settings") and has_key(overrides["settings"], error.steps, nulls=True):
            raise ConfigError(f"--set {error.problem}") from None
        if path is not None:
            raise ConfigError(f"{path}: {error}") from None
        raise


def with_paths(data: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return the values of a run file with `~` replaced, and relative paths joined to `folder`."""

    def joined(value: object) -> object:
        if isinstance(value, list):
            return [joined(one) for one in cast("list[object]", value)]
        if not isinstance(value, str):
            return value
        return str(folder / _expanded(value))

    def preset(value: object) -> object:
        is_file = isinstance(value, str) and ("/" in value or value.endswith((".yaml", ".yml")))
        return joined(value) if is_file else value

    found = {key: joined(value) if key in _PATHS else value for key, value in data.items()}
    if isinstance(data.get("judges"), list):
        found["judges"] = [preset(one) for one in cast("list[object]", data["judges"])]
    if isinstance(data.get("prompts"), dict):
        prompts = cast("dict[str, object]", data["prompts"])
        found["prompts"] = {
            key: joined(value) if key == "original" else value for key, value in prompts.items()
        }
    if isinstance(data.get("settings"), dict):
        settings = cast("dict[str, object]", data["settings"])
        found["settings"] = {name: _with_path_settings(name, own, joined) for name, own in settings.items()}
    return found


def _with_path_settings(name: str, settings: object, joined: Callable[[object], object]) -> object:
    """Return the settings of a protocol with its paths joined; those of an unknown one are refused elsewhere."""
    with suppress(ConfigError):
        for steps in path_settings(name):
            settings = _changed_at(settings, steps, joined)
    return settings


def _changed_at(settings: object, steps: Sequence[str], change: Callable[[object], object]) -> object:
    """Return nested settings with the value at `steps` changed, where there is one."""
    if not steps:
        return change(settings)
    if not isinstance(settings, dict) or steps[0] not in settings:
        return cast("object", settings)
    below = cast("dict[str, object]", settings)
    return {**below, steps[0]: _changed_at(below[steps[0]], steps[1:], change)}


def _expanded(path: str) -> Path:
    """Return a path with the user's home for a leading `~`; the path itself where there is no such user."""
    with suppress(RuntimeError):
        return Path(path).expanduser()
    return Path(path)
