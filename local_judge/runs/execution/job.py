"""A run from its inputs to its directory, or a plan of it.

Invariants: the manifest is written before the first question is asked; the directory is locked from before the judges
are opened until the run is sealed; a plan asks and writes nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from pydantic import Field

from indexes.rank import DenseRanker
from indexes.snapshot import Snapshot
from local_judge.base.errors import ConfigError, InputError
from local_judge.base.failures import KEPT
from local_judge.base.model import Frozen
from local_judge.judge.judge import Judge
from local_judge.judge.planning import PlanningEngine
from local_judge.prompts import fenced
from local_judge.runs.execution.execute import Gates, check_inputs, execute
from local_judge.runs.execution.judges import (
    JudgeSpec,
    is_reachable,
    judge_specs_of,
    open_judges,
    replayed,
    say,
    with_identities,
)
from local_judge.runs.execution.qualifications import (
    GivenQualification,
    load_qualification,
    qualifications_as_json,
    qualifications_of,
)
from local_judge.runs.planning.calibrations import GivenCalibrations, given_calibrations, keep
from local_judge.runs.planning.config import RunConfig, chosen_protocols, settled, with_batch_metrics
from local_judge.runs.planning.inputs import RawReport, dated, load_reports, task_of
from local_judge.runs.planning.run_file import RunFile, Selection, recorded_run
from local_judge.runs.storage.lock import locked
from local_judge.runs.storage.manifest import build_manifest, claim_directory, existing_manifest
from local_judge.runs.storage.records import CaseRecord, problems_of
from local_judge.runs.storage.resume import begin_journal, kept_of, remove_journal
from local_judge.runs.storage.seal import seal_run
from local_judge.runs.storage.store import RunStore
from serving.engines import PERSISTENT, Persistence
from serving.types import EngineIdentity


@dataclass(frozen=True)
class Job:
    """Inputs, judges and settings of a run."""

    reports: Sequence[RawReport]
    snapshot: Snapshot | None
    """Pages of the claims; None if no protocol verifies claims."""
    judge_specs: Sequence[JudgeSpec]
    config: RunConfig
    store: RunStore
    ledger: Path
    file: RunFile = field(default_factory=RunFile)
    """Settings that the rest was opened from, for the manifest."""
    base: Path | None = None
    """Ledger that is read where `ledger` lacks a reply."""
    offline: bool = True
    calibrations: Sequence[GivenCalibrations] = ()
    """Files that take precedence over the calibrations in the ledger."""
    qualifications: Sequence[GivenQualification] | None = ()
    """Files that take precedence over the qualifications kept on this machine; None records no qualification."""
    persistence: Persistence = PERSISTENT
    """Attempts per call, time to wait for a server, and number of calls that may fail."""
    extractor: str | None = None
    """Name of the judge that extracts the claims; None for the first."""
    replay: bool = False
    """True to answer from the ledger only, without servers; a missing reply is a failure."""
    held: Mapping[str, Judge] | None = None
    """Judges that are already open and stay open after the job."""
    grows: bool = False
    """True if the directory may contain a part of the run: fewer reports, protocols or judges."""
    gates: Gates | None = None
    """Limits on the reports in progress, shared with other jobs; None for limits of its own."""

    def judges(self, planning: bool = False) -> AbstractAsyncContextManager[Mapping[str, Judge]]:
        """Return a context with the open judges of this job."""
        if self.held is not None:
            return contextlib.nullcontext(self.held)
        specs = self.judge_specs
        if self.replay:
            specs = replayed(specs, self.ledger, self.known_identities())
        return open_judges(
            specs,
            ledger=self.ledger,
            base=self.base,
            reasks=self.config.reasks,
            only_engine=self.offline,
            planning=planning,
            calibrations=self.calibrations,
            persistence=self.persistence,
        )

    def known_identities(self) -> list[EngineIdentity]:
        """Return the identities of the judges in the manifest of the run; none for a new run."""
        manifest = existing_manifest(self.store) or {}
        return [EngineIdentity.model_validate(judge["identity"]) for judge in manifest.get("judges", [])]

    def with_judges(self, judge_specs: Sequence[JudgeSpec]) -> Job:
        """Return the same job with other judges, as if in a new process: it has written no files yet."""
        return replace(self, judge_specs=judge_specs, store=RunStore(self.store.root))


class Inputs:
    """Reports and snapshots that several runs share, each opened once."""

    def __init__(self) -> None:
        self._reports: dict[object, list[RawReport]] = {}
        self._snapshots: dict[Path, Snapshot] = {}

    def reports(self, file: RunFile, rows: Sequence[Mapping[str, Any]] = ()) -> list[RawReport]:
        """Return all reports of a run file; errors as `load_reports`."""
        key = (file.reports, file.files, file.system, file.date is None)
        if rows or key not in self._reports:
            loaded = load_reports(
                (*file.reports, *rows), file.files, system=file.system, open_dates=file.date is not None
            )
            if rows:
                return loaded
            self._reports[key] = loaded
        return self._reports[key]

    def snapshot(self, path: Path) -> Snapshot:
        """Return the snapshot in a directory; errors as `Snapshot.open`."""
        if path not in self._snapshots:
            self._snapshots[path] = Snapshot.open(path)
        return self._snapshots[path]


def job_of(
    file: RunFile,
    rows: Sequence[Mapping[str, Any]] = (),
    *,
    replay: bool = False,
    inputs: Inputs | None = None,
    allow_preset_code: bool = False,
) -> Job:
    """Open the inputs of a run.

    Args:
        file: inputs, judges, settings and output.
        rows: reports with the keys of a JSONL file, after those that `file` names.
        replay: True to answer from the ledger only.
        inputs: inputs that other runs have opened.
        allow_preset_code: let the presets run code on this machine; no run file can allow it.

    Raises:
        ConfigError: there is no judge or no run directory, or a setting or a preset is invalid.
        InputError: a report or a file of tasks cannot be used.
    """
    if file.out is None:
        raise ConfigError("no run directory was given; name it as `out`")
    inputs = inputs or Inputs()
    store = RunStore(file.out)
    specs = judge_specs_of(file.judges, file.base_urls, file.serve, file.draw, allow_preset_code)
    config = settled(with_batch_metrics(file.reports, file.config))
    return Job(
        reports=reports_of(file.model_copy(update={"date": config.date}), rows, inputs),
        snapshot=inputs.snapshot(file.snapshot) if file.snapshot else None,
        judge_specs=specs,
        config=config,
        store=store,
        ledger=file.ledger or store.ledger,
        file=file,
        offline=file.offline,
        calibrations=given_calibrations(file.calibrations, config.claims),
        qualifications=[load_qualification(path) for path in file.qualifications],
        persistence=file.persistence,
        extractor=_extractor(file, [spec.name for spec in specs]),
        replay=replay,
    )


def reports_of(file: RunFile, rows: Sequence[Mapping[str, Any]], inputs: Inputs) -> list[RawReport]:
    """Return the selected reports of a run file, with their tasks; errors as `load_reports`, `selected` and `dated`."""
    loaded = selected(inputs.reports(file, rows), file.select)
    return dated(loaded[: file.limit], file.date)


def selected(reports: Sequence[RawReport], select: Sequence[Selection]) -> list[RawReport]:
    """Return the reports that one of the selections has; all if there is none.

    Raises:
        InputError: none is left.
    """
    if not select:
        return list(reports)
    sets = [(frozenset(one.systems), frozenset(one.tasks)) for one in select]
    found = [
        report
        for report in reports
        if any(
            (not systems or (report.system or "") in systems) and (not tasks or task_of(report) in tasks)
            for systems, tasks in sets
        )
    ]
    if not found:
        raise InputError("select: no report is of these systems and on these tasks")
    return found


def _extractor(file: RunFile, judges: Sequence[str]) -> str | None:
    if file.extractor is not None and file.extractor not in judges:
        raise ConfigError(
            f"extractor {file.extractor}: not a judge of this run; there are: {', '.join(judges)}"
        )
    return file.extractor


class Watcher(Protocol):
    """Display of a run's progress."""

    def one_done(self) -> None:
        """Count one more complete report or page."""
        ...


Watch = Callable[[Mapping[str, Judge], int], contextlib.AbstractContextManager[Watcher]]
"""Context opened with the judges by name and the number of reports; it yields the display of progress."""


class _Unwatched:
    """Watcher that shows nothing."""

    def one_done(self) -> None:
        """Ignore the event."""


def unwatched(judges: Mapping[str, Judge], n: int) -> contextlib.AbstractContextManager[Watcher]:
    """Return a display of the progress that shows nothing."""
    return contextlib.nullcontext(_Unwatched())


class NotPlanned(Frozen):
    """Report that cannot be evaluated."""

    id: str
    why: str


class Plan(Frozen):
    """Calls that a run would make, as far as they are known in advance."""

    reports: int
    calls: int
    """Calls that would be made."""
    prompt_tokens: int
    """Prompt tokens of those calls."""
    replayed: int
    """Calls answered by the ledger."""
    sentences_unread: int
    """Sentences whose claims are still unknown; the calls to verify them are not in `calls`."""
    calls_by_judge: dict[str, int] = Field(default_factory=dict[str, int])
    """Calls of each judge, if there are several."""
    unreadable: tuple[NotPlanned, ...] = ()
    """Reports that will not be evaluated."""
    too_long: tuple[str, ...] = ()
    """Ids of reports with a planned prompt that does not fit the judge's context."""


async def run_job(job: Job, watch: Watch) -> list[CaseRecord]:
    """Evaluate all reports of `job` into its run directory.

    Args:
        job: inputs, judges and settings.
        watch: display of the progress.

    Raises:
        EngineError: an engine cannot be reached.
        RunError: the directory contains another run, or another process is writing to it.
        ConfigError: a given qualification belongs to none of the judges.
        RuntimeError: called in an `unfenced` block, which the manifest would not record.
    """
    if not fenced():
        raise RuntimeError("a run cannot be made in an `unfenced` block, which its manifest would not record")
    existing_manifest(job.store)  # refuses a directory of something else before a ledger is written into it
    check_job(job)
    with locked(job.store.root):
        if job.held is not None or job.replay:
            return await _run_job(job, watch)
        if any(spec.serve for spec in job.judge_specs):
            return await _run_in_turn(job, watch)
        return await _run_job(await without_finished(job), watch)


def check_job(job: Job) -> None:
    """Check that the inputs of a job contain what its protocols need; errors as of `check_inputs`.

    Raises:
        MissingExtra: claims are ranked by `dense`, which is not installed.
    """
    protocols = chosen_protocols(job.config)
    if job.config.claims.ranker == "dense" and any(protocol.needs_claims for protocol in protocols):
        DenseRanker()
    check_inputs(job.reports, job.snapshot, protocols, published_prompts=job.config.prompts is not None)


async def _run_in_turn(job: Job, watch: Watch) -> list[CaseRecord]:
    """Run the judges one after another, each over all reports, and open only those that have something to answer.

    After each judge the directory has a finished run of the judges so far, whose replies are in the ledger. So the next
    one, and the same command after a kill, replays them and calls nothing twice.
    """
    done: list[CaseRecord] | None = None
    specs = sorted(job.judge_specs, key=lambda spec: spec.name != job.extractor)
    begun: set[str] = set()
    for place, spec in enumerate(specs, 1):
        begun.add(spec.name)
        if not await is_pending(job, spec):
            continue
        now = judges_in_turn(job, spec, begun)
        if len(specs) > 1:
            say(f"judge {place} of {len(specs)}: {spec.name}")
        records = await _run_job(job.with_judges(now), watch)
        done = records if len(now) == len(specs) else None
    if done is not None:
        return done
    return await _run_job(replace(job.with_judges(job.judge_specs), replay=True), watch)


def judges_in_turn(job: Job, spec: JudgeSpec, begun: Collection[str]) -> list[JudgeSpec]:
    """Return the judges of a job while one of them runs: that one, and replays of those that took part before.

    Args:
        job: the job.
        spec: the judge that runs.
        begun: names of the judges whose turn has come. The run's manifest has those of earlier commands: without
            them, the run would look like one with other judges.
    """
    stored = (existing_manifest(job.store) or {}).get("judges", [])
    taken = {*begun, *(judge["name"] for judge in stored)}
    known = with_identities(job.judge_specs, job.ledger, job.known_identities())
    return [spec if one.name == spec.name else one for one in known if one.name in taken]


async def without_finished(job: Job) -> Job:
    """Return a job in which judges that are not running, and have answered everything, are replayed."""
    if len(job.judge_specs) == 1:
        return job
    known = with_identities(job.judge_specs, job.ledger, job.known_identities())
    specs = [
        spec if is_reachable(spec) or await is_pending(job, spec) else recorded
        for spec, recorded in zip(job.judge_specs, known, strict=True)
    ]
    return replace(job, judge_specs=specs, replay=all(spec.recorded for spec in specs))


async def is_pending(job: Job, spec: JudgeSpec) -> bool:
    """Check whether the ledger lacks a reply that a judge can still give: one never asked for, or one that failed.

    The judge is replayed in memory, with the judge that extracts the claims.
    """
    extractor = job.extractor or job.judge_specs[0].name
    known = with_identities(job.judge_specs, job.ledger, job.known_identities())
    needed = [one for one in known if one.name in (spec.name, extractor)]
    if any(one.recorded is None for one in needed):
        return True
    async with job.with_judges(needed).judges() as judges:
        await execute(job.reports, judges, job.snapshot, job.config, store=None, extractor=extractor)
        return any(judge.meter.failures.keys() - KEPT for judge in judges.values())


async def manifest_of(job: Job, judges: Mapping[str, Judge]) -> dict[str, Any]:
    """Return the manifest of a job, without qualifications."""
    digest = job.snapshot.digest if job.snapshot else None
    run = recorded_run(job.file)
    return await build_manifest(job.config, judges, job.reports, digest, run, job.extractor)


async def _run_job(job: Job, watch: Watch) -> list[CaseRecord]:
    async with job.judges() as judges:
        manifest = await manifest_of(job, judges)
        if job.qualifications is not None:
            manifest["qualifications"] = qualifications_as_json(
                await qualifications_of(judges, job.qualifications)
            )
        claim_directory(job.store, manifest, job.reports, grows=job.grows)
        if not job.replay:
            await keep(judges.values())
        names = tuple(judges) if len(judges) > 1 else ()
        kept = kept_of(job.store, names)
        records = list(kept.records.values())
        if not kept.whole:
            begin_journal(job.store, kept, names)
            with watch(judges, len(job.reports)) as watcher:
                records = await execute(
                    job.reports,
                    judges,
                    job.snapshot,
                    job.config,
                    job.store,
                    done=lambda record: watcher.one_done(),
                    kept=kept.records,
                    extractor=job.extractor,
                    gates=job.gates,
                )
            seal_run(job.store, problems_of(records))
        remove_journal(job.store)
        return records


async def plan(job: Job) -> Plan:
    """Return the calls that `run_job` would make.

    Raises:
        ConfigError: the job is a replay.
    """
    if job.replay:
        raise ConfigError("--dry-run: a replay makes no calls; leave out --replay")
    check_job(job)
    job = job.with_judges([spec._replace(serve=False) for spec in job.judge_specs])
    async with job.judges(planning=True) as judges:
        records = await execute(
            job.reports, judges, job.snapshot, job.config, store=None, extractor=job.extractor
        )
        planning = {
            name: engine
            for name, judge in judges.items()
            if isinstance(engine := judge.engine, PlanningEngine)
        }
        calls = {name: engine.calls for name, engine in planning.items()}
        return Plan(
            reports=len(job.reports),
            calls=sum(calls.values()),
            prompt_tokens=sum(engine.prompt_tokens for engine in planning.values()),
            replayed=sum(judge.meter.replayed for judge in judges.values()),
            sentences_unread=sum(record.n_sentences_failed for record in records),
            calls_by_judge=calls if len(calls) > 1 else {},
            unreadable=tuple(
                NotPlanned(id=record.id, why=record.detail) for record in records if record.status != "done"
            ),
            too_long=tuple(record.id for record in records if record.n_too_long),
        )
