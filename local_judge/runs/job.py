"""A run from its inputs to its directory, or only its plan.

Invariants: the manifest is on disk before the first question is asked; nobody else is at work in the directory from
before the judges are opened until the run is sealed; a plan asks nothing and writes nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pydantic import Field

from indexes.snapshot import Snapshot
from local_judge.judge.judge import Judge
from local_judge.judge.layout import fenced
from local_judge.judge.planning import PlanningEngine
from local_judge.runs.calibrations import GivenCalibrations, keep
from local_judge.runs.config import RunConfig, chosen_protocols
from local_judge.runs.execute import check_inputs, execute
from local_judge.runs.inputs import RawReport
from local_judge.runs.judge_specs import JudgeSpec
from local_judge.runs.lock import locked
from local_judge.runs.manifest import build_manifest, claim_directory, existing_manifest
from local_judge.runs.qualifications import GivenQualification, qualifications_as_json, qualifications_of
from local_judge.runs.records import CaseRecord
from local_judge.runs.resume import Journal, kept_of, remove_journal
from local_judge.runs.seal import seal_run
from local_judge.runs.session import open_judges
from local_judge.runs.store import RunStore
from serving.connect import PERSISTENT, Persistence
from serving.types import Frozen


@dataclass(frozen=True)
class Job:
    """All that a run is given."""

    reports: Sequence[RawReport]
    snapshot: Snapshot | None
    """None where no protocol verifies claims."""
    judge_specs: Sequence[JudgeSpec]
    """The judges; the first extracts the claims."""
    config: RunConfig
    store: RunStore
    ledger: Path
    offline: bool = True
    calibrations: Sequence[GivenCalibrations] = ()
    """Files that count before what the ledger has."""
    qualifications: Sequence[GivenQualification] = ()
    """Of the judges, before what this machine remembers."""
    persistence: Persistence = PERSISTENT
    """How often a call is sent, how long an outage is waited for, how many calls may fail."""
    held: Mapping[str, Judge] | None = None
    """Judges that are open already, and are not closed when the job is done."""

    def judges(self, planning: bool = False) -> AbstractAsyncContextManager[Mapping[str, Judge]]:
        """The judges of this job, open."""
        if self.held is not None:
            return contextlib.nullcontext(self.held)
        return open_judges(
            self.judge_specs,
            ledger=self.ledger,
            reasks=self.config.reasks,
            only_engine=self.offline,
            planning=planning,
            calibrations=self.calibrations,
            persistence=self.persistence,
        )


class Watcher(Protocol):
    """Shows how far a run is."""

    def one_done(self) -> None:
        """One more report, or page, is complete."""
        ...


Watch = Callable[[Mapping[str, Judge], int], contextlib.AbstractContextManager[Watcher]]
"""Opened with the judges by name and the number of reports; what it yields is told of each that is finished."""


class NotPlanned(Frozen):
    """A report about which nothing can be asked."""

    id: str
    why: str


class Plan(Frozen):
    """The calls that a run would make, as far as they can be known."""

    reports: int
    calls: int
    """Calls that would be made now."""
    prompt_tokens: int
    """Prompt tokens of those calls."""
    replayed: int
    """Calls that the ledger answers already."""
    sentences_unread: int
    """Sentences whose claims are not known yet: the calls that will verify them are not in `calls`."""
    calls_by_judge: dict[str, int] = Field(default_factory=dict[str, int])
    """Of several judges, how many of `calls` each would be asked."""
    unreadable: tuple[NotPlanned, ...] = ()
    """Reports that will not be evaluated."""
    too_long: tuple[str, ...] = ()
    """Ids of reports with a question, of those that can be planned, that does not fit the judge's context."""


async def run_job(job: Job, arguments: Sequence[str], watch: Watch) -> list[CaseRecord]:
    """Evaluate all reports of `job` into its run directory.

    Args:
        job: what to evaluate.
        arguments: the command line as given, for the manifest.
        watch: who shows the progress.

    Raises:
        EngineError: the engine cannot be reached at all.
        RunError: the directory holds another run, or another process is at work in it.
        ConfigError: a qualification that was given is of none of the judges.
        RuntimeError: in an `unfenced` block, of which the manifest would say nothing.
    """
    if not fenced():
        raise RuntimeError("a run cannot be made without fences: its manifest would not say so")
    existing_manifest(job.store)  # a directory of something else is refused before a ledger is put into it
    check_inputs(job.reports, job.snapshot, chosen_protocols(job.config))
    with locked(job.store.root):
        return await _run_job(job, arguments, watch)


async def _run_job(job: Job, arguments: Sequence[str], watch: Watch) -> list[CaseRecord]:
    async with job.judges() as judges:
        digest = job.snapshot.digest if job.snapshot else None
        manifest = await build_manifest(job.config, judges, job.reports, digest, arguments)
        if job.held is None:
            manifest["qualifications"] = qualifications_as_json(
                await qualifications_of(judges, job.qualifications)
            )
        claim_directory(job.store, manifest)
        await keep(judges.values())
        names = tuple(judges) if len(judges) > 1 else ()
        kept = kept_of(job.store, names)
        records = list(kept.records.values())
        if not kept.whole:
            journal = Journal(job.store, job.config.protocols, names)
            with journal.begin(kept), watch(judges, len(job.reports)) as watcher:

                def done(record: CaseRecord) -> None:
                    if record.id not in kept.entries:
                        journal.add(record)
                    watcher.one_done()

                records = await execute(
                    job.reports, judges, job.snapshot, job.config, job.store, done=done, kept=kept.records
                )
            seal_run(job.store)
        remove_journal(job.store)
        return records


async def plan(job: Job) -> Plan:
    """Plan the calls that `run_job` would make now."""
    check_inputs(job.reports, job.snapshot, chosen_protocols(job.config))
    async with job.judges(planning=True) as judges:
        records = await execute(job.reports, judges, job.snapshot, job.config, store=None)
        engines = [judge.engine for judge in judges.values()]
        calls = {name: judge.meter.planned for name, judge in judges.items()}
        return Plan(
            reports=len(job.reports),
            calls=sum(calls.values()),
            prompt_tokens=sum(
                engine.prompt_tokens for engine in engines if isinstance(engine, PlanningEngine)
            ),
            replayed=sum(judge.meter.replayed for judge in judges.values()),
            sentences_unread=sum(record.n_sentences_failed for record in records),
            calls_by_judge=calls if len(calls) > 1 else {},
            unreadable=tuple(
                NotPlanned(id=record.id, why=record.detail) for record in records if record.status != "done"
            ),
            too_long=tuple(record.id for record in records if record.n_too_long),
        )
