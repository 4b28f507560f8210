"""Sweep: many runs over the same reports in one folder (see `runs.sweep_folder`).

Invariants: all runs of a judge share its client and its scheduler, and work on the same reports at the same time; a
finished run asks nothing, and needs none of its judges; nothing is deleted: a run whose reports, settings or judges the
sweep file no longer has moves to `kept`. The files of a run are those that the run would write alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from local_judge.base.errors import ConfigError, RunError, os_errors
from local_judge.base.files import read_file
from local_judge.judge.judge import Judge
from local_judge.runs.execution.execute import Gates, first_error
from local_judge.runs.execution.job import (
    Inputs,
    Job,
    Watch,
    Watcher,
    check_job,
    is_pending,
    job_of,
    judges_in_turn,
    manifest_of,
    run_job,
    without_finished,
)
from local_judge.runs.execution.judges import (
    JudgeSpec,
    judge_like,
    open_judges,
    replayed,
    say,
    with_identities,
)
from local_judge.runs.planning.calibrations import check_given
from local_judge.runs.planning.run_file import RunFile
from local_judge.runs.storage.lock import locked
from local_judge.runs.storage.manifest import VERSIONS, changed, existing_manifest, extends, judges_of
from local_judge.runs.storage.records import CaseRecord
from local_judge.runs.storage.resume import is_finished, kept_of
from local_judge.runs.storage.store import RunStore
from local_judge.runs.sweeps.file import SweepFile, expanded, load_sweep_file
from local_judge.runs.sweeps.folder import KEPT, LEDGER, RUNS, SHARDS, SWEEP, SweepManifest, sweep_manifest
from local_judge.runs.sweeps.grouping import planned
from serving.presets import Preset

REPORTS_IN_FLIGHT = 64
"""Reports of a sweep that a judge examines concurrently, so that many claims about one page are known at a time."""


@dataclass(frozen=True)
class SweepRun:
    """One run of an open sweep."""

    name: str
    file: RunFile
    job: Job


@dataclass(frozen=True)
class Sweep:
    """Sweep whose inputs are open."""

    file: SweepFile
    root: Path
    ledger: Path
    runs: tuple[SweepRun, ...]
    inputs: Inputs

    @property
    def reports(self) -> int:
        """Number of reports over all runs."""
        return sum(len(run.job.reports) for run in self.runs)


def open_sweep(
    path: Path,
    overrides: Mapping[str, Any],
    defaults: Mapping[str, Any] | None = None,
    *,
    replay: bool = False,
    allow_preset_code: bool = False,
) -> Sweep:
    """Read a sweep file, expand it to runs and open their inputs.

    Args:
        path: the sweep file.
        overrides: values from the command line for keys of a run file; None is ignored.
        defaults: values from the environment, for keys that neither the file nor the command line has.
        replay: answer from the ledger only.
        allow_preset_code: as in `job_of`.

    Raises:
        ConfigError: the file or a setting is invalid, or a report lacks what a protocol needs.
        InputError: a report or a file of tasks cannot be used.
    """
    file, inputs = load_sweep_file(path, overrides, defaults), Inputs()
    assert file.base.out is not None
    named = expanded(file, inputs.reports(file.base))
    options: Any = {"replay": replay, "inputs": inputs, "allow_preset_code": allow_preset_code}
    runs = tuple(SweepRun(name, one, replace(job_of(one, **options), grows=True)) for name, one in named)
    presets: dict[str, Preset] = {}
    for run in runs:
        check_job(run.job)
        for spec in run.job.judge_specs:
            # Runs share the client of a judge by its name; only draws may differ, in their seeds.
            sampling = spec.preset.sampling.model_copy(update={"seed": 0})
            preset = spec.preset.model_copy(update={"sampling": sampling})
            if presets.setdefault(spec.name, preset) != preset:
                raise ConfigError(f"{path}: two presets are called {spec.name!r}; rename one of the files")
            if run.file.draw and spec.preset.sampling.temperature == 0:
                raise ConfigError(
                    f"{path}: sweep.draws: judge {spec.name!r} has temperature 0, so that its draws are equal; set "
                    "sampling.temperature in its preset, or leave out draws"
                )
    return Sweep(file, file.base.out, file.base.ledger or file.base.out / LEDGER, runs, inputs)


async def run_sweep(sweep: Sweep, watch: Watch) -> dict[str, list[CaseRecord]]:
    """Evaluate all runs of a sweep into its folder, and return their records by name.

    Raises:
        RunError: the folder is not a sweep's, or another process is writing to it.
        EngineError, LedgerError: as `run_job`.
    """
    with locked(sweep.root):
        _claim(sweep)
        done = {run.name: await _finished(run) for run in sweep.runs}
        left = [run for run in sweep.runs if done[run.name] is None]
        found = {name: records for name, records in done.items() if records is not None}
        if any(spec.serve and not run.job.replay for run in left for spec in run.job.judge_specs):
            found |= await _run_in_turn(left, watch)
        elif left:
            jobs = [replace(run, job=await _without_idle(run.job)) for run in left]
            found |= await _run_together(jobs, watch)
        return {run.name: found[run.name] for run in sweep.runs}


def _claim(sweep: Sweep) -> None:
    """Write the sweep's files, and those of its runs."""
    store = RunStore(sweep.root)
    is_inside = sweep.ledger.is_relative_to(sweep.root)
    ledger = sweep.ledger.relative_to(sweep.root) if is_inside else sweep.ledger.absolute()
    if sweep_manifest(sweep.root) is None:
        own = {SHARDS, ledger.parts[0], *(f"{ledger}{suffix}" for suffix in ("-wal", "-shm"))}
        if any(path.name not in own and not path.name.startswith(".") for path in sweep.root.iterdir()):
            raise RunError(f"{sweep.root}: not empty and not a sweep; choose another --out")
    with os_errors(ConfigError, f"{sweep.file.path}: cannot be read"):
        content = read_file(sweep.file.path)
    manifest = SweepManifest(
        file_sha256=hashlib.sha256(content).hexdigest(),
        runs=tuple(run.name for run in sweep.runs),
        ledger=str(ledger),
    )
    store.write_json(SWEEP, manifest)  # first: after a kill, it makes the folder a sweep's
    store.write_text("sweep.yaml", content.decode())
    for run in sweep.runs:
        store.write_text(f"{RUNS}/{run.name}.yaml", run.file.as_yaml())


async def _finished(run: SweepRun) -> list[CaseRecord] | None:
    """Return the records of a run that is finished and complete; None for another. No judge is asked."""
    job = run.job
    there = existing_manifest(job.store)
    if there is None or "seal" not in there or not is_finished(job.store):
        return None
    known = with_identities(job.judge_specs, job.ledger, job.known_identities())
    if any(spec.recorded is None for spec in known):
        return None
    async with replace(job, judge_specs=known, replay=True).judges() as judges:
        manifest = await manifest_of(job, judges)
    if changed(there, manifest) or any(there.get(key) != manifest[key] for key in VERSIONS):
        return None
    kept = kept_of(job.store, judges_of(job.store))
    return list(kept.records.values()) if kept.whole else None


async def _without_idle(job: Job) -> Job:
    """Return a job in which judges that have nothing to answer, or of a replay, are replayed."""
    if not job.replay:
        return await without_finished(job)
    return replace(job, judge_specs=replayed(job.judge_specs, job.ledger, job.known_identities()))


async def _run_together(runs: Sequence[SweepRun], watch: Watch) -> dict[str, list[CaseRecord]]:
    """Evaluate runs with all of their judges open."""
    specs: dict[str, JudgeSpec] = {}
    for spec in (spec for run in runs for spec in run.job.judge_specs):
        if spec.name not in specs or specs[spec.name].recorded is not None:
            specs[spec.name] = spec
    first = runs[0].job
    async with _opened(list(specs.values()), first) as judges:
        every = (report for run in runs for report in run.job.reports)
        gates = Gates(len(judges), REPORTS_IN_FLIGHT, planned(every, REPORTS_IN_FLIGHT))
        with watch(judges, sum(len(run.job.reports) for run in runs)) as watcher:
            shared = _Shared(watcher)
            try:
                async with asyncio.TaskGroup() as group:
                    tasks = [group.create_task(_run(run, judges, gates, shared.watch)) for run in runs]
            except ExceptionGroup as failed:
                raise first_error(failed) from None
        return {run.name: task.result() for run, task in zip(runs, tasks, strict=True)}


@contextlib.asynccontextmanager
async def _opened(specs: Sequence[JudgeSpec], job: Job) -> AsyncGenerator[Mapping[str, Judge]]:
    async with open_judges(
        specs,
        ledger=job.ledger,
        base=job.base,
        reasks=job.config.reasks,
        only_engine=job.offline,
        persistence=job.persistence,
    ) as judges:
        yield judges


async def _run(run: SweepRun, judges: Mapping[str, Judge], gates: Gates, watch: Watch) -> list[CaseRecord]:
    job = run.job
    check_given(
        job.calibrations, {spec.name: await judges[spec.name].engine.identity() for spec in job.judge_specs}
    )
    held = {
        spec.name: await judge_like(judges[spec.name], spec, job.config.reasks, job.calibrations)
        for spec in job.judge_specs
    }
    job = replace(job, held=held, gates=gates)
    there = existing_manifest(job.store)
    if there is not None:
        manifest = await manifest_of(job, held)
        if changed(there, manifest) and not extends(job.store, manifest, job.reports):
            _set_aside(job.store.root)
    return await run_job(job, watch)


def _set_aside(run: Path) -> None:
    """Move the directory of a run, which the sweep file no longer describes, to `kept`."""
    sweep = run.parents[1]
    taken = sweep / KEPT / run.name
    number = 1
    while taken.exists():
        number += 1
        taken = sweep / KEPT / f"{run.name}.{number}"
    with os_errors(RunError, f"{taken}: cannot be written"):
        taken.parent.mkdir(exist_ok=True)
        run.rename(taken)
    say(f"{run}: had other reports, settings or judges, which are kept in {taken}")


class _Shared:
    """One display of the progress of several runs."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher

    def watch(self, judges: Mapping[str, Judge], n: int) -> contextlib.AbstractContextManager[Watcher]:
        """Return the common display."""
        return contextlib.nullcontext(self._watcher)


async def _run_in_turn(runs: Sequence[SweepRun], watch: Watch) -> dict[str, list[CaseRecord]]:
    """Evaluate runs with one judge after another, each over all reports of all runs.

    After each judge, the runs without further judges are finished, and its replies for the others are in the ledger.
    """
    specs = {spec.name: spec for run in runs for spec in run.job.judge_specs}
    lead = [run.job.extractor or run.job.judge_specs[0].name for run in runs]
    order = list(dict.fromkeys([*lead, *specs]))
    found: dict[str, list[CaseRecord]] = {}
    for place, name in enumerate(order, 1):
        begun = set(order[:place])
        now: list[SweepRun] = []
        for run in runs:
            mine = [spec for spec in run.job.judge_specs if spec.name == name]
            if mine and await is_pending(run.job, mine[0]):
                live = judges_in_turn(run.job, mine[0], begun)
                now.append(replace(run, job=run.job.with_judges(live)))
        if now:
            say(f"judge {place} of {len(order)}: {name}")
            await _run_together(now, watch)
    for run in runs:
        known = with_identities(run.job.judge_specs, run.job.ledger, run.job.known_identities())
        again = replace(run, job=replace(run.job.with_judges(known), replay=True))
        records = await _finished(again)
        if records is None:
            records = (await _run_together([again], watch))[run.name]
        found[run.name] = records
    return found
