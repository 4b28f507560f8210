"""Sweep file: many runs in one YAML file, which `local-judge sweep FILE` evaluates.

The file has the keys of a run file, which hold for all runs, and a section `sweep` with the axes. The runs are the
product of judges, settings and draws; the cells of a run are the product of systems, tasks and protocols.

Invariants: a sweep file expands to run files, and nothing else decides what a run does; the name of a run has its
protocols only if those of its judges, settings and draw have different reports, so that more judges, settings, draws,
protocols, systems or tasks keep the names of the runs; unknown keys and values are errors of one line that names the
file, the key and a near name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from itertools import product
from pathlib import Path
from typing import Annotated, Any, NamedTuple, cast

from pydantic import BeforeValidator, Field

from local_judge.base.errors import ConfigError, InputError, brief
from local_judge.base.model import Frozen
from local_judge.protocols.base import protocol_names
from local_judge.runs.execution.judges import PLAIN_NAME
from local_judge.runs.planning.config import laid_over, read_mapping, settled, validated
from local_judge.runs.planning.inputs import RawReport, task_of
from local_judge.runs.planning.run_file import (
    DRAWS,
    MACHINE_KEYS,
    RunFile,
    Selection,
    setting_places,
    with_paths,
)
from local_judge.runs.sweeps.folder import LEDGER, RUNS

DEFAULT = "default"
"""Name of the settings of a sweep without `settings`; no run's name contains it."""

_SWEEP_KEYS = MACHINE_KEYS | {
    *("reports", "system", "limit", "select", "tasks", "judges", "protocols", "draw", "ledger")
}
"""Keys of a run file that are the same for all runs of a sweep, or that its axes set."""


def _as_list(value: object) -> object:
    return [value] if isinstance(value, str | int) else value


Names = Annotated[tuple[str, ...], BeforeValidator(_as_list)]
Ensemble = Annotated[tuple[str, ...], BeforeValidator(_as_list), Field(min_length=1)]
"""Judges of one run: presets by name or file."""


class Cells(Frozen):
    """Some cells of a sweep: those with one of the values of each axis that is given."""

    systems: Names = ()
    """Systems."""
    tasks: Names = ()
    """Ids of tasks."""
    protocols: Names = ()
    """Protocols."""
    judges: Names = ()
    """Names of judges; `a+b` for runs of both together."""
    settings: Names = ()
    """Names of settings."""
    draws: Annotated[tuple[int, ...], BeforeValidator(_as_list)] = ()
    """Numbers of draws, from 0."""


class Override(Frozen):
    """Keys of a run file that are set for some runs."""

    judges: Names = ()
    """Names of judges; `a+b` for runs of both together."""
    settings: Names = ()
    """Names of settings."""
    draws: Annotated[tuple[int, ...], BeforeValidator(_as_list)] = ()
    """Numbers of draws, from 0."""
    set: dict[str, Any]
    """Keys of a run file."""


class Axes(Frozen):
    """Axes of a sweep."""

    systems: Names = ()
    """Systems whose reports are evaluated; all if empty."""
    tasks: Names = ()
    """Ids of the tasks whose reports are evaluated; all if empty."""
    protocols: Names = ()
    """Protocols; those of the run file's keys if empty."""
    judges: tuple[Ensemble, ...] = ()
    """Judges, each with runs of its own; a list of judges is an ensemble with runs of its own. If empty, the
    ensemble of the run file's `judges`."""
    settings: dict[str, dict[str, Any] | None] = Field(default_factory=dict[str, dict[str, Any] | None])
    """Keys of a run file, by the name of the settings."""
    draws: int = Field(default=1, ge=1, le=DRAWS)
    """Number of draws of each run."""
    exclude: tuple[Cells, ...] = ()
    """Cells that are left out."""
    include: tuple[Cells, ...] = ()
    """Cells that are added, after `exclude`; an axis that is not given has all of its values."""
    overrides: tuple[Override, ...] = ()
    """Keys of a run file for some runs; later ones take precedence."""


class SweepFile(NamedTuple):
    """A sweep file as it was read."""

    path: Path
    base: RunFile
    """Keys that hold for all runs."""
    axes: Axes


class NamedRun(NamedTuple):
    """One run of a sweep."""

    name: str
    """Name of its folder."""
    file: RunFile


def load_sweep_file(
    path: Path, overrides: Mapping[str, Any], defaults: Mapping[str, Any] | None = None
) -> SweepFile:
    """Read a sweep file.

    Args:
        path: the YAML file.
        overrides: values from the command line for keys of a run file; None is ignored.
        defaults: values from the environment, for keys that neither the file nor the command line has.

    Raises:
        ConfigError: the file cannot be read, or has an unknown key or an invalid value.
    """
    read = read_mapping(path)
    if "sweep" not in read:
        raise ConfigError(
            f"{path}: has no section `sweep`; a run file is evaluated by `local-judge run {path}`"
        )
    given = read.pop("sweep")
    said = {key: value for key, value in with_paths(read, path.parent).items() if value is not None}
    data = {**(defaults or {}), **said}
    base = validated(RunFile, laid_over(data, dict(overrides)), str(path), overrides)
    axes = validated(Axes, {} if given is None else given, f"{path}: sweep")
    axes = axes.model_copy(
        update={
            "judges": tuple(
                _presets(names, path.parent)
                for names in axes.judges or ((base.judges,) if base.judges else ())
            ),
            "protocols": axes.protocols or base.protocols,
            "settings": {
                name: with_paths(keys or {}, path.parent)
                for name, keys in (axes.settings or {DEFAULT: {}}).items()
            },
            "include": tuple(
                one.model_copy(update={"judges": _presets(one.judges, path.parent)}) for one in axes.include
            ),
            "overrides": tuple(
                one.model_copy(update={"set": with_paths(one.set, path.parent)}) for one in axes.overrides
            ),
        }
    )
    found = SweepFile(path, base, axes)
    _check(found)
    return found


def _presets(names: Sequence[str], folder: Path) -> tuple[str, ...]:
    """Return judges with the paths of presets joined to `folder`."""
    return tuple(cast("list[str]", with_paths({"judges": list(names)}, folder)["judges"]))


def _check(file: SweepFile) -> None:
    """Check what needs no reports."""
    axes, place = file.axes, f"{file.path}: sweep"
    if file.base.out is None:
        raise ConfigError(f"{file.path}: give the folder of the sweep as `out`")
    if file.base.draw or file.base.select:
        raise ConfigError(f"{file.path}: {'draw' if file.base.draw else 'select'}: use the axes of `sweep`")
    names = [_judges_name(ensemble) for ensemble in axes.judges]
    named = {f"{place}.judges": names}
    named |= {f"{place}.include.{number}.judges": one.judges for number, one in enumerate(axes.include)}
    for here, judges in named.items():
        for name in (_judges_name([judge]) for judge in judges):
            if not PLAIN_NAME.fullmatch(name):
                raise ConfigError(f"{here}: a folder is named after {brief(name)}; use letters and digits")
    _check_names(names, names, f"{place}.judges")
    if not names and not any(cells.judges for cells in axes.include):
        raise ConfigError(f"{place}.judges is missing: name at least one judge")
    _check_names(axes.protocols, protocol_names(), f"{place}.protocols", "protocol")
    for name, keys in axes.settings.items():
        if not PLAIN_NAME.fullmatch(name):
            raise ConfigError(
                f"{place}.settings.{brief(name)}: a folder is named after it; use letters and digits"
            )
        _check_keys(keys or {}, f"{place}.settings.{name}")
    for number, one in enumerate(axes.overrides):
        _check_keys(one.set, f"{place}.overrides.{number}.set")
    _check_rules(axes, names, place)


def _check_rules(axes: Axes, judges: Sequence[str], place: str) -> None:
    """Check the values that rules name; systems and tasks are checked later."""
    settings = list(axes.settings)
    judges = [*judges, *(_judges_name([name]) for one in axes.include for name in one.judges)]
    for kind in ("exclude", "overrides"):
        for number, one in enumerate(cast("Sequence[Cells | Override]", getattr(axes, kind))):
            here = f"{place}.{kind}.{number}"
            _check_values(one.judges, judges, f"{here}.judges", "judge")
            _check_values(one.settings, settings, f"{here}.settings", "settings")
            _check_draws(one.draws, axes.draws, f"{here}.draws")
    for number, one in enumerate(axes.exclude):
        _check_values(one.protocols, axes.protocols, f"{place}.exclude.{number}.protocols", "protocol")
    for number, one in enumerate(axes.include):
        here = f"{place}.include.{number}"
        _check_names(one.protocols, protocol_names(), f"{here}.protocols", "protocol")
        _check_values(one.settings, settings, f"{here}.settings", "settings")
        _check_draws(one.draws, DRAWS, f"{here}.draws")


def _check_keys(keys: Mapping[str, Any], place: str) -> None:
    known = [name for name in RunFile.model_fields if name not in _SWEEP_KEYS]
    for key in keys:
        if key in _SWEEP_KEYS:
            raise ConfigError(
                f"{place}.{key}: is the same for all runs; set it outside `sweep`, or by an axis"
            )
        if key not in known:
            raise ConfigError(f"{place}.{key}: unknown key{_hint(key, known)}")


def _check_names(names: Sequence[str], known: Sequence[str], place: str, what: str = "") -> None:
    """Check that names are known and different."""
    _check_values(names, known, place, what)
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"{place}: {name} is given twice")


def _check_values(names: Iterable[str], known: Sequence[str], place: str, what: str) -> None:
    for name in names:
        if name not in known:
            listed = f"; there are: {', '.join(known[:_LISTED])}{', …' if len(known) > _LISTED else ''}"
            raise ConfigError(f"{place}: no {what} {brief(name)}{_hint(name, known) or listed}")


def _check_draws(draws: Iterable[int], n: int, place: str) -> None:
    for draw in draws:
        if not 0 <= draw < n:
            raise ConfigError(f"{place}: no draw {draw}; draws are numbered from 0 to {n - 1}")


_LISTED = 10
"""Maximum number of known names in a message."""


def _hint(name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name, known, 1)
    return f"; did you mean {near[0]}?" if near else ""


def _judges_name(ensemble: Sequence[str]) -> str:
    """Return the name of judges as the names of runs and the rules have it."""
    return "+".join(
        Path(name).stem if "/" in name or name.endswith((".yaml", ".yml")) else name for name in ensemble
    )


Item = tuple[str, str]
"""System and task of a report."""
_RunKey = tuple[str, str, int]
"""Judges, settings and draw of a run."""


def expanded(file: SweepFile, reports: Sequence[RawReport]) -> tuple[NamedRun, ...]:
    """Return the runs of a sweep, in the order of its axes.

    Protocols with the same reports are evaluated in one run.

    Args:
        file: the sweep.
        reports: all reports that the file names.

    Raises:
        ConfigError: a rule names a system or task that no report has, a setting is invalid, or two runs would have the
            same name.
        InputError: no cell is left.
    """
    axes, items = file.axes, list(dict.fromkeys((one.system or "", task_of(one)) for one in reports))
    _check_items(file, items)
    judges = {_judges_name(ensemble): ensemble for ensemble in axes.judges}
    cells: dict[_RunKey, dict[str, dict[Item, None]]] = {}

    def add(run: _RunKey, protocol: str, found: Iterable[Item]) -> None:
        cells.setdefault(run, {}).setdefault(protocol, {}).update(dict.fromkeys(found))

    axis = Cells(systems=axes.systems, tasks=axes.tasks)
    wanted = _matching(items, axis)
    for *run, protocol in product(judges, axes.settings, range(axes.draws), axes.protocols):
        key = cast("_RunKey", tuple(run))
        rules = [rule for rule in axes.exclude if _applies(rule, key, protocol)]
        left = wanted
        for rule in rules:
            gone = set(_matching(left, rule))
            left = [item for item in left if item not in gone]
        if left:
            add(key, protocol, left)
    for one in axes.include:
        for name in one.judges:
            label = _judges_name([name])
            if judges.setdefault(label, (name,)) != (name,) and name != label:
                raise ConfigError(f"{file.path}: two presets are called {label!r}; rename one of the files")
        runs = product(
            [_judges_name([name]) for name in one.judges] or judges,
            one.settings or axes.settings,
            one.draws or range(axes.draws),
        )
        for run, protocol in product(runs, one.protocols or axes.protocols):
            add(run, protocol, _matching(items, one))
    if not cells:
        raise InputError(f"{file.path}: sweep: no cell is left")
    return _named_runs(file, judges, cells, items)


def _check_items(file: SweepFile, items: Sequence[Item]) -> None:
    """Check the names of systems and tasks."""
    systems, tasks = (list(dict.fromkeys(names)) for names in zip(*items, strict=True))
    rules = {"sweep": file.axes}
    rules |= {f"sweep.exclude.{number}": one for number, one in enumerate(file.axes.exclude)}
    rules |= {f"sweep.include.{number}": one for number, one in enumerate(file.axes.include)}
    for place, rule in rules.items():
        _check_values(rule.systems, systems, f"{file.path}: {place}.systems", "report is of a system")
        _check_values(rule.tasks, tasks, f"{file.path}: {place}.tasks", "report is on a task")


def _matching(items: Sequence[Item], cells: Cells) -> Sequence[Item]:
    if not cells.systems and not cells.tasks:
        return items
    systems, tasks = set(cells.systems), set(cells.tasks)
    return [
        (system, task)
        for system, task in items
        if (not systems or system in systems) and (not tasks or task in tasks)
    ]


def _applies(rule: Cells | Override, run: _RunKey, protocol: str | None = None) -> bool:
    judges, settings, draw = run
    return (
        (not rule.judges or judges in rule.judges)
        and (not rule.settings or settings in rule.settings)
        and (not rule.draws or draw in rule.draws)
        and (not isinstance(rule, Cells) or not rule.protocols or protocol in rule.protocols)
    )


def _named_runs(
    file: SweepFile,
    judges: Mapping[str, Sequence[str]],
    cells: Mapping[_RunKey, Mapping[str, Mapping[Item, None]]],
    items: Sequence[Item],
) -> tuple[NamedRun, ...]:
    used = {protocol for run in cells.values() for protocol in run}
    found: dict[str, NamedRun] = {}
    for run, by_protocol in cells.items():
        groups: dict[tuple[Item, ...], list[str]] = {}
        for protocol, chosen in by_protocol.items():
            groups.setdefault(tuple(chosen), []).append(protocol)
        for chosen, protocols in groups.items():
            label, settings, draw = run
            parts = [
                *([] if settings == DEFAULT else [settings]),
                *([f"draw{draw}"] if draw else []),
                *(["+".join(protocols)] if len(groups) > 1 else []),
            ]
            name = ".".join([label, *parts])
            if name in found:
                raise ConfigError(
                    f"{file.path}: sweep: two runs are called {name}; rename one of the settings"
                )
            keys = {
                "judges": list(judges[label]),
                "protocols": protocols,
                "select": [one.model_dump(mode="json") for one in selections(chosen, items)],
                "draw": draw,
            }
            found[name] = NamedRun(name, _run_file(file, run, name, keys, used))
    return tuple(found.values())


def selections(chosen: Sequence[Item], items: Sequence[Item]) -> list[Selection]:
    """Return selections of the chosen systems and tasks: none for all items, else one for each set of systems."""
    if len(chosen) == len(items):
        return []
    every = _systems_by_task(items)
    by_systems: dict[tuple[str, ...], list[str]] = {}
    for task, systems in _systems_by_task(chosen).items():
        by_systems.setdefault(() if systems == every[task] else tuple(systems), []).append(task)
    return [Selection(systems=systems, tasks=tuple(tasks)) for systems, tasks in by_systems.items()]


def _systems_by_task(items: Sequence[Item]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for system, task in items:
        found.setdefault(task, []).append(system)
    return {task: sorted(systems) for task, systems in found.items()}


def _run_file(file: SweepFile, run: _RunKey, name: str, keys: Mapping[str, Any], used: set[str]) -> RunFile:
    """Return the run file of one run."""
    base, own = file.base, [_judges_name([judge]) for judge in keys["judges"]]
    assert base.out is not None
    data = base.model_dump(mode="json", exclude_unset=True)
    layers = [(f"sweep.settings.{run[1]}", file.axes.settings[run[1]] or {})]
    layers += [
        (f"sweep.overrides.{number}.set", one.set)
        for number, one in enumerate(file.axes.overrides)
        if _applies(one, run)
    ]
    place = str(file.path)
    for here, layer in layers:
        place = f"{file.path}: {here}" if layer else place
        data = laid_over(data, layer)
        validated(RunFile, data, place)
    settings = data.get("settings", {})
    for protocol in settings:
        if protocol not in used:
            raise ConfigError(f"{place}: settings.{protocol}: no run of the sweep has this protocol")
    data |= {
        **keys,
        "settings": {protocol: said for protocol, said in settings.items() if protocol in keys["protocols"]},
        "base_urls": [url for url in base.base_urls if _is_for(url, own)],
        "extractor": base.extractor if base.extractor in own else None,
        "out": str(base.out / RUNS / name),
        "ledger": base.ledger or base.out / LEDGER,
    }
    found = validated(RunFile, data, place)
    with setting_places(Path(place), {}):
        settled(found.config)
    return found


def _is_for(base_url: str, judges: Sequence[str]) -> bool:
    """Check whether a URL is for one of the judges, or for any."""
    name, equals, _ = base_url.partition("=")
    return not equals or "://" in name or name in judges
