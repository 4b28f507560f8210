"""The general form of a part of a qualification, and the context in which a part runs.

Invariant: every part asks the same open engine, with its own ledger and meter, so that its cost is known. The result of
a part depends on its context alone.
"""

from __future__ import annotations

import contextlib
import shutil
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from pydantic import BaseModel

from indexes.snapshot import Snapshot
from local_judge.base.model import Frozen
from local_judge.claims.config import ClaimsConfig
from local_judge.judge.judge import Judge
from local_judge.lab.labelled.model import LabelledClaim
from local_judge.lab.qualification.figures import Measure
from local_judge.lab.qualification.model import Cost, Item, PartName, Unmeasured
from local_judge.ledger.ledger import Ledger
from local_judge.runs.execution.job import Job, run_job, unwatched
from local_judge.runs.execution.judges import JudgeSpec
from local_judge.runs.planning.calibrations import GivenCalibrations
from local_judge.runs.planning.config import RunConfig, settled
from local_judge.runs.planning.inputs import RawReport
from local_judge.runs.storage.items import findings_file
from local_judge.runs.storage.manifest import build_manifest, changed, existing_manifest
from local_judge.runs.storage.records import CaseRecord
from local_judge.runs.storage.store import RunStore

S = TypeVar("S", bound=Frozen)
T = TypeVar("T", bound=BaseModel)

DEFAULT_CLAIMS = ClaimsConfig()
EACH = "{protocol}"
"""Placeholder for the name of a protocol in the ids of figures."""


@dataclass(frozen=True)
class PartContext:
    """A judge, and the pages, claims and reports that it is asked about."""

    judge: Judge
    """Judge with the ledger and the meter of this part."""
    judge_spec: JudgeSpec
    snapshot: Snapshot
    claims: Sequence[LabelledClaim]
    """Claims planted in the snapshot."""
    reports: Sequence[RawReport]
    """Unmodified reports with their tasks."""
    folder: Path
    """Folder of this part for runs and other files."""
    seed: int
    given: Sequence[GivenCalibrations] = ()
    """Calibrations of the judge that earlier parts fitted."""
    shown: dict[str, Judge] = field(default_factory=dict[str, Judge])
    """Judges whose meters are displayed, by name."""

    @contextlib.asynccontextmanager
    async def apart(self, name: str) -> AsyncGenerator[Judge]:
        """Yield the same judge with another ledger and meter, for questions whose cost is counted separately.

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
        """Return a run of this judge over some reports by one protocol.

        Args:
            name: folder of the run.
            reports: reports to evaluate.
            protocol: name of the protocol.
            settings: settings of the protocol.
            snapshot: pages for the protocol.
            claims: settings of claim extraction and verification.
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
            qualifications=None,
            held={self.judge_spec.name: self.judge},
        )


async def run_part(job: Job) -> list[CaseRecord]:
    """Run a job of a part, and start it again if its folder was begun with another calibration.

    The calibration changes when claims that failed before are answered. The replies of the deleted run are kept in the
    ledger of the part.

    Raises:
        EngineError, RunError, LedgerError: as `runs.job.run_job`.
    """
    there = existing_manifest(job.store)
    if there is not None:
        async with job.judges() as judges:
            digest = job.snapshot.digest if job.snapshot else None
            manifest = await build_manifest(job.config, judges, job.reports, digest, {})
        if changed(there, manifest):
            shutil.rmtree(job.store.root)
    return await run_job(job, unwatched)


async def run_findings(job: Job, protocol: str, model: type[T]) -> list[tuple[str, T | None]]:
    """Run a job as `run_part`, and return each report's id and findings, or None if the report failed."""
    return [
        (
            record.id,
            job.store.read_item(findings_file(protocol, None), record.key, model)
            if record.status == "done"
            else None,
        )
        for record in await run_part(job)
    ]


class Found(NamedTuple):
    """Result of a part."""

    items: tuple[Item, ...]
    notes: tuple[str, ...] = ()
    """Remarks for the reader: what could not be planted, what was left out."""
    calibrations: tuple[GivenCalibrations, ...] = ()
    """Fitted calibrations, for later parts."""
    costs: Mapping[str, Cost] = MappingProxyType({})
    """Costs that are counted separately."""
    unmeasured: tuple[Unmeasured, ...] = ()


def cost_of(judge: Judge) -> Cost:
    """Return the cost of the judge's calls, from its meter and its ledger."""
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


class Part(ABC, Generic[S]):
    """One kind of question: its settings, its items, its figures, and its text on the page."""

    name: ClassVar[PartName]
    legend: ClassVar[str]
    """Explanation of the part's measures on the page."""
    figures: ClassVar[str]
    """Regular expression for the ids of the part's figures, without the part's name; see `EACH`."""

    def __init__(self, settings: S) -> None:
        self.settings = settings

    @abstractmethod
    async def ask(self, context: PartContext) -> Found:
        """Ask the judge, and return every item, answered or not, in an order that does not depend on the replies.

        Raises:
            LedgerError: a reply could not be stored.
        """

    @abstractmethod
    def measures(self, items: Sequence[Item]) -> list[Measure]:
        """Return the measures that these items allow, in the order of the page."""


AnyPart = Part[Any]
