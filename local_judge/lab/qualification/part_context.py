"""What a part of a qualification works with.

Invariant: every part asks the same open engine, with a ledger and a meter of its own, so that what it costs is known;
what a part finds depends on nothing but its context.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from indexes.snapshot import Snapshot
from local_judge.claims.config import ClaimsConfig
from local_judge.judge.judge import Judge
from local_judge.judge.ledger import Ledger
from local_judge.lab.planting.model import PlantedClaim
from local_judge.lab.qualification.figures import Measure
from local_judge.lab.qualification.model import Cost, Item, PartName, Unmeasured
from local_judge.runs.calibrations import GivenCalibrations
from local_judge.runs.config import RunConfig, settled
from local_judge.runs.inputs import RawReport
from local_judge.runs.job import Job, Watcher, run_job
from local_judge.runs.judge_specs import JudgeSpec
from local_judge.runs.manifest import build_manifest, changed, existing_manifest
from local_judge.runs.records import CaseRecord
from local_judge.runs.store import RunStore

DEFAULT_CLAIMS = ClaimsConfig()


@dataclass(frozen=True)
class PartContext:
    """A judge, and what it is asked about."""

    judge: Judge
    """With this part's ledger and meter."""
    judge_spec: JudgeSpec
    snapshot: Snapshot
    claims: Sequence[PlantedClaim]
    """Planted in the snapshot."""
    reports: Sequence[RawReport]
    """Reports that nothing has been done to, with their tasks."""
    folder: Path
    """Of this part: for runs and whatever else it keeps."""
    seed: int
    given: Sequence[GivenCalibrations] = ()
    """The judge's calibrations, once verification has fitted them."""
    shown: dict[str, Judge] = field(default_factory=dict[str, Judge])
    """Whose meters a display shows."""

    @contextlib.asynccontextmanager
    async def apart(self, name: str) -> AsyncGenerator[Judge]:
        """The same judge with another ledger and meter, for questions whose cost is to be known by itself.

        Raises:
            LedgerError: the ledger cannot be opened.
        """
        with Ledger.open(self.folder / f"{name}.sqlite") as ledger:
            self.shown[name] = Judge(self.judge.engine, ledger, self.judge.settings, self.judge.calibrations)
            yield self.shown[name]

    def job(
        self,
        name: str,
        reports: Sequence[RawReport],
        protocol: str,
        settings: Mapping[str, Any],
        snapshot: Snapshot | None = None,
        claims: ClaimsConfig = DEFAULT_CLAIMS,
    ) -> Job:
        """A run of this judge over some reports by one protocol, in a folder of its own.

        Args:
            name: of the folder.
            reports: to evaluate.
            protocol: its name.
            settings: of the protocol.
            snapshot: where the protocol reads pages.
            claims: how claims are extracted and verified.
        """
        config = RunConfig(
            protocols=(protocol,),
            claims=claims,
            reasks=self.judge.settings.reasks,
            settings={protocol: dict(settings)},
        )
        return Job(
            reports=reports,
            snapshot=snapshot,
            judge_specs=[self.judge_spec],
            config=settled(config),
            store=RunStore(self.folder / name),
            ledger=self.judge.ledger.path,
            calibrations=self.given,
            held={self.judge_spec.name: self.judge},
        )


async def run_part(job: Job) -> list[CaseRecord]:
    """A run of a part, from its beginning where its folder was begun with another calibration.

    Claims that were without an answer and have one now make another calibration. Nothing is lost with the old run: its
    replies are in the part's ledger.

    Raises:
        EngineError, RunError, LedgerError: as `runs.job.run_job`.
    """
    there = existing_manifest(job.store)
    if there is not None:
        async with job.judges() as judges:
            digest = job.snapshot.digest if job.snapshot else None
            manifest = await build_manifest(job.config, judges, job.reports, digest, ())
        if changed(there, manifest):
            shutil.rmtree(job.store.root)
    return await run_job(job, (), watch)


class Silent:
    """Watches a run and says nothing."""

    def one_done(self) -> None:
        """Nothing."""


def watch(judges: Mapping[str, Judge], n: int) -> contextlib.AbstractContextManager[Watcher]:
    """Nobody watches."""
    return contextlib.nullcontext(Silent())


class Found(NamedTuple):
    """What a part found."""

    items: tuple[Item, ...]
    notes: tuple[str, ...] = ()
    """What a reader must know: what could not be planted, what was left out."""
    calibrations: tuple[GivenCalibrations, ...] = ()
    """Fitted on the way, for the parts that come after."""
    costs: Mapping[str, Cost] = MappingProxyType({})
    """Of what was asked apart."""
    unmeasured: tuple[Unmeasured, ...] = ()


def cost_of(judge: Judge) -> Cost:
    """What the judge has been asked, and what its ledger says that the answers took."""
    meter, stats = judge.meter, judge.ledger.stats()
    return Cost(
        calls=meter.made + meter.replayed + meter.failed,
        reasked=meter.reasked,
        repaired=meter.repaired,
        failed=meter.failed,
        prompt_tokens=stats.prompt_tokens,
        cached_tokens=stats.cached_tokens,
        warm_tokens=stats.warm_tokens,
        completion_tokens=stats.completion_tokens,
        seconds=stats.busy_seconds,
    )


class Part(Protocol):
    """One kind of question."""

    @property
    def name(self) -> PartName:
        """Under which it is kept."""
        ...

    async def ask(self, context: PartContext) -> Found:
        """Ask the judge, and give every item, answered or not, in an order that does not depend on the replies.

        Raises:
            LedgerError: a reply could not be stored.
        """
        ...

    def measures(self, items: Sequence[Item]) -> list[Measure]:
        """The figures that these items allow, in the order of the page."""
        ...
