"""`local-judge demo`: a complete evaluation of a short sample, with a judge that runs on any machine."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from local_judge.cli.ending import leave, stoppable
from local_judge.cli.judging import JudgeName, ServerOptions
from local_judge.cli.options import AsJson
from local_judge.cli.output import print_json
from local_judge.demo.outcome import sample_folder
from local_judge.demo.planted import planted_lines
from local_judge.demo.run import JUDGE, demo_job, run_demo
from local_judge.reporting.claims import claim_blocks, claim_summary
from local_judge.reporting.page.write import write_page
from local_judge.reporting.progress import RunProgress
from local_judge.reporting.tables import score_table, trees
from local_judge.runs.proof.material import Places
from local_judge.terminal import safe, stdout


def demo(
    servers: ServerOptions,
    out: Annotated[
        Path, typer.Option("--out", help="Directory for the snapshot, the run and the page of the sample.")
    ] = Path("local-judge-demo"),
    judge: JudgeName = JUDGE,
    as_json: AsJson = False,
) -> None:
    """Verify a sample report whose altered claims are known."""
    job = replace(
        demo_job(out, servers.specs(judge)), offline=servers.offline, persistence=servers.persistence
    )
    with stoppable(job.ledger):
        result = asyncio.run(run_demo(job, RunProgress))
    page = write_page(
        [job.store.root], out / "report.html", Places([sample_folder() / "report.md"], out / "snapshot")
    ).path
    if as_json:
        scores = [score.model_dump(mode="json") for score in result.scores]
        outcome = result.outcome.model_dump(mode="json")
        print_json({"outcome": outcome, "scores": scores, "page": str(page)})
    else:
        console = stdout()
        console.print(claim_blocks(result.claims))
        console.print(score_table("deer", trees(result.scores)))
        console.print(claim_summary(result.claims))
        for line in planted_lines(result.outcome, job.judge_specs[0].name):
            console.print(line)
        console.print(f"page: {safe(str(page))}", soft_wrap=True)
    leave(result.records, job.store.root)
