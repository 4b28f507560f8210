"""A run from its inputs to its directory, or only its plan.

Invariants: the manifest is on disk before the first question is asked; a plan asks nothing and writes nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from indexes.snapshot import Snapshot
from local_judge.judge.judge import Judge
from local_judge.judge.planning import PlanningEngine
from local_judge.runs.config import RunConfig, chosen_protocols
from local_judge.runs.execute import CaseRecord, check_inputs, execute
from local_judge.runs.inputs import RawReport
from local_judge.runs.manifest import build_manifest, claim_directory, existing_manifest
from local_judge.runs.session import open_judge
from local_judge.runs.store import RunStore
from serving.presets import Preset
from serving.types import Frozen


@dataclass(frozen=True)
class Job:
    """All that a run is given."""

    reports: Sequence[RawReport]
    snapshot: Snapshot | None
    """None where no protocol verifies claims."""
    preset: Preset
    config: RunConfig
    store: RunStore
    ledger: Path
    base_urls: Sequence[str] = ()
    offline: bool = True

    def judge(self, planning: bool = False) -> AbstractAsyncContextManager[Judge]:
        """The judge of this job, open."""
        return open_judge(
            self.preset,
            base_urls=self.base_urls,
            ledger=self.ledger,
            reasks=self.config.reasks,
            only_engine=self.offline,
            planning=planning,
        )


class Watcher(Protocol):
    """Shows how far a run is."""

    def one_done(self) -> None:
        """One more report, or page, is complete."""
        ...


Watch = Callable[[Judge, int], contextlib.AbstractContextManager[Watcher]]
"""Opened with the judge and the number of reports, or pages; what it yields is told of each that is finished."""


class NotPlanned(Frozen):
    """A report about which nothing can be asked."""

    id: str
    why: str


class Plan(Frozen):
    """What a run would ask, as far as it can be known."""

    reports: int
    calls: int
    """Calls that would be made now."""
    prompt_tokens: int
    """Of those calls."""
    replayed: int
    """Calls that the ledger answers already."""
    sentences_unread: int
    """Sentences whose claims are not known yet: the calls that will verify them are not in `calls`."""
    unreadable: tuple[NotPlanned, ...] = ()
    """Reports that will not be evaluated."""
    too_long: tuple[str, ...] = ()
    """Ids of reports with a question, of those that can be planned, that does not fit the judge's context."""


async def carry_out(job: Job, arguments: Sequence[str], watch: Watch) -> list[CaseRecord]:
    """Evaluate all reports of `job` into its run directory.

    Args:
        job: what to evaluate.
        arguments: the command line as given, for the manifest.
        watch: who shows the progress.

    Raises:
        EngineError: the engine cannot be reached at all.
        RunError: the directory holds another run.
    """
    existing_manifest(job.store)  # a directory of something else is refused before a ledger is put into it
    check_inputs(job.reports, job.snapshot, chosen_protocols(job.config))
    async with job.judge() as judge:
        digest = job.snapshot.digest if job.snapshot else None
        manifest = await build_manifest(job.config, judge, job.reports, digest, arguments)
        claim_directory(job.store, manifest)
        job.store.unfinish()
        with watch(judge, len(job.reports)) as watcher:
            return await execute(
                job.reports,
                judge,
                job.snapshot,
                job.config,
                job.store,
                done=lambda record: watcher.one_done(),
            )


async def plan(job: Job) -> Plan:
    """What `carry_out` would ask now."""
    check_inputs(job.reports, job.snapshot, chosen_protocols(job.config))
    async with job.judge(planning=True) as judge:
        records = await execute(job.reports, judge, job.snapshot, job.config, store=None)
        return Plan(
            reports=len(job.reports),
            calls=judge.meter.planned,
            prompt_tokens=judge.engine.prompt_tokens if isinstance(judge.engine, PlanningEngine) else 0,
            replayed=judge.meter.replayed,
            sentences_unread=sum(record.n_sentences_failed for record in records),
            unreadable=tuple(
                NotPlanned(id=record.id, why=record.detail) for record in records if record.status != "done"
            ),
            too_long=tuple(record.id for record in records if record.n_too_long),
        )
