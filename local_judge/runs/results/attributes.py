"""Reports of finished runs in groups, by the attributes of their tasks and systems, and the settings of their runs.

Invariant: reports without an attribute form a group of their own and are never left out; an attribute that no report
has is refused with a list of those that exist.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from local_judge.base.errors import InputError
from local_judge.base.rows import attributes_of, is_text, read_jsonl, row_id
from local_judge.runs.planning.config import varied_settings
from local_judge.runs.results.joining import run_names
from local_judge.runs.storage.manifest import judge_of, judges_of, read_manifest
from local_judge.runs.storage.records import CaseRecord, load_records
from local_judge.runs.storage.resume import is_finished, unfinished_records
from local_judge.runs.storage.store import RunStore
from local_judge.tasks.load import OTHER_KEYS

OWN = ("run", "system", "task", "report")
"""Attributes of every run, beside those of tasks and systems."""


class Attributes(NamedTuple):
    """Attributes from a file, which take precedence over those stored in a run."""

    tasks: Mapping[str, Mapping[str, str]]
    """Attributes by task id."""
    systems: Mapping[str, Mapping[str, str]]
    """Attributes by system name."""


NO_ATTRIBUTES = Attributes({}, {})


def load_attributes(path: Path) -> Attributes:
    """Read attributes from a JSONL file: a file of tasks, or rows with `id` or `system` and attributes.

    Raises:
        InputError: the file cannot be read, a row has neither `id` nor `system`, or two rows have the same one.
    """
    tasks: dict[str, Mapping[str, str]] = {}
    systems: dict[str, Mapping[str, str]] = {}
    for place, row in read_jsonl(path):
        identity, system = row_id(row, place), row.get("system")
        if identity is None and not (isinstance(system, str) and is_text(system)):
            raise InputError(f"{place}: attributes need the `id` of a task or the name of a `system`")
        kind, name = (tasks, identity) if identity is not None else (systems, str(system))
        if name in kind:
            raise InputError(f"{place}: {name!r} appears twice")
        kind[name] = dict(attributes_of(row, {*OTHER_KEYS, "system"}))
    return Attributes(tasks, systems)


class OpenRun(NamedTuple):
    """Run, and the judge whose scores are read."""

    name: str
    store: RunStore
    judge: str | None
    records: list[CaseRecord]
    """Reports; of an unfinished run, those that are complete so far."""
    finished: bool = True
    settings: Mapping[str, str] = {}
    """Settings in which the runs that were opened together differ, by their names for `--set`."""


def open_runs(paths: Sequence[Path], judge: str | None = None, *, unfinished: bool = False) -> list[OpenRun]:
    """Open runs, named by their directories, or by their paths if two directories have the same name.

    Args:
        paths: run directories.
        judge: one of several judges; None for the ensemble.
        unfinished: also open runs that are not finished.

    Raises:
        RunError: a directory contains no such run, or the run has no such judge.
        InputError: a directory is given twice.
    """
    names, stores = run_names(paths, "a run counts once"), [RunStore(path) for path in paths]
    varied = varied_settings([read_manifest(store)["config"] for store in stores])
    found: list[OpenRun] = []
    for name, store, settings in zip(names, stores, varied, strict=True):
        finished = is_finished(store) or not unfinished
        records = load_records(store) if finished else unfinished_records(store, judges_of(store))
        found.append(OpenRun(name, store, judge_of(store, judge), records, finished, settings))
    return found


class Entry(NamedTuple):
    """One report of one run."""

    run: str
    """Name of the run."""
    record: CaseRecord
    attributes: Mapping[str, str]
    """All attributes by name."""


def _entries(run: OpenRun, given: Attributes) -> Iterator[Entry]:
    """Yield the reports of a run with all of their attributes."""
    for record in run.records:
        own = {"run": run.name, "system": record.system, "task": record.task, "report": record.id}
        yield Entry(
            run.name,
            record,
            {
                name: value
                for name, value in {
                    **run.settings,
                    **record.attributes,
                    **given.tasks.get(record.task or record.id, {}),
                    **(given.systems.get(record.system, {}) if record.system is not None else {}),
                    **own,
                }.items()
                if value is not None
            },
        )


Key = tuple[str | None, ...]
"""Values of a group, in the order of the named attributes; None for reports without the attribute."""


def groups_of(
    runs: Sequence[OpenRun], by: Sequence[str], given: Attributes = NO_ATTRIBUTES
) -> dict[Key, list[Entry]]:
    """Group the reports of runs by the values of attributes, values in the order of their first reports.

    Raises:
        InputError: no attribute is named, one is named twice, or no report has one.
    """
    reports = [entry for run in runs for entry in _entries(run, given)]
    known = list(dict.fromkeys(name for report in reports for name in report.attributes))
    if not by or len(set(by)) < len(by):
        raise InputError(f"--by {','.join(by)}: name one or more attributes, each once: {_listed(known)}")
    for name in by:
        if reports and name not in known:
            raise InputError(f"--by {name}: no report has such an attribute; there are: {_listed(known)}")
    seen: list[dict[str | None, int]] = [{} for _ in by]
    groups: dict[Key, list[Entry]] = {}
    for report in reports:
        key = tuple(report.attributes.get(name) for name in by)
        for places, value in zip(seen, key, strict=True):
            places.setdefault(value, len(places))
        groups.setdefault(key, []).append(report)
    order = sorted(groups, key=lambda key: [places[value] for places, value in zip(seen, key, strict=True)])
    return {key: groups[key] for key in order}


def _listed(known: Sequence[str]) -> str:
    return ", ".join([*(name for name in OWN if name in known), *sorted(set(known) - set(OWN))])
