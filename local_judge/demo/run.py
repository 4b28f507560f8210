"""Evaluation of the sample.

Invariant: the demo imports pages, runs the job and reads the run directory with the same code as any other evaluation.
It differs only in its report, its pages and the size of its judge.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from indexes.making.importing import import_pages
from indexes.snapshot import Snapshot
from local_judge.base.errors import RunError
from local_judge.claims.config import ClaimsConfig
from local_judge.claims.model import ClaimSet
from local_judge.demo.outcome import Outcome, assess, load_planted, sample_folder
from local_judge.runs.execution.job import Job, Watch, run_job
from local_judge.runs.execution.judges import JudgeSpec
from local_judge.runs.planning.config import RunConfig, settled
from local_judge.runs.planning.inputs import load_reports
from local_judge.runs.planning.run_file import RunFile
from local_judge.runs.storage.items import claims_file
from local_judge.runs.storage.records import CaseRecord, ScoreRecord, load_records, load_scores
from local_judge.runs.storage.store import RunStore

JUDGE = "qwen2.5-coder-1.5b"
"""Judge that a laptop can run."""
CONFIG = RunConfig(
    claims=ClaimsConfig(form="terse", method="scored", batch_sentences=7),
    settings={"deer": {"parts": ["verification"]}},
)
"""Settings with small batches: a CPU decodes four replies together nearly three times as fast as one by one."""


class DemoResult(NamedTuple):
    """Results of the demo."""

    records: list[CaseRecord]
    scores: list[ScoreRecord]
    claims: ClaimSet
    outcome: Outcome


def demo_job(out: Path, judge_specs: Sequence[JudgeSpec]) -> Job:
    """Import the sample's pages into `out/snapshot` and return the sample's job."""
    folder = sample_folder()
    import_pages(folder / "pages", out / "snapshot")
    store = RunStore(out / "run")
    return Job(
        reports=load_reports([folder / "report.md"]),
        snapshot=Snapshot.open(out / "snapshot"),
        judge_specs=judge_specs,
        config=settled(CONFIG),
        store=store,
        ledger=store.ledger,
        file=RunFile(reports=(folder / "report.md",), snapshot=out / "snapshot"),
    )


async def run_demo(job: Job, watch: Watch) -> DemoResult:
    """Evaluate the sample and compare the verdicts with the planted alterations.

    Raises:
        RunError: the sample could not be evaluated.
    """
    await run_job(job, watch)
    records = load_records(job.store)
    if records[0].status != "done":
        raise RunError(f"{job.store.root}: the sample could not be evaluated: {records[0].detail}")
    claims = job.store.read_item(claims_file(None), records[0].key, ClaimSet)
    document = job.reports[0].parse()
    return DemoResult(
        records,
        load_scores(job.store, job.config.protocols),
        claims,
        assess(document, claims, load_planted()),
    )
